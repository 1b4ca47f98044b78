"""Exit a forked process at its n-th call of a function of `os` that changes files or folders."""

import gc
import os

CHANGES = ("fsync", "rename", "replace", "symlink", "chmod", "mkdir", "rmdir", "unlink")
EXIT_CODE = 9

calls_left = 0


def count_changes():
    """Wrap the functions of `os`; the process exits at none of their calls so far."""
    for name in CHANGES:
        setattr(os, name, _exit_at_zero(getattr(os, name)))


def exit_at_change(n):
    """Exit at the n-th call from now on."""
    global calls_left  # noqa: PLW0603 - one count per process
    calls_left = n


def exit_code_of(work):
    """Run the function in a forked child, which imports nothing again; return its exit code."""
    gc.freeze()  # what was imported is not searched for garbage in each child
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _exit_at_zero(original):
    def call(*args, **kwargs):
        exit_at_change(calls_left - 1)
        if calls_left == 0:
            os._exit(EXIT_CODE)
        return original(*args, **kwargs)

    return call
