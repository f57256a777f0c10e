"""Questions with known answers: from a folder in BEIR layout (corpus.jsonl,
queries.jsonl, qrels/test.tsv; filters in the metadata), or from a CSV file about the
reports in a database.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ...app.question_table import EXPECTATION_COLUMNS, RATING_COLUMNS, split_cell
from ...database.repositories.documents import DocumentRepository
from ...domain import Chunk, DocumentRecord, Scope
from ...domain.errors import InvalidRequestError, LoadError
from ...domain.protocols import Catalog
from ...domain.scope import Values
from ...library.loaders.records import read_table
from ...search.scope import ScopeResolver

YES, NO = ("", "yes", "y", "true", "1"), ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True)
class Expectation:
    """The target of retrieval: a document, a page of it, or a passage with the words of
    the answer.
    """

    document_id: str
    page: int | None = None
    answer: str = ""

    def holds(self, chunk: Chunk) -> bool:
        """Return whether a passage is the expected one; case and line breaks of the
        answer do not matter.
        """
        if chunk.document_id != self.document_id or self.page not in (None, chunk.page):
            return False
        return (
            " ".join(self.answer.split()).casefold()
            in " ".join(chunk.text.split()).casefold()
        )


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    """A question and its expected results; without ``targets`` the product should
    abstain.
    """

    id: str
    text: str
    scope: Scope
    targets: tuple[Expectation, ...]

    @property
    def answerable(self) -> bool:
        return bool(self.targets)

    def ranking(self, chunks: Sequence[Chunk]) -> list[Expectation | None]:
        """Return, for each passage, the target that it is the first to contain."""
        ranked: list[Expectation | None] = []
        for chunk in chunks:
            ranked.append(
                next(
                    (
                        one
                        for one in self.targets
                        if one not in ranked and one.holds(chunk)
                    ),
                    None,
                )
            )
        return ranked


@dataclass(frozen=True, slots=True)
class Dataset:
    """``chunks`` of a BEIR folder; none if the questions are about the reports of a
    database.
    """

    name: str
    chunks: list[Chunk] = field(repr=False)
    queries: list[EvaluationQuery] = field(repr=False)

    @property
    def answerable(self) -> list[EvaluationQuery]:
        return [query for query in self.queries if query.answerable]


def read_dataset(folder: Path, filter_fields: tuple[str, ...]) -> Dataset:
    """Read a folder in BEIR layout; questions without judgements are left out. Raises
    LoadError: a file is missing, a line does not follow the layout, or no question has
    a judgement.
    """
    judgements = _judgements(folder / "qrels" / "test.tsv")
    chunks = []
    for row in _rows(folder / "corpus.jsonl"):
        metadata = {
            name: value
            for name, value in (row.get("metadata") or {}).items()
            if name in filter_fields
        }
        id = row["_id"]
        title = row.get("title") or ""
        chunks.append(Chunk(id, id, title or id, title, row["text"], metadata=metadata))
    queries = []
    for row in _rows(folder / "queries.jsonl"):
        relevant = judgements.get(row["_id"])
        if relevant is None:
            continue
        targets = tuple(Expectation(id) for id in dict.fromkeys(relevant))
        queries.append(
            EvaluationQuery(row["_id"], row["text"], _scope_of(row), targets)
        )
    if not queries:
        raise LoadError(f"{folder}: no question has a judgement in qrels/test.tsv.")
    return Dataset(folder.name, chunks, queries)


def _judgements(path: Path) -> dict[str, list[str]]:
    """Return the ids of the relevant documents by the id of the question."""
    relevant: dict[str, list[str]] = {}
    for number, line in enumerate(_lines(path)[1:], start=2):
        try:
            query_id, document_id, score = line.split("\t")
            is_relevant = float(score) > 0
        except ValueError as error:
            raise LoadError(
                f"{path}, line {number}: expected query-id, corpus-id and score."
            ) from error
        if is_relevant:
            relevant.setdefault(query_id, []).append(document_id)
    return relevant


def _scope_of(row: Mapping[str, Any]) -> Scope:
    """Return the scope that the filters of a question state."""
    filters = (row.get("metadata") or {}).get("filters") or {}
    scope = {}
    for name, stated in filters.items():
        values = tuple(stated) if isinstance(stated, list) else (stated,)
        scope[name] = Values(values)
    return Scope.of(scope)


def register_reports(documents: DocumentRepository, chunks: Sequence[Chunk]) -> int:
    """Register a report for each set of metadata that passages share, and return how
    many. Questions are then understood as with real reports.
    """
    passages = Counter(tuple(sorted(chunk.metadata.items())) for chunk in chunks)
    for number, (metadata, count) in enumerate(passages.items(), start=1):
        name = ", ".join(str(value) for _, value in metadata) or f"Report {number}"
        id = f"data-set-{number}"
        documents.put(
            DocumentRecord(
                id, name, name, "", "", "ready", "", dict(metadata), chunks=count
            )
        )
    return len(passages)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LoadError(f"{path}, line {number}: not JSON.") from error
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("_id"), str)
            or not isinstance(row.get("text"), str)
        ):
            raise LoadError(f"{path}, line {number}: _id and text are required.")
        yield row


def _lines(path: Path) -> list[str]:
    try:
        # splitlines() would also split at separators that JSON Lines allows within a
        # line.
        return [
            line
            for line in path.read_text(encoding="utf-8").split("\n")
            if line.strip()
        ]
    except OSError as error:
        raise LoadError(
            f"{path} cannot be read: {error.strerror}. A data set has "
            "corpus.jsonl, queries.jsonl and qrels/test.tsv."
        ) from error


def read_questions(
    path: Path, catalog: Catalog, scopes: ScopeResolver, fields: Sequence[str]
) -> Dataset:
    """Return the questions of a CSV file about a catalog's reports, by line, without
    rated answers that expect nothing. Raises LoadError for a table without the columns,
    a wrong row, or no expected document at all.
    """
    queries = []
    for line, row in _table(path, fields):
        if row.get("rating") and not (
            row.get("expected_document") or row.get("answerable")
        ):
            continue
        try:
            queries.append(_query(str(line), row, catalog, scopes, fields))
        except (InvalidRequestError, LoadError) as error:
            raise LoadError(f"{path.name}, line {line}: {error.message}") from error
    if not any(query.answerable for query in queries):
        raise LoadError(f"{path.name}: no question has an expected_document.")
    return Dataset(path.stem, [], queries)


def _table(path: Path, fields: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    table = read_table(path)
    columns = (*EXPECTATION_COLUMNS, *fields, *RATING_COLUMNS)
    _, names = next(table, (0, list[str]()))
    header = [name.casefold().replace(" ", "_") for name in names]
    # An unknown column is an error: a misspelt filter would widen the search unnoticed.
    unknown = [name for name in header if name not in columns]
    flaw = ""
    if unknown:
        flaw = f"unknown column {unknown[0]!r}"
    elif "question" not in header or len(set(header)) < len(header):
        flaw = "question is missing or a column is repeated"
    if flaw:
        raise LoadError(f"{path.name}: {flaw}. Columns: {', '.join(columns)}.")
    for line, cells in table:
        yield line, dict(zip(header, cells, strict=False))


def _query(
    id: str,
    row: dict[str, str],
    catalog: Catalog,
    scopes: ScopeResolver,
    fields: Sequence[str],
) -> EvaluationQuery:
    text = row.get("question", "")
    if not text:
        raise LoadError("the question is missing.")
    chosen = {
        name: values for name in fields if (values := split_cell(row.get(name, "")))
    }
    scope = scopes.resolve(chosen)
    names = split_cell(row.get("expected_document", ""))
    answerable = row.get("answerable", "").casefold()
    page = row.get("page", "")
    if answerable not in (*YES, *NO):
        raise LoadError(f"answerable: {row['answerable']!r} should be yes or no.")
    if (answerable in YES) != bool(names):
        raise LoadError(
            "a question needs either an expected_document or answerable = no."
        )
    if page and not page.isdecimal():
        raise LoadError(f"page: {page!r} is not a page number.")
    answer = row.get("answer", "")
    documents = dict.fromkeys(_find(name, scope, catalog).id for name in names)
    targets = tuple(
        Expectation(document, int(page) if page else None, answer)
        for document in documents
    )
    return EvaluationQuery(id, text, scope, targets)


def _find(name: str, scope: Scope, catalog: Catalog) -> DocumentRecord:
    """Return the report with this id, title, name or file name; if there are several,
    the one inside the scope.
    """
    records = _named(name, catalog.all())
    if len(records) > 1 and scope:
        records = _named(name, catalog.all(scope)) or records
    if not records:
        raise LoadError(
            f"expected_document: no report is called {name!r}. See: python -m "
            "chatbot documents list."
        )
    if len(records) > 1:
        ids = ", ".join(record.id for record in records)
        raise LoadError(
            f"expected_document: {len(records)} reports are called {name!r}. Use "
            f"the id: {ids}."
        )
    return records[0]


def _named(name: str, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
    def names(record: DocumentRecord) -> Iterator[str]:
        file = PurePosixPath(record.source.replace("\\", "/"))
        yield from (
            record.id,
            record.title,
            record.name,
            record.source,
            file.name,
            file.stem,
        )

    return [
        record
        for record in records
        if name.casefold() in map(str.casefold, names(record))
    ]
