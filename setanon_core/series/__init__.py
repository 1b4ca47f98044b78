"""Anonymize records part by part, as they arrive: section 6 of the paper."""
