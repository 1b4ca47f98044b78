"""The stages put together: from records, logs or baskets to releases."""
