"""Clusters to groups: section 4 of the paper, and what does better."""
