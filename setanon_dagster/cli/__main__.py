"""Entry point of the `setanon` script, also `python -m setanon_dagster.cli`."""

import sys
from typing import Final

REQUIRED: Final = frozenset({"click", "duckdb", "rich"})
"""Packages that every command imports; the core does not depend on them."""


def main() -> None:
    """Run the command line; if its packages are missing, print how to install them."""
    try:
        from setanon_dagster.cli.main import main as run_command
    except ModuleNotFoundError as error:
        if error.name not in REQUIRED:
            raise
        sys.exit(
            f"Error: the setanon command requires {error.name}, which is not installed. Run: "
            "pip install 'setanon[dagster]' for all commands, or 'setanon[verify]' for "
            "setanon verify."
        )
    run_command(prog_name="setanon")


if __name__ == "__main__":
    main()
