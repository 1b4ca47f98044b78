"""Sections 5.2 and 5.3: keywords, items, Min-Hashes, clusters and spellings."""
