"""An answer told on the command line: the answer and its sources on the output, all else on the error stream.

What is piped on is then the answer alone.
"""

from __future__ import annotations

import json
import sys

import click

from ..conversation.service import Saved
from ..schema import Answer, Citation, StepEvent, Unsupported
from ..serialization import answer_json
from ..text import counted


def is_read_along(*, as_json: bool) -> bool:
    """Whether somebody reads along; a pipe gets the finished answer, which may differ from what was streamed."""
    return not as_json and sys.stdout.isatty()


def tell_step(step: StepEvent) -> None:
    found = f": {counted(len(step.hits), 'passage')}" if step.hits else ""
    colour = "yellow" if step.failed else None
    click.secho(f"{step.detail or step.name}{found}", err=True, dim=not step.failed, fg=colour)
    for item in step.items:
        click.secho(f"  - {item}", err=True, dim=True)


def tell_answer(saved: Saved, shown: str, *, as_json: bool) -> None:
    """``shown`` is what was printed of it while it was written."""
    if as_json:
        click.echo(json.dumps(answer_json(saved), indent=2, ensure_ascii=False))
        return
    answer = saved.event.answer
    if answer.response.startswith(shown):
        click.echo(answer.response[len(shown) :])
    else:
        click.echo(f"\n\nAs checked:\n\n{answer.response}")
    # A report ends with its sources: they are part of what is kept of it.
    if answer.citations and not (answer.answered and answer.trace.mode == "report"):
        click.echo()
        for citation in sorted(answer.citations, key=lambda citation: citation.number):
            click.secho(_source(citation), dim=True)
    for note in _notes(answer):
        click.secho(note, err=True, fg="yellow")


def _source(citation: Citation) -> str:
    chunk = citation.hit.chunk
    page = f"page {chunk.page}" if chunk.page is not None else ""
    place = ", ".join(filter(None, (chunk.section, page)))
    return f"[{citation.number}] {chunk.title}{f': {place}' if place else ''}"


def _notes(answer: Answer) -> list[str]:
    """What is to be known of it besides."""
    notes = [_doubt(sentence) for sentence in answer.unsupported]
    if answer.trace.stopped_by:
        notes.append(f"Stopped early ({answer.trace.stopped_by}): the best answer so far.")
    if answer.trace.truncated:
        notes.append("The answer was cut off at MAX_ANSWER_TOKENS.")
    return notes


def _doubt(sentence: Unsupported) -> str:
    numbers = "".join(f"[{number}]" for number in sentence.numbers)
    missing = ", ".join([*sentence.figures, *(f"“{text}”" for text in sentence.quotations)])
    unknown = "".join(f"[{number}]" for number in sentence.unknown)
    parts = (
        f"Not found in {numbers}: {missing}." if missing else "",
        f"There is no source {unknown}." if unknown else "",
    )
    return " ".join(filter(None, parts))
