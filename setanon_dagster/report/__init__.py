"""The private report of a release."""
