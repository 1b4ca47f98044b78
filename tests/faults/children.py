"""Forked children: they share all imports, and report their result through a pipe."""

import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from importlib import import_module

from setanon_core.errors import SetanonError


class Child:
    """A forked process that calls a function once."""

    def __init__(self, function, *arguments, **options):
        sys.stdout.flush()
        reader, writer = os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            _call(writer, function, arguments, options)
        os.close(writer)
        self.reader = reader

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def result(self):
        """What the function returned; or ("refused", sentence), ("crashed", text), ("killed", n).

        A refusal is a `SetanonError`, or an error for which there is a sentence.
        """
        with os.fdopen(self.reader, "rb") as pipe:
            text = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.seconds = time.monotonic() - self.started
        return tuple(json.loads(text)) if text else ("killed", -code)


def _call(writer, function, arguments, options):
    from setanon_dagster.storage.resource_errors import resource_sentence

    try:
        answer = ("returned", function(*arguments, **options))
    except SetanonError as error:
        answer = ("refused", str(error))
    except BaseException as error:  # noqa: BLE001 - any error is a finding
        sentence = resource_sentence(error)
        if sentence is None:
            answer = ("crashed", "".join(traceback.format_exception(error))[-2000:])
        else:
            answer = ("refused", sentence)
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(json.dumps(answer).encode())
    os._exit(0)


def call(function, *arguments, **options):
    """Call a function in a forked process and wait for it."""
    return Child(function, *arguments, **options).result()


def import_as_in(function, *arguments):
    """Import what a call imports late, so that forked processes do not import it each time."""
    before = set(sys.modules)

    def modules():
        function(*arguments)
        return sorted(set(sys.modules) - before)

    for name in call(modules)[1]:
        with suppress(ImportError):
            import_module(name)


def kill_at(moment, function, *arguments, **options):
    """Kill a forked call after `moment` seconds; return whether it was still running."""
    child = Child(function, *arguments, **options)
    time.sleep(moment)
    child.kill()
    return child.result()[0] == "killed"


def moments(seed, number, seconds):
    """Random moments, one in each of `number` equal parts of a run, in random order."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    chosen = [(n + rng.random()) * seconds / number for n in range(number)]
    rng.shuffle(chosen)
    return chosen
