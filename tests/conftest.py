"""Settings and fixtures of all tests; compiled programs are kept for workers and later sessions."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# tests compile much and compute little
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# threads of BLAS cost more than they gain on operations this small
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@dataclass
class Compilations:
    """The number of programs that JAX has compiled, or read from its cache, in this process."""

    num: int = 0

    def count(self, event: str, duration: float, **_: object) -> None:
        self.num += event == "/jax/core/compile/backend_compile_duration"


@pytest.fixture(name="compilations")
def _compilations():
    import jax

    compilations = Compilations()
    jax.monitoring.register_event_duration_secs_listener(compilations.count)
    yield compilations
    jax.monitoring.unregister_event_duration_listener(compilations.count)
