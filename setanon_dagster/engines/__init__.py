"""Engines that run the stages: relational work and maps over groups of rows."""
