"""Progress reports and parallel execution; the caller supplies listener and executor."""
