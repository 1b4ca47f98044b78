"""Hypothesis profiles: `ci` runs fixed examples, `dev` random ones. BLAS on one core."""

import os

from hypothesis import settings

# Test workers share the cores: BLAS on all cores makes small products five times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("ci", derandomize=True, database=None, deadline=None)
settings.register_profile("dev", print_blob=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
