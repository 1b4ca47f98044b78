"""Hypothesis profiles: `ci` runs fixed examples, `dev` random ones. BLAS on one core.

`mutants` runs few fixed examples and does not shrink those that fail.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).parents[1]

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


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site as `make docs` builds it."""
    for module in ("mkdocs", "material", "mkdocstrings_handlers.python", "duckdb"):
        pytest.importorskip(module, reason=f"the site needs setanon[docs]; {module} is missing")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(  # noqa: S603 - our own interpreter, and arguments of our own
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder
