"""A person's own questions about the reports in a database, from a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ..errors import InvalidRequestError, LoadError
from ..loaders.csv import choose_delimiter
from ..loaders.text import read_text
from ..protocols import Catalog
from ..retrieval.scope import ScopeResolver
from ..schema import DocumentRecord, Scope
from .dataset import Dataset, EvaluationQuery, Target

COLUMNS = ("question", "expected_document", "page", "answer", "answerable", "note")
"""Besides them, a column for each filter field: together they are the scope of the question."""
SEVERAL = ";"
"""Between several expected documents, or several values of a filter field."""
YES, NO = ("", "yes", "y", "true", "1"), ("no", "n", "false", "0")


class QuestionReader:
    """Questions with what they are about, found in one catalog."""

    def __init__(self, catalog: Catalog, scopes: ScopeResolver, filter_fields: Sequence[str]) -> None:
        self._catalog = catalog
        self._scopes = scopes
        self._fields = tuple(filter_fields)

    def read(self, path: Path) -> Dataset:
        """The questions of a file, numbered by its lines.

        Raises:
            LoadError: it is no table with a column ``question``, a row is wrong (its line is named), or no question
                has an answer.
        """
        queries = []
        for line, row in _rows(path, (*COLUMNS, *self._fields)):
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
        chosen = {name: values for name in self._fields if (values := _split(row.get(name, "")))}
        scope = self._scopes.resolve(chosen)
        names = _split(row.get("expected_document", ""))
        if _is_answerable(row.get("answerable", "")) != bool(names):
            raise LoadError("a question has an expected_document, or answerable is no: not both, and not neither.")
        page, answer = _page(row.get("page", "")), row.get("answer", "")
        targets = tuple(Target(self._find(name, scope).id, page, answer) for name in names)
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
    wanted = name.casefold()
    return [record for record in records if wanted in _names(record)]


def _names(record: DocumentRecord) -> set[str]:
    file = PurePosixPath(record.source.replace("\\", "/"))
    return {name.casefold() for name in (record.id, record.title, record.name, record.source, file.name, file.stem)}


def _rows(path: Path, known: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
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


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(SEVERAL) if part.strip()]


def _page(cell: str) -> int | None:
    if cell and not cell.isdecimal():
        raise LoadError(f"page: {cell!r} is no page number.")
    return int(cell) if cell else None


def _is_answerable(cell: str) -> bool:
    if cell.casefold() not in (*YES, *NO):
        raise LoadError(f"answerable: {cell!r} is neither yes nor no.")
    return cell.casefold() in YES
