"""`ask --from questions.csv --to answers.csv`: a table of questions, answered line by line, and gone on with."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ..cancellation import Cancellation
from ..errors import BudgetExhaustedError, ChatbotError, DependencyError, LoadError, NotFoundError
from ..evaluation.dataset import split_cell
from ..loaders.csv import choose_delimiter
from ..loaders.text import read_text
from ..schema import Scope
from ..schema.access import ANYBODY
from ..serialization import answer_json, answer_row, csv_text, error_json
from ..services import Services
from ..validation import parse
from ..web.payloads import ChatRequest
from . import progress_bar

Row = dict[str, Any]
QUESTION = ("question", "query")
ANSWER = ("response", "answered", "citations", "unsupported", "error")
NO_REPORTS = "There are no reports yet: `python -m chatbot ingest FILES` adds some."
WRITTEN_SECONDS = 5.0
"""So much work at most is lost with the process."""


def answer_table(services: Services, fields: dict[str, Any], source: Path, target: Path) -> None:
    """Ask what ``target`` has no answer to yet. ``fields``: of a request, for all questions.

    Raises:
        LoadError: a file is none of these tables.
        NotFoundError: there is nothing to answer from.
        BudgetExhaustedError: today's tokens are used up; what was answered is kept.
    """
    writer = _writer(target)
    questions = list(_questions(source, services.settings.filter_fields))
    _require_reports(services)
    answered = {_key(row): row for row in writer.read(target) if not row.get("error")}
    rows: list[Row] = []
    left, written = [row for row in questions if _key(row) not in answered], time.monotonic()
    try:
        with progress_bar(f"{len(left):,} of {len(questions):,} questions", len(left)) as bar:
            for number, row in enumerate(questions, start=1):
                known = answered.get(_key(row))
                rows.append(known or _answered(services, fields, row, number))
                bar.update(known is None)
                if time.monotonic() - written > WRITTEN_SECONDS:
                    writer.write(target, [*rows, *_later(questions[number:], answered)])
                    written = time.monotonic()
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; what is answered stays, the same command goes on.") from None
    finally:
        writer.write(target, [*rows, *_later(questions[len(rows) :], answered)])
    failed = sum(bool(row.get("error")) for row in rows)
    click.echo(f"{len(rows) - failed:,} answered, {failed:,} failed.", err=True)
    if failed:
        raise SystemExit(1)


def _require_reports(services: Services) -> None:
    """Raises NotFoundError: every row would say so, and be kept as answered when there are some (see ON_EMPTY)."""
    if services.settings.on_empty != "general" and not services.storage.documents.holdings(Scope()).documents:
        raise NotFoundError(NO_REPORTS)


def _answered(services: Services, fields: dict[str, Any], row: Row, number: int) -> Row:
    own = {name: split_cell(row[name]) for name in services.settings.filter_fields if row.get(name)}
    asked = {**fields, "query": _text(row), "filters": {**fields["filters"], **own}}
    answer = error = None
    try:
        question = parse(ChatRequest, asked).to_question(services, ANYBODY.limit)
        saved = services.answering.chat.answer(question, cancel=Cancellation())
        assert saved is not None  # nobody cancels it
        answer = answer_json(saved)
    except BudgetExhaustedError:
        raise  # for all that are left
    except ChatbotError as problem:
        error = error_json(problem)
    told = answer_row(number, asked, answer, error, ())
    return {**row, **{name: told.get(name) for name in ANSWER}, "answer": answer}


def _later(rows: list[Row], answered: dict[str, Row]) -> list[Row]:
    return [answered[_key(row)] for row in rows if _key(row) in answered]


def _questions(path: Path, fields: tuple[str, ...]) -> Iterator[Row]:
    text = read_text(path)
    reader = csv.DictReader(io.StringIO(text), delimiter=choose_delimiter(text), strict=True)
    try:
        names = reader.fieldnames or []
        if not any(name in QUESTION for name in names):
            raise LoadError(f"{path.name}: a column question is missing. Others may be: {', '.join(fields)}.")
        for row in reader:
            if None in row:
                raise LoadError(
                    f"{path.name}, line {reader.line_num}: more cells than the header. Quote what has commas."
                )
            if _text(row):
                yield {name: (value or "").strip() for name, value in row.items()}
    except csv.Error as error:
        raise LoadError(f"{path.name} is not a valid CSV table near line {reader.line_num} ({error}).") from error


def _text(row: Row) -> str:
    return next((str(row[name]).strip() for name in QUESTION if row.get(name)), "")


def _key(row: Row) -> str:
    """What identifies a question in the results: all its fields but the answer, without the apostrophe put before
    formulas.
    """
    return json.dumps(sorted((name, str(value).removeprefix("'")) for name, value in row.items()
                             if name not in (*ANSWER, "answer") and value not in (None, "")))  # fmt: skip


class CsvTable:
    """The columns of the questions, then those of the answers."""

    def read(self, path: Path) -> list[Row]:
        """The lines that are there. Raises LoadError."""
        if not path.exists():
            return []
        return [dict(row) for row in csv.DictReader(io.StringIO(read_text(path)))]

    def write(self, path: Path, rows: list[Row]) -> None:
        """Write all rows, or leave the file as it was."""
        columns = [name for name in rows[0] if name not in (*ANSWER, "answer")] if rows else []
        _replace(path, csv_text(rows, [*columns, *ANSWER]))


class JsonLines:
    """The question's own columns, `response` and so on, and the whole answer as `POST /query` gives it."""

    def read(self, path: Path) -> list[Row]:
        """The lines that are there. Raises LoadError."""
        if not path.exists():
            return []
        try:
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except ValueError as error:
            raise LoadError(f"{path.name} is no JSON Lines file of answers.") from error

    def write(self, path: Path, rows: list[Row]) -> None:
        """Write all rows, or leave the file as it was."""
        _replace(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _writer(path: Path) -> CsvTable | JsonLines:
    known: dict[str, Callable[[], CsvTable | JsonLines]] = {".csv": CsvTable, ".jsonl": JsonLines}
    if path.suffix.lower() not in known:
        raise click.UsageError(f"--to: {path.name} should end in .csv or .jsonl.")
    return known[path.suffix.lower()]()


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise DependencyError(f"{path.name} cannot be written: {error.strerror}.") from error
