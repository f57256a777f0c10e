"""Briefs: the caller pins answers, charts, passages and words of their own.

A brief is a conversation of the kind "brief" and is read, exported, shared and deleted
as one (`conversations.py`). Here it is begun and its items are added and moved.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from ...answering.answer_card import card_of_table, numbered_card
from ...answering.conversation import Saved
from ...checking.citations import snippet_of
from ...checking.tables import markdown_table
from ...database.core import Json
from ...database.limits import made_by
from ...database.repositories.briefs import BriefRepository, ItemKind
from ...database.repositories.conversations import Conversation
from ...domain import Answer, Chunk, Citation, Scope
from ...domain.chat import ScopeSummary, Trace
from ...domain.costs import Sums
from ...domain.documents import SearchHit, with_publications
from ...domain.errors import InvalidRequestError, NotFoundError, read_table
from ...domain.figure_query import FigureQuery
from ...domain.validation import NOT_BLANK
from ...language.markdown import escape_markdown
from ...language.words import ENGLISH, Language, speaking
from .access import library
from .asking import without_passages
from .callers import caller
from .routes import Body, Views, answer_type, services

briefs = Views("briefs", __name__)
MAX_ITEMS: int = read_table(__package__, "limits")["brief_items"]["value"]
MAX_TEXT_CHARACTERS: int = read_table(__package__, "limits")["brief_text"]["value"]
Title = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
Text = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=MAX_TEXT_CHARACTERS)
]
Id = Annotated[str, Field(max_length=200)]


class NewBrief(Body):
    title: Annotated[
        str, StringConstraints(strip_whitespace=True, pattern=NOT_BLANK, max_length=200)
    ]


class NewItem(Body):
    """One of an answer (``message_id``), a passage (``chunk_id``), the figures of a
    ``query``, or words of one's own (``text``, ``title``).
    """

    message_id: Id = ""
    indicator: Annotated[
        str,
        Field(max_length=300, description="Of the answer only the figures of this."),
    ] = ""
    chunk_id: Id = ""
    query: FigureQuery | None = None
    language: Language = ENGLISH
    title: Title = ""
    text: Annotated[Text, Field(description="Markdown.")] = ""

    def pinned(self) -> list[str]:
        """Return the fields that say what is added."""
        names = ("message_id", "chunk_id", "query", "text")
        given = [name for name in names if getattr(self, name)]
        if self.title and not given:
            return ["text"]
        return given


class ChangedItem(Body):
    """What an item says, and its place among the others. The text of an answer or a
    passage stays as it is.
    """

    title: Title | None = None
    text: Text | None = None
    place: int | None = Field(
        None, ge=0, le=MAX_ITEMS, description="0 = before all others."
    )


@briefs.post(
    "/api/conversations", need="read", status=201, example={"title": "Food prices"}
)
def create_brief(body: NewBrief) -> Conversation:
    """Begin a brief: a conversation of the kind "brief", whose items are pinned."""
    return _stored().begin(body.title, caller().owner)


@briefs.post(
    "/api/conversations/<conversation_id>/items",
    need="read",
    status=201,
    returns=answer_type("AddedItem", message_id=str),
    example={"title": "Summary", "text": "Prices rose."},
)
def add_item(conversation_id: str, body: NewItem) -> Json:
    """Add an answer, a chart, a passage or words of one's own to a brief."""
    who = caller()
    record = _stored().get(conversation_id, who.owner)
    pinned = body.pinned()
    if len(pinned) != 1:
        raise InvalidRequestError.for_field(
            pinned[-1] if pinned else "text",
            "send one of message_id, chunk_id, query and text.",
        )
    if len(_stored().rows(record)) >= 2 * MAX_ITEMS:
        raise InvalidRequestError.for_field(
            "conversation_id",
            f"a brief has at most {MAX_ITEMS} items. Remove some, or begin another.",
        )
    pin = _pin(body, who.owner)
    heading = {
        "role": "user",
        "content": body.title or pin.title,
        "item": pin.kind,
        "origin": body.message_id or None,
        "attached": pin.attached,
    }
    item = _row(pin.answer, body.text)
    within = made_by(who.limit)
    item_id = _stored().add(
        record, who.owner, {**heading, **within}, {**item, **within}
    )
    return {"message_id": item_id}


@briefs.patch(
    "/api/conversations/<conversation_id>/items/<message_id>",
    need="read",
    status=204,
    example={"title": "Summary"},
)
def change_item(conversation_id: str, message_id: str, body: ChangedItem) -> None:
    """Move an item of a brief, or change its title or one's own text."""
    owner = caller().owner
    record = _stored().get(conversation_id, owner)
    changes = body.model_dump(include={"title", "text"}, exclude_none=True)
    if "text" in changes and not _stored().is_text(record, message_id):
        raise InvalidRequestError.for_field(
            "text", "what an answer or a passage says stays as it is."
        )
    if changes:
        _stored().write(record, message_id, changes)
    if body.place is not None:
        _stored().move(record, owner, message_id, body.place)


@briefs.delete(
    "/api/conversations/<conversation_id>/items/<message_id>", need="read", status=204
)
def remove_item(conversation_id: str, message_id: str) -> None:
    """Remove an item from a brief."""
    _stored().remove(_stored().get(conversation_id, caller().owner), message_id)


def _stored() -> BriefRepository:
    return services().storage.briefs


