"""Hypothesis profiles: `ci` runs fixed examples, `dev` random ones. One BLAS thread per process."""

import os

from hypothesis import settings

# Parallel test workers share the cores: more BLAS threads make small products five times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("dev", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
