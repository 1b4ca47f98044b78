"""Data as integer columns: sets, records, users, times, and the encoding of values as numbers."""