@dataclass(frozen=True, slots=True)
class _Pin:
    """What becomes an item. ``answer``: None = it is text only. ``attached``: the names
    of what was attached to the question of an answer, which a link does not tell.
    """

    kind: ItemKind
    title: str = ""
    answer: Json | None = None
    attached: Sequence[str] = ()


def _pin(body: NewItem, owner: str) -> _Pin:
    if body.message_id:
        return _pinned_answer(body, owner)
    if body.chunk_id:
        return _pinned_passage(body.chunk_id)
    if body.query is not None:
        return _pinned_figures(body.query, body.language)
    return _Pin("text")


def _pinned_answer(body: NewItem, owner: str) -> _Pin:
    """Raises NotFoundError: this owner has no such answer, or it has no figures of the
    indicator.
    """
    row, question = services().storage.feedback.exchange(body.message_id, owner)
    title = question["content"]
    attached = list(question.get("attached") or ())
    if "response" not in row:  # something was attached: only its text is kept
        text = {"response": row["content"], "citations": []}
        return _Pin("answer", title, text, attached)
    answer = json.loads(row["response"])
    # How it was found stays with the conversation.
    answer["trace"] |= {"hits": [], "path": [], "ledger": []}
    if not body.indicator:
        return _Pin("answer", title, answer, attached)
    figures = [
        figure
        for figure in answer.get("card", {}).get("figures", ())
        if figure["indicator"] == body.indicator
    ]
    if not figures:
        raise NotFoundError(f"This answer has no figures of {body.indicator!r}.")
    return _Pin("chart", body.indicator, _of_figures(answer, figures), attached)


def _of_figures(answer: Json, figures: Sequence[Json]) -> Json:
    """Return an answer with these figures of its card only, as a table."""
    indicator = figures[0]["indicator"]
    cited = {figure["citation"] for figure in figures}
    card = {**answer["card"], "indicators": [indicator], "figures": figures}
    if card["kind"] == "computed":
        card |= {"kind": "values", "result": "", "how": ""}
    return {
        **answer,
        "response": figure_table(figures),
        "citations": [one for one in answer["citations"] if one["number"] in cited],
        "figures": [one for one in answer["figures"] if one["indicator"] == indicator],
        "card": card,
        "marks": [],
        "unsupported": [],
    }


def figure_table(figures: Sequence[Json]) -> str:
    """Return figures of one indicator as a Markdown table: a row a subject, a column a
    year.
    """
    years = sorted({str(figure["year"] or "") for figure in figures})
    cells = {
        (figure["subject"], str(figure["year"] or "")): figure for figure in figures
    }
    lines = []
    for subject in dict.fromkeys(figure["subject"] for figure in figures):
        line = [escape_markdown(subject)]
        for year in years:
            figure = cells.get((subject, year))
            text = ""
            if figure is not None:
                text = f"{escape_markdown(figure['text'])} [{figure['citation']}]"
            line.append(text)
        lines.append(line)
    return markdown_table(["", *years], lines)


def _pinned_passage(chunk_id: str) -> _Pin:
    """Raises NotFoundError: there is no such passage inside of the caller's limit."""
    chunks = library().passages([chunk_id])
    if not chunks:
        raise NotFoundError(f"There is no passage {chunk_id!r}.")
    (chunk,) = chunks
    lines = [
        f"> {escape_markdown(line)}".rstrip() for line in chunk.text.strip().split("\n")
    ]
    lines[-1] += " [1]"
    answer = Answer("\n".join(lines), True, _cited({1: chunk}), _SCOPE, _TRACE)
    return _Pin("passage", chunk.title, _as_json(answer))


def _pinned_figures(query: FigureQuery, language: str) -> _Pin:
    """Raises as `FigureTool.answer` does."""
    of_caller = library()
    scope = of_caller.scopes.resolve(None, collections=None)
    figures = of_caller.search.flow.tools.figures
    found = figures.answer(query, scope, speaking(language))
    citations = _cited({one.number: one.chunk for one in found.citations})
    card = card_of_table(found.table)
    if card is not None:
        card = numbered_card(card, citations)
    answer = Answer(found.text, True, citations, _SCOPE, _TRACE, card=card)
    return _Pin("chart", ", ".join(query.indicators), _as_json(answer))


_SCOPE = ScopeSummary(Scope(), documents=0, chunks=0)
_TRACE = Trace(mode="", retrieval_method="", query="")
"""Of what no search has found."""


def _cited(chunks: Mapping[int, Chunk]) -> tuple[Citation, ...]:
    publication = library().reader.documents.publication
    hits = with_publications(map(SearchHit, chunks.values()), publication)
    return tuple(
        Citation(number, hit, hit.chunk.section, snippet_of(hit.text), supported=True)
        for number, hit in zip(chunks, hits, strict=True)
    )


def _as_json(answer: Answer) -> Json:
    return without_passages(Saved(answer, None, None, Sums()))


def _row(answer: Json | None, text: str) -> Json:
    """Return the row of an item: an answer, or text."""
    if answer is None:
        return {"role": "assistant", "content": text, "citations": []}
    row: Json = {"role": "assistant", "content": answer["response"], "citations": []}
    if "trace" in answer:
        row["response"] = json.dumps(answer, ensure_ascii=False)
        row["citations"] = [
            {name: citation[name] for name in ("number", "chunk_id", "supported")}
            for citation in answer["citations"]
        ]
    return row
