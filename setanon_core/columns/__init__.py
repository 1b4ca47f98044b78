"""Columns of integers: sets, records, users, and the encoding of names as numbers."""
