"""Asset checks: counts of stages and releases, judged by Great Expectations."""
