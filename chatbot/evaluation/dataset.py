"""Questions with known answers: what a data set is, and where one comes from.

A folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv; filters in the metadata), or a person's own
questions about the reports in a database, in a CSV file.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import InvalidRequestError, LoadError
from ..loaders.csv import choose_delimiter
from ..loaders.text import read_text
from ..protocols import Catalog
from ..repositories.documents import DocumentRepository
from ..retrieval.scope import ScopeResolver
from ..schema import Chunk, DocumentRecord, Scope, Value, Values

COLUMNS = ("question", "expected_document", "page", "answer", "answerable", "note")
"""Besides them, a column for each filter field: together they are the scope of the question."""
RATED = ("rating", "reason", "comment", "cited", "at")
"""What `feedback export` adds: it says what an answer was like, and nothing of what it should have been."""
SEVERAL = ";"
"""Between several expected documents, or several values of a filter field."""
YES, NO = ("", "yes", "y", "true", "1"), ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What has to be found: a document, or only its page, or only a passage with the words of the answer."""

    document_id: str
    page: int | None = None
    answer: str = ""

    @property
    def key(self) -> str:
        """The expectation as one string, for rankings and the ids of what is relevant."""
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
    targets: tuple[Expectation, ...]

    @property
    def answerable(self) -> bool:
        """Whether the reports hold an answer."""
        return bool(self.targets)

    @property
    def relevant(self) -> frozenset[str]:
        """The keys of its targets."""
        return frozenset(target.key for target in self.targets)

    def ranking(self, chunks: Sequence[Chunk]) -> list[str]:
        """For each passage the key of the target that it is the first to contain, else ""."""
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
        """The questions that the reports answer."""
        return [query for query in self.queries if query.answerable]


def read_dataset(folder: Path, filter_fields: tuple[str, ...]) -> Dataset:
    """Read a folder in BEIR layout; questions without judgements are left out.

    Raises:
        LoadError: a file is missing, a line is not what the layout asks for, or no question has a judgement.
    """
    relevant: dict[str, list[str]] = {}
    for number, line in enumerate(_lines(folder / "qrels" / "test.tsv")[1:], start=2):
        try:
            query_id, document_id, score = line.split("\t")
            is_relevant = float(score) > 0
        except ValueError as error:
            message = f"{folder}/qrels/test.tsv, line {number}: expected query-id, corpus-id and score."
            raise LoadError(message) from error
        if is_relevant:
            relevant.setdefault(query_id, []).append(document_id)
    chunks = [_chunk(row, filter_fields) for row in _rows(folder / "corpus.jsonl")]
    queries = [_query(row, relevant[row["_id"]]) for row in _rows(folder / "queries.jsonl") if row["_id"] in relevant]
    if not queries:
        raise LoadError(f"{folder}: no question has a judgement in qrels/test.tsv.")
    return Dataset(folder.name, chunks, queries)


def register_reports(documents: DocumentRepository, chunks: Sequence[Chunk]) -> int:
    """Registers one report for each country, year and so on that the passages have in common; returns how many.

    So questions are understood as they are over real reports.
    """
    passages = Counter(tuple(sorted(chunk.metadata.items())) for chunk in chunks)
    for number, (metadata, count) in enumerate(passages.items(), start=1):
        name = ", ".join(str(value) for _, value in metadata) or f"Report {number}"
        id = f"data-set-{number}"
        documents.put(DocumentRecord(id, name, name, "", "", "ready", "", dict(metadata), chunks=count))
    return len(passages)


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
    targets = tuple(Expectation(document_id) for document_id in dict.fromkeys(relevant))
    return EvaluationQuery(row["_id"], row["text"], metadata.get("scoped_text") or row["text"], scope, targets)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


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


