"""Detect SIGINT even if its KeyboardInterrupt is lost: Python ignores errors in some callbacks."""

import os
import signal
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class InterruptWatch:
    """Records whether SIGINT was received in this block, regardless of the signal handler."""

    def __init__(self) -> None:
        """Start without a recorded signal."""
        self._received = False
        self._pipe: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        """Have Python write each signal to a pipe; possible in the main OS thread only."""
        if threading.current_thread() is threading.main_thread():
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, False)
            self._previous_fd = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the previous wakeup file descriptor and close the pipe."""
        if self._pipe is not None:
            signal.set_wakeup_fd(self._previous_fd)
            for end in self._pipe:
                os.close(end)
            self._pipe = None

    def received(self) -> bool:
        """Whether SIGINT was received since the block was entered."""
        if self._pipe is not None:
            with suppress(BlockingIOError):
                self._received |= signal.SIGINT in os.read(self._pipe[0], 4096)
        return self._received
