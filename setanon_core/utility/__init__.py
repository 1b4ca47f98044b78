"""Measures of the utility of a release."""
