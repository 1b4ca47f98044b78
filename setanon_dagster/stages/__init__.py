"""The stages as functions of Arrow tables and streams; no Dagster."""
