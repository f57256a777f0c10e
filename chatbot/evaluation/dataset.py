"""Questions with known answers: what a data set is, and the BEIR layout of one.

corpus.jsonl, queries.jsonl, qrels/test.tsv; filters in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import LoadError
from ..schema import Chunk, Scope, Value, Values


@dataclass(frozen=True, slots=True)
class Target:
    """What has to be found: a document, or only its page, or only a passage with the words of the answer."""

    document_id: str
    page: int | None = None
    answer: str = ""

    @property
    def key(self) -> str:
        page = f", page {self.page}" if self.page is not None else ""
        return f"{self.document_id}{page}" + (f": {self.answer}" if self.answer else "")

    def holds(self, chunk: Chunk) -> bool:
        """Whether a passage is what has to be found; case and line breaks of the answer do not matter."""
        if chunk.document_id != self.document_id or self.page not in (None, chunk.page):
            return False
        return _plain(self.answer) in _plain(chunk.text)


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A question and what answers it. ``scoped_text`` = the question without the names in its filter.

    ``targets`` is empty where the reports do not answer it: then it is right to abstain.
    """

    id: str
    text: str
    scoped_text: str
    scope: Scope
    targets: tuple[Target, ...]

    @property
    def answerable(self) -> bool:
        return bool(self.targets)

    @property
    def relevant(self) -> frozenset[str]:
        return frozenset(target.key for target in self.targets)

    def ranking(self, chunks: Sequence[Chunk]) -> list[str]:
        """For each passage the key of the target that it is the first to hold, else ""."""
        left = list(self.targets)
        keys = []
        for chunk in chunks:
            found = next((target for target in left if target.holds(chunk)), None)
            if found is not None:
                left.remove(found)
            keys.append(found.key if found else "")
        return keys


@dataclass(frozen=True, slots=True)
class Dataset:
    """``chunks``: the passages that come with it; none where the questions are about a database's own reports."""

    name: str
    chunks: list[Chunk] = field(repr=False)
    queries: list[EvaluationQuery] = field(repr=False)

    @property
    def answerable(self) -> list[EvaluationQuery]:
        return [query for query in self.queries if query.answerable]


def read_dataset(folder: Path, filter_fields: tuple[str, ...]) -> Dataset:
    """Read a folder in BEIR layout; questions without judgements are left out.

    Raises:
        LoadError: a file is missing, a line is not what the layout asks for, or no question has a judgement.
    """
    relevant: dict[str, list[str]] = {}
    for number, line in enumerate(_lines(folder / "qrels" / "test.tsv")[1:], start=2):
        parts = line.split("\t")
        if len(parts) != 3 or not _is_number(parts[2]):
            raise LoadError(f"{folder}/qrels/test.tsv, line {number}: expected query-id, corpus-id and score.")
        if float(parts[2]) > 0:
            relevant.setdefault(parts[0], []).append(parts[1])
    chunks = [_chunk(row, filter_fields) for row in _rows(folder / "corpus.jsonl")]
    queries = [_query(row, relevant[row["_id"]]) for row in _rows(folder / "queries.jsonl") if row["_id"] in relevant]
    if not queries:
        raise LoadError(f"{folder}: no question has a judgement in qrels/test.tsv.")
    return Dataset(folder.name, chunks, queries)


def _chunk(row: dict[str, Any], filter_fields: tuple[str, ...]) -> Chunk:
    metadata = row.get("metadata") or {}
    return Chunk(
        id=row["_id"],
        document_id=row["_id"],
        document_name=row.get("title") or row["_id"],
        title=row.get("title") or "",
        text=row["text"],
        metadata={name: metadata[name] for name in filter_fields if name in metadata},
    )


def _query(row: dict[str, Any], relevant: Sequence[str]) -> EvaluationQuery:
    metadata = row.get("metadata") or {}
    filters: dict[str, Value | list[Value]] = metadata.get("filters") or {}
    scope = Scope.of({name: Values(tuple(v) if isinstance(v, list) else (v,)) for name, v in filters.items()})
    targets = tuple(Target(document_id) for document_id in dict.fromkeys(relevant))
    return EvaluationQuery(row["_id"], row["text"], metadata.get("scoped_text") or row["text"], scope, targets)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LoadError(f"{path}, line {number}: not JSON.") from error
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str) or not isinstance(row.get("text"), str):
            raise LoadError(f"{path}, line {number}: _id and text are required.")
        yield row


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines(): texts hold separators that are no line ends in JSON Lines.
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except OSError as error:
        raise LoadError(
            f"{path} cannot be read: {error.strerror}. A data set has corpus.jsonl, queries.jsonl and qrels/test.tsv."
        ) from error
