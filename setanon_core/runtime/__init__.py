"""Progress and parallel execution, pluggable by the caller."""
