"""The services of the application that serves the current request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import current_app

from ..errors import IngestingError
from ..schema import Scope

if TYPE_CHECKING:
    from ..ingestion.background import SampleReports
    from ..services import Services


def services() -> Services:
    """The application's own; every view gets at the rest of the product through it."""
    found: Services = current_app.extensions["services"]
    return found


def samples() -> SampleReports | None:
    """The loading of the sample reports; None where they are not wanted, or the start is not that far."""
    found: SampleReports | None = current_app.extensions.get("samples")
    return found


def require_samples() -> None:
    """Raises IngestingError in the first moments of a first start, when "not found" could be wrong."""
    found = samples()
    if found is None or not found.unknown:
        return
    known = services().storage.documents.holdings(Scope()).documents
    if not known or known < found.total:
        raise IngestingError("The sample reports are being read.")


def wake_worker() -> None:
    """Have somebody look for queued files now."""
    current_app.extensions["run_worker"]()
    services().ingesting.worker.wake()
