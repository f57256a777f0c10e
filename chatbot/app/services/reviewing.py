"""Reports that a person looks through together: what is doubtful about them, and many
edits at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...domain import DocumentRecord
from ...domain.errors import (
    ChatbotError,
    DependencyError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
)
from ...domain.tables import Texts
from ...domain.validation import parse
from ...library.pipeline import Edited
from ...library.review import Doubt, alike, doubts, value_of
from ...library.sources import About
from .library import Library

__all__ = [
    "CheckedEdit",
    "EditOutcome",
    "FailedEdit",
    "ReportEdit",
    "Review",
    "ReviewedReport",
    "undo_of",
]


@dataclass(frozen=True, slots=True)
class ReportEdit:
    """New metadata of one of several reports.

    ``unconfirmed``: fields whose value counts as its file's again, as before a person
    stated it.
    """

    id: str
    fields: Mapping[str, Any]
    unconfirmed: Texts = ()


@dataclass(frozen=True, slots=True)
class CheckedEdit:
    """An edit that can be made. ``stated``: the fields as they are stored."""

    record: DocumentRecord
    stated: dict[str, Any]
    unconfirmed: Texts


@dataclass(frozen=True, slots=True)
class FailedEdit:
    """A report that could not be changed after all edits had been checked."""

    id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """Reports that were changed, and those that were not."""

    edited: list[Edited] = field(default_factory=list)
    failed: list[FailedEdit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReviewedReport:
    """A report with what a person should look at."""

    record: DocumentRecord
    doubts: tuple[Doubt, ...]
    alike: tuple[DocumentRecord, ...]
    """Some of the reports that are the same file, or of the same title, country and
    year.
    """


@dataclass(frozen=True, slots=True)
class Review:
    """Looks through the reports of a caller's library, and changes several."""

    library: Library

    def reports(self, records: Sequence[DocumentRecord]) -> Iterator[ReviewedReport]:
        """Yield these reports with their doubts and the reports like them."""
        reader = self.library.reader
        every = reader.documents.all()
        titles = [record.title for record in every]
        others = alike(every)
        for record in records:
            yield ReviewedReport(
                record,
                doubts(record, reader.passages, titles),
                others.get(record.id, ()),
            )

    def check(self, edits: Sequence[ReportEdit]) -> list[CheckedEdit]:
        """Return the edits if all of them can be made. Raises NotFoundError,
        ForbiddenError, InvalidRequestError: ``details`` names the row and the field of
        each wrong one.
        """
        checked: list[CheckedEdit] = []
        wrong: list[ChatbotError] = []
        ids: set[str] = set()
        for number, edit in enumerate(edits):
            with _wrong_rows(f"documents.{number}", wrong):
                if edit.id in ids:
                    raise InvalidRequestError.for_field("id", "is there twice.")
                ids.add(edit.id)
                checked.append(self._checked(edit))
        if wrong:
            details = []
            messages = []
            for error in wrong:
                details += error.details
                messages.append(error.message)
            kind = type(wrong[0])
            raise kind("; ".join(messages), details=details)
        return checked

    def _checked(self, edit: ReportEdit) -> CheckedEdit:
        library = self.library
        ingesting = library.services.ingesting
        record = library.own_record(edit.id)
        about = parse(About, edit.fields)
        checked = ingesting.check_overrides(about, library.reader)
        stated = library.inside_limit(checked)
        ingesting.service.plan_edit(record, stated, edit.unconfirmed, library.who.limit)
        return CheckedEdit(record, stated, edit.unconfirmed)

    def apply(self, edits: Sequence[CheckedEdit]) -> EditOutcome:
        """Make checked edits, each report by itself. A report that another worker
        changes meanwhile, or has deleted, fails alone; once a dependency fails, the
        rest is not tried. Raises that error if no report was changed.
        """
        outcome = EditOutcome()
        service = self.library.services.ingesting.service
        first: ChatbotError | None = None
        stopped: DependencyError | None = None
        for edit in edits:
            id = edit.record.id
            if stopped is not None:
                outcome.failed.append(FailedEdit(id, stopped.code, stopped.message))
                continue
            try:
                edited = service.edit(
                    id,
                    edit.stated,
                    unconfirmed=edit.unconfirmed,
                    limit=self.library.who.limit,
                )
                outcome.edited.append(edited)
            except ChatbotError as error:
                first = first or error
                outcome.failed.append(FailedEdit(id, error.code, error.message))
                if isinstance(error, DependencyError):
                    stopped = error
        if first is not None and not outcome.edited:
            raise first
        return outcome


def undo_of(edited: Edited) -> ReportEdit | None:
    """Return the edit that gives a report what stood there before; None if nothing was
    changed.
    """
    before = edited.before
    after = edited.after
    changed = []
    for name in About.model_fields:
        is_confirmed = name in after.overrides and name not in before.overrides
        if value_of(before, name) != value_of(after, name) or is_confirmed:
            changed.append(name)
    if not changed:
        return None
    # Without a type a country and a year would decide on it again.
    if "type" not in changed:
        changed.append("type")
    fields = {}
    unconfirmed = []
    for name in changed:
        fields[name] = value_of(before, name)
        if name not in before.overrides:
            unconfirmed.append(name)
    return ReportEdit(before.id, fields, tuple(unconfirmed))


@contextmanager
def _wrong_rows(row: str, wrong: list[ChatbotError]) -> Iterator[None]:
    """Add the error of a row, with the row in the names of its fields, to ``wrong``."""
    try:
        yield
    except (ForbiddenError, InvalidRequestError, NotFoundError) as error:
        details = []
        messages = []
        for detail in error.details or [{"field": "id", "message": error.message}]:
            name = detail.get("field", "id")
            path = f"{row}.fields.{name}"
            if name in {"id", "document_id"}:
                path = f"{row}.id"
            details.append({**detail, "field": path})
            messages.append(f"{path}: {detail['message']}")
        kind = type(error)
        wrong.append(kind("; ".join(messages), details=details))
