"""`ask --from questions.csv --to answers.csv`: answer a table of questions; the same command continues it."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from ...domain import Scope
from ...domain.access import ANYBODY
from ...domain.cancellation import Cancellation
from ...domain.errors import BudgetExhaustedError, ChatbotError, DependencyError, LoadError, NotFoundError
from ...domain.json import to_json
from ...domain.validation import parse
from ...library.loaders.csv import read_table
from ...library.loaders.text import read_text
from ..evaluation.dataset import split_cell
from ..services import Services
from ..web.payloads import ChatRequest
from ..web.request import csv_text
from . import progress_bar

Row = dict[str, Any]
QUESTION_COLUMNS = ("question", "query")
ANSWER_COLUMNS = ("response", "answered", "citations", "unsupported", "error")
NO_REPORTS = "There are no reports yet. Add some: python -m chatbot ingest FILES"
SAVE_SECONDS = 5.0
"""Interval at which the answers are written: work lost with the process, at most."""


def answer_table(services: Services, fields: dict[str, Any], source: Path, target: Path) -> None:
    """Ask the questions that ``target`` has no answer to yet. ``fields`` of a request hold for all questions.

    A ``.csv`` gets the columns of the questions and `ANSWER_COLUMNS`; a ``.jsonl`` also the whole answer.

    Raises:
        LoadError: a file is neither of these tables.
        NotFoundError: there is nothing to answer from.
        BudgetExhaustedError: today's tokens are used up; the answers so far are kept.
    """
    if target.suffix.lower() not in {".csv", ".jsonl"}:
        raise click.UsageError(f"--to: {target.name} should end in .csv or .jsonl.")
    questions = list(_questions(source, services.settings.filter_fields))
    if services.settings.on_empty != "general" and not services.storage.documents.holdings(Scope()).documents:
        raise NotFoundError(NO_REPORTS)  # otherwise every row would say so, and be kept as answered
    answered = {_key(row): row for row in _read_answers(target) if not row.get("error")}
    rows: list[Row] = []

    def save() -> None:
        later = [answered[_key(row)] for row in questions[len(rows) :] if _key(row) in answered]
        _write_answers(target, [*rows, *later])

    count, saved_at = sum(_key(row) not in answered for row in questions), time.monotonic()
    try:
        with progress_bar(f"{count:,} of {len(questions):,} questions", count) as bar:
            for row in questions:
                earlier = answered.get(_key(row))
                rows.append(earlier or _answered(services, fields, row))
                bar.update(earlier is None)
                if time.monotonic() - saved_at > SAVE_SECONDS:
                    save()
                    saved_at = time.monotonic()
    except KeyboardInterrupt:
        raise click.ClickException("interrupted. The answers so far are kept; run the command again.") from None
    finally:
        save()
    failed = sum(bool(row.get("error")) for row in rows)
    click.echo(f"{len(rows) - failed:,} answered, {failed:,} failed.", err=True)
    if failed:
        raise SystemExit(1)


def _answered(services: Services, fields: dict[str, Any], row: Row) -> Row:
    filters = {name: split_cell(row[name]) for name in services.settings.filter_fields if row.get(name)}
    request = {**fields, "query": _text(row), "filters": {**fields["filters"], **filters}}
    cells: Row = {**dict.fromkeys(ANSWER_COLUMNS), "answer": None}
    try:
        question = parse(ChatRequest, request).to_question(services, ANYBODY.limit)
        saved = services.answering.chat.answer(question, cancel=Cancellation())
        assert saved is not None  # nobody cancels it
    except BudgetExhaustedError:
        raise  # it holds for all questions that are left
    except ChatbotError as error:
        return {**row, **cells, "error": error.message}
    answer, cited = to_json(saved), []
    for citation in answer["citations"]:
        page = f", page {citation['page']}" if citation["page"] else ""
        cited.append(f"[{citation['number']}] {citation['title'] or citation['document_name']}{page}")
    return {
        **row,
        **cells,
        "response": answer["response"],
        "answered": "yes" if answer["answered"] else "no",
        "citations": "\n".join(cited),
        "unsupported": len(answer["unsupported"]),
        "answer": answer,
    }


def _questions(path: Path, fields: tuple[str, ...]) -> Iterator[Row]:
    table = read_table(path)
    _, header = next(table, (0, list[str]()))
    if not any(name in QUESTION_COLUMNS for name in header):
        raise LoadError(f"{path.name}: the column question is missing. Optional columns: {', '.join(fields)}.")
    for _, cells in table:
        row = dict(zip_longest(header, cells, fillvalue=""))
        if _text(row):
            yield row


def _text(row: Row) -> str:
    return next((str(row[name]).strip() for name in QUESTION_COLUMNS if row.get(name)), "")


def _key(row: Row) -> str:
    """Identify a question in the results by its own fields, without the apostrophe that is put before formulas."""
    fields = ((name, str(value).removeprefix("'")) for name, value in row.items() if value not in (None, ""))
    return json.dumps(sorted(field for field in fields if field[0] not in (*ANSWER_COLUMNS, "answer")))


def _read_answers(path: Path) -> list[Row]:
    if not path.exists():
        return []
    text = read_text(path)
    if path.suffix.lower() == ".csv":
        return [dict(row) for row in csv.DictReader(io.StringIO(text))]
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise LoadError(f"{path.name} is not a JSON Lines file of answers.") from error


def _write_answers(path: Path, rows: list[Row]) -> None:
    """Write all rows, or leave the file as it was. Raises DependencyError."""
    if path.suffix.lower() == ".csv":
        columns = [name for name in rows[0] if name not in (*ANSWER_COLUMNS, "answer")] if rows else []
        text = csv_text(rows, [*columns, *ANSWER_COLUMNS])
    else:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise DependencyError(f"{path.name} cannot be written: {error.strerror}.") from error
