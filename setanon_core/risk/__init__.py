"""Attacks on a release, with numbers: what a reader can find out about single users."""
