"""Sections 5.2 and 5.3: keywords of queries, items, Min-Hash clusters, and spellings."""
