"""Ctrl-C, seen even where Python loses it: an error raised in a callback of its own is ignored."""

import os
import signal
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class InterruptWatch:
    """Tells whether SIGINT has come since it was entered, whatever its handler made of it."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._came = False
        self._ends: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        """Have every signal noted in a pipe; only the main thread may ask for that."""
        if threading.current_thread() is threading.main_thread():
            self._ends = os.pipe()
            for end in self._ends:
                os.set_blocking(end, False)
            self._before = signal.set_wakeup_fd(self._ends[1], warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave signals as they were."""
        if self._ends is not None:
            signal.set_wakeup_fd(self._before)
            for end in self._ends:
                os.close(end)
            self._ends = None

    def received(self) -> bool:
        """Whether somebody wants it to stop."""
        if self._ends is not None:
            with suppress(BlockingIOError):
                self._came |= signal.SIGINT in os.read(self._ends[0], 4096)
        return self._came
