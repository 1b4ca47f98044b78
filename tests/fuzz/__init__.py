"""Fuzzing of the readers of sources with malformed lines; `make fuzz`."""
