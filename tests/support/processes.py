"""Processes of other programs: their children, and waiting for what they do."""

import time
from pathlib import Path

SECONDS = 180


def wait_until(condition, seconds=SECONDS):
    """Wait until a function returns something true, and return that; fail after some time."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def children_of(pid):
    """Process ids of the children of a process; none if it has ended."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in children for child in file.read_text().split()]


def descendants_of(pid):
    """Process ids of the children of a process, of their children, and so on."""
    found = children_of(pid)
    return found + [each for child in found for each in descendants_of(child)]


def command_of(pid):
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""
