"""The demo's definitions, for `workspace.yaml` and `setanon ui`; to load them writes nothing."""

import dagster as dg

from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.demo.release import demo_config, demo_folder

defs = dg.Definitions.merge(
    build_setanon_definitions(demo_config(demo_folder())),
    # A process for each step would take longer to start than a step of the demo to run.
    dg.Definitions(executor=dg.in_process_executor),
)
