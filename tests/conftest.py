"""What all tests share: programs compiled once are kept for the workers and for the next time."""

import os
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# tests compile much and compute little
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
