"""Section 4: records into groups of at least k users."""
