"""The private report of a release: counts, figures, tables and one HTML page."""
