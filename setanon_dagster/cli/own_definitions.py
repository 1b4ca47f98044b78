"""Dagster definitions of all releases in an output folder: the code location of `setanon ui --out`.

The folder is that of the environment variable SETANON_OUT. Loading it writes no files.
"""

import os
from pathlib import Path

import dagster as dg

from setanon_dagster.cli.ui import OUT
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.executor import release_executor
from setanon_dagster.stored_parameters import stored_parameters

defs = dg.Definitions.merge(
    *map(build_setanon_definitions, stored_parameters(Path(os.environ[OUT]))),
    dg.Definitions(executor=release_executor),
)
