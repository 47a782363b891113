# make demo: install into .venv, train a point mass with and without SPDL, draw figures of both.
# make check: install, then check formatting, lint rules and types.
# make test: install, then run the tests.
# make docs: build the site in build/site/html.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: install demo test test-slow check docs bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("selfpaced requires Python 3.11 or newer; use make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: install
	$(BIN)/python examples/demo.py

test: install
	$(BIN)/python -m pytest

test-slow: install
	$(BIN)/python -m pytest -m slow --timeout 3600

check: install
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/assemble.py build/site
	$(BIN)/zensical build --strict --config-file build/site/mkdocs.yml
	@echo "open build/site/html/index.html"

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/spdl_update.py
	$(BIN)/python benchmarks/throughput.py
	$(BIN)/python benchmarks/teachers.py
	$(BIN)/python benchmarks/vector_environments.py
	$(BIN)/python benchmarks/ant_iteration.py
	$(BIN)/python benchmarks/memory.py

# torch first, so that the peers use the installed build
$(VENV)/.installed-docs: $(VENV)/.installed-docs
	$(BIN)/python docs/assemble.py build/site
	$(BIN)/zensical build --strict --config-file build/site/mkdocs.yml
	@echo "open build/site/html/index.html"

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache
