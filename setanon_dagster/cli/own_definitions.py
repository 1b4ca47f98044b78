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

folder = os.environ.get(OUT)

defs = dg.Definitions.merge(
    # Imported without the variable, by tools that import all modules, it has no releases.
    *map(build_setanon_definitions, stored_parameters(Path(folder)) if folder else ()),
    dg.Definitions(executor=release_executor),
)
