"""Hypothesis profiles: `ci` runs fixed examples, `dev` random ones. BLAS on one core.

`mutants` runs few fixed examples and does not shrink those that fail.
"""

import gc
import os

import pytest
from hypothesis import Phase, settings

# Test workers share the cores: BLAS on all cores makes small products five times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("dev", print_blob=True, deadline=None)
settings.register_profile(
    "mutants",
    settings.get_profile("ci"),
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True, scope="module")
def _frozen_imports():
    """Leave imported modules out of garbage collections, which the stages request after steps."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """Let the interpreter collect everything at exit; DuckDB reports the rest as leaks."""
    gc.unfreeze()
