"""Dagster definitions of the demo, for `workspace.yaml` and `setanon ui`; writes no files."""

import dagster as dg

from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.demo.release import demo_config, demo_folder

defs = dg.Definitions.merge(
    build_setanon_definitions(demo_config(demo_folder())),
    # Starting one process per step would take longer than the steps of the demo.
    dg.Definitions(executor=dg.in_process_executor),
)
