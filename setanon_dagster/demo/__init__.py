"""A synthetic search log, and its release."""
