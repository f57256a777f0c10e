"""What is in the scope, before anything is searched in it."""

from __future__ import annotations

from collections.abc import Generator
from datetime import UTC, datetime, timedelta

from ..errors import IngestingError
from ..protocols import Catalog
from ..retrieval.scope import describe, nearest_scope
from ..schema import DocumentRecord, Event, Question, ScopeSummary
from ..text import escape_markdown
from .answering import when_empty, without_model
from .collections import routed
from .run import Run

FIRST_START = timedelta(minutes=10)


def opened(run: Run) -> Generator[Event, None, ScopeSummary | None]:
    """The scope's reports and passages; None where it has none: then that is the answer.

    Raises:
        IngestingError: there are reports, but none of them can be searched yet; or the sample reports are on their
            way, and an answer from half of them would mislead.
    """
    question, catalog = run.question, run.parts.catalog
    scope = _summary(question, catalog)
    if not question.scope or scope.documents:
        return scope
    _, offer = nearest_scope(catalog, question.scope)
    text = escape_markdown(f"There is no report for {describe(question.scope)}. {offer}")
    yield from without_model(run, text, scope)
    return None


def begun(run: Run) -> Generator[Event, None, ScopeSummary | None]:
    """The same for agents with several searches, which may choose the collections. Raises IngestingError."""
    scope = yield from opened(run)
    if scope is None:
        return None
    if not scope.documents and not run.question.scope and not run.parts.catalog.all():
        yield from when_empty(run, scope, ())  # an empty database: there is nothing to plan for
        return None
    yield from routed(run)
    return scope


def _summary(question: Question, catalog: Catalog) -> ScopeSummary:
    records = catalog.all(question.scope)
    pending = sum(record.status == "pending" for record in records)
    if pending and (pending == len(records) or any(_just_registered(record) for record in records)):
        left = f"{pending} of {len(records)} to go"
        which = f"The reports for {describe(question.scope)}" if question.scope else "The reports"
        raise IngestingError(f"{which} are still being indexed: {left}.")
    ready = [record for record in records if record.status == "ready"]
    return ScopeSummary(question.scope, len(ready), catalog.chunks_inside(ready, question.scope), question.page)


def _just_registered(record: DocumentRecord) -> bool:
    """A sample report of this first start; one that was left behind long ago must not hold up every question."""
    if not record.sample or record.status != "pending":
        return False
    return datetime.now(UTC) - datetime.fromisoformat(record.updated_at) < FIRST_START
