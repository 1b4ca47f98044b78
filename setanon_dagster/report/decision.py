"""The decision about a release, which `setanon approve` stores, and its place in the report."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from setanon_dagster.storage.atomic import atomic_write

DECISION: Final = "approval.json"
"""File name of the decision, in the private folder of its release."""

REQUEST: Final = Path("waiting", "request.json")
"""The request that waits for a decision; a decision names the digest of its request."""

PLACE: Final = re.compile(r"<!-- decision -->.*?<!-- /decision -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decision:
    """Approved or rejected, by whom, when, and under which policy."""

    approved: bool
    by: str
    at: str
    policy: str = ""
    note: str = ""

    @property
    def when(self) -> str:
        """The time in UTC, to the minute; the stored text if it is not a time with a zone."""
        with suppress(ValueError):
            at = datetime.fromisoformat(self.at)
            if at.tzinfo is not None:
                return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        return self.at


def read_decision(folder: Path) -> Decision | None:
    """The decision in the private folder of a release; None if there is none.

    A decision about another request than the one that waits is not shown.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads((folder / DECISION).read_bytes())
        waiting = folder / REQUEST
        if waiting.exists() and sha256(waiting.read_bytes()).hexdigest() != stored["request"]:
            return None
        texts = (str(stored.get(key) or "") for key in ("by", "at", "policy", "note"))
        return Decision(stored["decision"] == "approved", *texts)
    return None


def show_decision(page: Path, text: str) -> None:
    """Replace the place of the decision in a report by this rendered text, atomically."""
    old = page.read_text("utf-8")
    with atomic_write(page) as file:
        file.write_text(PLACE.sub(lambda _: text, old, count=1), encoding="utf-8", newline="\n")
