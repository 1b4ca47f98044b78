"""Stages that a command such as `spark-submit` runs on a cluster elsewhere, by Dagster Pipes."""
