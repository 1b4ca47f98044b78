"""End a worker process when its parent ends, even if the parent is killed."""

import os
from multiprocessing import parent_process
from threading import Thread


def exit_with_parent() -> None:
    """Exit at once when the parent has ended; call it in a process started by multiprocessing.

    A pool of processes does not end with a killed parent: its processes would wait for work
    forever, with private rows in memory.
    """
    Thread(target=_wait, name="exit with parent", daemon=True).start()


def _wait() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        # No cleanup: the next run removes temporary files.
        os._exit(1)
