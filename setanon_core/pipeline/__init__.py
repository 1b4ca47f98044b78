"""The stages in order, in memory: sets, logs and baskets to verified releases."""
