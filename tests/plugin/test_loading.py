"""How a command begins and ends."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from setanon_dagster.loading import loading

ROOT = Path(__file__).parents[2]


def ran(script, **given):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], env=env, text=True, check=False, stderr=subprocess.PIPE,
        **({"stdout": subprocess.PIPE} | given),
    )  # fmt: skip


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_afterwards_as_it_was(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with loading():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
        gc.unfreeze()


def test_leaving_writes_what_is_written_and_does_what_was_put_off():
    done = ran(
        "import atexit, sys; from setanon_dagster.loading import leave\n"
        "atexit.register(print, 'put off'); print('written', end=' '); leave(3); print('stayed')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "written put off\n", "")


def test_nobody_leaves_while_others_still_work():
    done = ran(
        "import threading, time; from setanon_dagster.loading import leave\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('worked'))).start(); leave(3)"
    )
    assert (done.returncode, done.stdout) == (0, "worked\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_what_could_not_be_written_is_not_passed_over():
    with Path("/dev/full").open("w") as full:
        done = ran(
            "from setanon_dagster.loading import leave\nprint('lost'); leave(0)", stdout=full
        )
    assert done.returncode == 120
