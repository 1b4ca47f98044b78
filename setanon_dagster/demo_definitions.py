"""The demo's definitions, for `workspace.yaml` and `setanon ui`; to load them writes nothing."""

from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.demo_release import demo_config, demo_folder

defs = build_setanon_definitions(demo_config(demo_folder()))
