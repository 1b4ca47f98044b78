"""Errors of the commands as one sentence, without a traceback and without data."""

import re
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
            raise BadArgumentError(self._with_options(ctx, str(error))) from None
        except SetanonError as error:
            raise click.ClickException(self._with_options(ctx, str(error))) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # handled by click
        except Exception as error:  # noqa: BLE001 - the message of any other error may contain data
            raise click.ClickException(_sentence(error, str(ctx.invoked_subcommand))) from None

    def _with_options(self, ctx: click.Context, message: str) -> str:
        """A message that names the parameters of the command as they are typed: with dashes."""
        command = self.get_command(ctx, str(ctx.invoked_subcommand))
        for option in () if command is None else command.params:
            if isinstance(option, click.Option):
                message = name_option(message, option)
        return message


def name_option(message: str, option: click.Option) -> str:
    """Replace the name of a parameter by that of its option.

    A name of one word is replaced where a value follows, after "set", and as the first word of a
    message about it: elsewhere it may be a usual word.

    >>> name_option("k must be 2 or more. Set k: k=3 is k-anonymous.", click.Option(["--k"]))
    '--k must be 2 or more. Set --k: --k 3 is k-anonymous.'
    >>> name_option("Set a higher max_rejected.", click.Option(["--max-rejected"]))
    'Set a higher --max-rejected.'
    """
    name = option.opts[0].lstrip("-").replace("-", "_")
    opposite = next(iter(option.secondary_opts), None)
    alone = rf"(?<![\w/.-]){name}(?![\w/.-]*/|\.\w|[\w-])"
    message = re.sub(rf"{alone}=True\b", option.opts[0], message)
    if opposite is not None:
        message = re.sub(rf"{alone}=False\b", opposite, message)
    message = re.sub(rf"{alone}=(?=\S)", f"{option.opts[0]} ", message)
    before = "" if "_" in name else rf"(?:(?<=[Ss]et )|\A(?={name} must ))"
    return re.sub(f"{before}{alone}", option.opts[0], message)


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
        f"{Path(frame.filename).name}, during setanon {command} (message withheld, it may contain "
        "data)."
    )
