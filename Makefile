# make demo: install into .venv, train a point mass with and without SPDL, draw figures of both.
# make check: check formatting, lint rules and types.
# make test: install what integrations need, too, and run the tests.
# make test-rllib: run the tests of RLlib, gymnax and MuJoCo Playground, in an environment of their own.
# make faults: kill, damage and misuse runs by the hundred, and count the outcomes.
# make docs: build the site in build/site/html.
# make package: build the package, install it on every supported Python and use it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
VENV_RLLIB ?= .venv-rllib
BIN = $(VENV)/bin
TORCH ?= torch==2.13.0

.PHONY: install environments demo check test test-slow test-rllib faults docs package bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("selfpaced requires Python 3.11 or newer; use make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# torch first: without a version, the other packages would pull in the newest build, with CUDA
$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

# RLlib pins Gymnasium to one version and gymnax limits it, so they have an environment of their own;
# Playground, which is large, is there as well
$(VENV_RLLIB)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV_RLLIB)
	$(VENV_RLLIB)/bin/python -m pip install --quiet --upgrade pip
	$(VENV_RLLIB)/bin/python -m pip install --quiet $(TORCH)
	$(VENV_RLLIB)/bin/python -m pip install --quiet --editable '.[dev,rllib,gymnax,playground]'
	touch $@

environments: $(VENV)/.installed-test $(VENV_RLLIB)/.installed

demo: install
	$(BIN)/python examples/demo.py

# types depend on the installed libraries, so they are checked where all of them are
check: $(VENV)/.installed-test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m slow --timeout 3600

# tests of a library that cannot be imported are skipped, which must not happen here
test-rllib: $(VENV_RLLIB)/.installed
	$(VENV_RLLIB)/bin/python -c 'import gymnax, mujoco_playground, ray.rllib'
	$(VENV_RLLIB)/bin/python -m pytest -n 0 -m 'slow or not slow' --timeout 600 -k 'rllib or gymnax or playground or brax_bridge] or jax-environments' \
		tests/integrations/rllib tests/environments/test_gymnax_bridge.py \
		tests/environments/test_brax_bridge.py tests/test_docs.py tests/test_docstrings.py

faults: $(VENV)/.installed-test
	$(BIN)/python -m tests.faults

docs: $(VENV)/.installed-test
	$(BIN)/python docs/assemble.py build/site
	$(BIN)/zensical build --strict --config-file build/site/mkdocs.yml
	@echo "open build/site/html/index.html"

package: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 0 -m slow tests/packaging

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/spdl_update.py
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/teachers.py
	$(BIN)/python benchmarks/vector_environments.py
	$(BIN)/python benchmarks/ant_iteration.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/sb3_side_by_side.py 49152
	$(BIN)/python benchmarks/sb3_overhead.py

clean:
	rm -rf $(VENV) $(VENV_RLLIB) build dist .pytest_cache .ruff_cache .mypy_cache