class QuestionReader:
    """Questions with what they are about, found in one catalog."""

    def __init__(self, catalog: Catalog, scopes: ScopeResolver, filter_fields: Sequence[str]) -> None:
        self._catalog = catalog
        self._scopes = scopes
        self._fields = tuple(filter_fields)

    def read(self, path: Path) -> Dataset:
        """The questions of a file, numbered by its lines; but for answers that were rated and are expected nowhere.

        Raises:
            LoadError: it is no table with a column ``question``, a row is wrong (its line is named), or no question
                has an answer.
        """
        queries = []
        for line, row in _table(path, (*COLUMNS, *self._fields, *RATED)):
            if row.get("rating") and not (row.get("expected_document") or row.get("answerable")):
                continue
            try:
                queries.append(self._query(str(line), row))
            except (InvalidRequestError, LoadError) as error:
                raise LoadError(f"{path.name}, line {line}: {error.message}") from error
        if not any(query.answerable for query in queries):
            raise LoadError(f"{path.name}: no question has an expected_document.")
        return Dataset(path.stem, [], queries)

    def _query(self, id: str, row: dict[str, str]) -> EvaluationQuery:
        text = row.get("question", "")
        if not text:
            raise LoadError("the question is missing.")
        chosen = {name: values for name in self._fields if (values := split_cell(row.get(name, "")))}
        scope = self._scopes.resolve(chosen)
        names = split_cell(row.get("expected_document", ""))
        answerable, page = row.get("answerable", "").casefold(), row.get("page", "")
        if answerable not in (*YES, *NO):
            raise LoadError(f"answerable: {row['answerable']!r} is neither yes nor no.")
        if (answerable in YES) != bool(names):
            raise LoadError("a question has an expected_document, or answerable is no: not both, and not neither.")
        if page and not page.isdecimal():
            raise LoadError(f"page: {page!r} is no page number.")
        answer = row.get("answer", "")
        targets = tuple(Expectation(self._find(name, scope).id, int(page) if page else None, answer) for name in names)
        return EvaluationQuery(id, text, text, scope, targets)

    def _find(self, name: str, scope: Scope) -> DocumentRecord:
        """The report with this id, title, name or file name; inside the scope, where several are called so."""
        found = _called(name, self._catalog.all())
        if len(found) > 1 and scope:
            found = _called(name, self._catalog.all(scope)) or found
        if not found:
            raise LoadError(f"expected_document: no report is called {name!r}. See: python -m chatbot documents list.")
        if len(found) > 1:
            ids = ", ".join(record.id for record in found)
            raise LoadError(f"expected_document: {len(found)} reports are called {name!r}. Use the id: {ids}.")
        return found[0]


def _called(name: str, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
    found = []
    for record in records:
        file = PurePosixPath(record.source.replace("\\", "/"))
        names = (record.id, record.title, record.name, record.source, file.name, file.stem)
        if name.casefold() in map(str.casefold, names):
            found.append(record)
    return found


def _table(path: Path, known: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column, stripped; empty rows are left out."""
    text = read_text(path)
    reader = csv.reader(io.StringIO(text), delimiter=choose_delimiter(text), strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            values = [cell.strip() for cell in cells]
            if not header:
                header = _header(path.name, values, known)
            elif len(values) > len(header):
                raise LoadError(f"{path.name}, line {line}: it has more cells than the header. Quote what has commas.")
            elif any(values):
                yield line, dict(zip(header, values, strict=False))
            line = reader.line_num + 1
    except csv.Error as error:
        raise LoadError(f"{path.name} is not a valid CSV table from line {line} on ({error}).") from error


def _header(file: str, cells: Sequence[str], known: Sequence[str]) -> list[str]:
    # An unknown column is refused: a filter with a spelling mistake would silently widen the search.
    header = [cell.casefold().replace(" ", "_") for cell in cells]
    unknown = [name for name in header if name not in known]
    if unknown or "question" not in header or len(set(header)) < len(header):
        wrong = f"unknown column {unknown[0]!r}" if unknown else "question is missing, or a column is there twice"
        raise LoadError(f"{file}: {wrong}. Columns: {', '.join(known)}.")
    return header


def split_cell(cell: str) -> list[str]:
    """The values in a cell of a table, which separates them by `SEVERAL`."""
    return [part.strip() for part in cell.split(SEVERAL) if part.strip()]
