"""What people thought of answers as questions with known answers: the table that `evaluate` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..protocols import Catalog, Store
from ..repositories.feedback import Feedback
from .dataset import COLUMNS, RATED, SEVERAL


def columns(filter_fields: Iterable[str]) -> tuple[str, ...]:
    """Of the table."""
    return (*COLUMNS, *filter_fields, *RATED)


def rows(found: Iterable[Feedback], catalog: Catalog, store: Store, fields: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A row for each. What was good says which reports answer the question; of the rest a person has to say it.

    Reports that are no longer there are left out; `evaluate` leaves out a row that expects none.
    """
    there, fields = {record.id for record in catalog.all()}, tuple(fields)
    for one in found:
        asked = one.asked
        documents = [chunk.document_id for chunk in store.get(asked.chunk_ids)]
        cited = [id for id in dict.fromkeys(documents) if id in there]
        is_good = one.rating == "up"
        yield {
            "question": " ".join(asked.question.split()),
            "expected_document": SEVERAL.join(cited) if is_good else "",
            "answerable": "no" if is_good and not asked.answered else "",
            **{field: SEVERAL.join(map(str, asked.values(field))) for field in fields},
            "rating": one.rating,
            "reason": one.reason,
            "comment": one.comment,
            "cited": SEVERAL.join(cited),
            "at": asked.at,
        }
