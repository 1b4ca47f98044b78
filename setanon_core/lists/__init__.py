"""Lists of queries that at least k users of a group share: the format `queries`."""
