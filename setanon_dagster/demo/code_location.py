"""Dagster definitions of the demo, for `workspace.yaml` and `setanon ui`; writes no files."""

from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.demo.release import demo_config, demo_folder

defs = build_setanon_definitions(demo_config(demo_folder()))
