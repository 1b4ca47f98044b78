"""A synthetic log, and its release."""
