"""Admission of bodies: the first bytes of a request decide who sends how much to where,
before the rest is read and stored.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flask import g, request

from ...database.repositories.files import MIN_FREE_MB
from ...domain.callers import Caller
from ...domain.documents import MEGABYTE
from ...domain.errors import (
    ChatbotError,
    DiskFullError,
    TooManyRequestsError,
    read_table,
)
from .callers import caller
from .files import largest_body
from .routes import current_route, services

ADMISSION = "report_chat.admission"
"""The key of the WSGI environment for an `Admission`: no header has such a name."""
_LIMITS = read_table(__package__, "limits")
UNASKED_BYTES: int = _LIMITS["unasked_bytes"]["value"]
"""Bytes of a body that are read before the application is asked."""
STRANGERS, OPEN = "strangers_bytes", "open_bytes"
"""Budgets of all callers who may only read, and of those without a key who may write,
as ACCESS=open lets everybody.
"""


@dataclass(slots=True)
class Admission:
    """What the application decides about a request before its body is read.
    ``largest``: the maximum bytes of the body; ``budget``: the row of `limits.toml`
    that its bytes count in, "" = none; ``stored``: those that are read; ``error``: why
    the rest is not.
    """

    largest: int = UNASKED_BYTES
    is_given: bool = False
    budget: str = STRANGERS
    stored: int = 0
    error: ChatbotError | None = None
    rate_limit: Mapping[str, object] = field(default_factory=dict)


class Spool:
    """The bodies of all connections of one of ``processes`` while they are in use.
    Those of callers without a right of their own to add files share a budget. Not
    thread-safe.
    """

    def __init__(self, processes: int = 1) -> None:
        self._largest = {
            name: _LIMITS[name]["value"] // processes for name in (STRANGERS, OPEN)
        }
        self._free = dict(self._largest)

    def take(self, admission: Admission, count: int) -> None:
        """Count bytes that are about to be stored. Raises TooManyRequestsError,
        DiskFullError: there is no room for them.
        """
        budget = admission.budget
        if budget:
            if count > self._free[budget]:
                raise TooManyRequestsError(
                    "Files of all callers without a right of their own to add some "
                    f"take at most {self._largest[budget] // MEGABYTE} MB at a time. "
                    "Retry in 5 s.",
                    retry_after=5,
                )
            self._free[budget] -= count
        admission.stored += count
        if admission.stored > MEGABYTE:
            free = shutil.disk_usage(tempfile.gettempdir()).free
            if free < MIN_FREE_MB * MEGABYTE + count:
                raise DiskFullError("There is not enough disk space for this upload.")

    @contextmanager
    def hold(self) -> Iterator[Admission]:
        """Yield the admission of a request, whose bytes are free again at the end."""
        admission = Admission()
        try:
            yield admission
        finally:
            if admission.budget:
                self._free[admission.budget] += admission.stored


def admit(admission: Admission) -> None:
    """Say how many bytes the current request may send, whose caller was checked."""
    who = caller()
    route = current_route()
    admission.largest = largest_body(0 if route is None else route.files)
    admission.budget = _budget_of(who)
    admission.rate_limit = g.get("rate_limit", {})
    admission.is_given = True


def _budget_of(who: Caller) -> str:
    if services().settings.is_local:
        return ""
    if not who.may("write"):
        return STRANGERS
    if who.key is None:
        return OPEN
    return ""


def current_admission() -> Admission:
    """Return the admission of the current request; a new one where another server
    serves it.
    """
    stated: Admission | None = request.environ.get(ADMISSION)
    return stated or Admission()


def use_data_folder(data_dir: Path) -> None:
    """Keep temporary files of this process in DATA_DIR, whose free space is watched,
    and delete what a process that was killed has left there.
    """
    folder = data_dir / "tmp"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in folder.iterdir():
        age = time.time() - left.stat().st_mtime
        if age > _LIMITS["leftover_seconds"]["value"]:
            shutil.rmtree(left, ignore_errors=True)
            left.unlink(missing_ok=True)
    tempfile.tempdir = str(folder)
