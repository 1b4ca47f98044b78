"""What several test files use: oracles, strategies, sample data, runs."""
