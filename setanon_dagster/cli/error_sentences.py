"""Errors of the commands as one sentence, without a traceback and without data."""

from pathlib import Path
from traceback import extract_tb
from typing import Any

import click

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_dagster.storage.resource_errors import resource_sentence


class BadArgumentError(click.ClickException):
    """An invalid argument; exit code 2 without click's usage text."""

    exit_code = 2


class Commands(click.Group):
    """Turns errors into one sentence: no traceback, and no message that may contain data."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click's own
        """Run the command."""
        try:
            return super().invoke(ctx)
        except InvalidParameterError as error:
            raise BadArgumentError(str(error)) from None
        except SetanonError as error:
            raise click.ClickException(str(error)) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # handled by click
        except Exception as error:  # noqa: BLE001 - the message of any other error may contain data
            raise click.ClickException(_sentence(error, str(ctx.invoked_subcommand))) from None


def _sentence(error: Exception, command: str) -> str:
    """Describe an error that is not ours, without its message."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("setanon_"):
        return (
            f"setanon {command} requires {error.name}, which is not installed. Run: pip install "
            "'setanon[dagster]'"
        )
    if (sentence := resource_sentence(error)) is not None:
        return sentence
    frame = extract_tb(error.__traceback__)[-1]
    return (
        f"Internal error: {type(error).__name__} in {frame.name}, line {frame.lineno} of "
        f"{Path(frame.filename).name} (message withheld, it may contain data)."
    )
