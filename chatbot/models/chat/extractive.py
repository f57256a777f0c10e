"""Answers by quoting, for machines without a key: the passages that answer, whole or
their best run of sentences.

No small model that ships in a package may answer people (measured: invented facts), so
none is used; the answer says that it quotes. The order is that of the search, which
weighs headings and editions.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter

from ...config.settings import Settings
from ...domain import Delta, Passage, Prompt, Quotation, Usage
from ...domain.documents import word_scores
from ...domain.request import RequestContext
from ...language.analysis import WORD_PATTERN
from ...language.detection import analyzer_for
from ...language.markdown import quotation_item
from ...language.sentences import PROSE_SENTENCE
from ...language.statements import (
    Statement,
    is_chart,
    split_statements,
    statements,
)
from ...language.words import speaking
from ...questions import kinds
from ...questions.reading import NAME, SHARE_WORDS

MAX_QUOTATIONS = 3
MAX_CHARACTERS = 600
"""Characters of a quotation. A passage up to this length is quoted whole."""
HEADER = "Quoted from the reports:"
NEW_LINE = " · "
"""Between two lines of a quotation: an answer has each quotation on one line."""
_NOTE = re.compile(r"\W*notes?\s*:", re.IGNORECASE)
_WRAPPED = re.compile(r"[\w,;&]$")


class ExtractiveChatModel:
    """Implements `protocols.ChatModel` and `protocols.Quoter`. Deterministic."""

    model_id = "extractive"
    is_language_model = False

    def __init__(self, language: str) -> None:
        self._language = language

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield the quotations at once. No tokens are counted."""
        say = speaking(prompt.language)
        quotes = self.quotes(prompt.question, prompt.context.passages)
        items = [quotation_item(quote, say) for quote in quotes]
        text = (
            "\n\n".join([say(HEADER), *items])
            if items
            else say("No passage was given to quote from.")
        )
        yield Delta("" if request.cancelled else text, Usage())

    def quotes(self, question: str, passages: Sequence[Passage]) -> list[Quotation]:
        """Implements `protocols.Quoter`. Summaries are no words of a report, so they
        are never quoted.
        """
        passages = [passage for passage in passages if not passage.hit.chunk.is_summary]
        chosen: list[Quotation] = []
        seen: set[tuple[object, ...]] = set()
        closest = 0.0
        names = list[str]()
        has_statements = any(map(statements, passages))
        in_question = NAME.findall(question)
        for passage in _in_order(
            passages, in_question, asks_for_prose=kinds.asks_for_prose(question)
        ):
            if len(chosen) == MAX_QUOTATIONS:
                break
            # A further passage is quoted if its cosine to the question is at least this
            # share of the first one's.
            is_far = _cosine(passage) < 0.75 * closest
            if is_far or any(
                name not in passage.hit.chunk.search_text for name in names
            ):
                continue
            lines = (
                statements(passage)
                if has_statements
                else list(split_statements(passage.hit.chunk))
            )
            chunk = passage.hit.chunk
            key = (
                chunk.metadata.get("country_name"),
                chunk.heading,
                *(one.text for one in lines),
            )
            if not lines or key in seen:
                continue
            # the names in the question that its text has, besides that of its report
            if not chosen:
                closest = _cosine(passage)
                names = [
                    name
                    for name in in_question
                    if name in chunk.text and name not in chunk.title
                ]
            seen.add(key)
            chosen.append(quotation_of(passage, self._best_run(question, lines)))
        return chosen

    def _best_run(self, question: str, lines: Sequence[Statement]) -> list[Statement]:
        """Return the statements under one heading that fit `MAX_CHARACTERS`: all, or
        those around the best one.
        """
        if lines[0].heading == lines[-1].heading and _length(lines) <= MAX_CHARACTERS:
            return list(lines)
        terms = analyzer_for(question, self._language).terms
        shares = SHARE_WORDS.intersection(
            WORD_PATTERN.findall(question.lower())
        )  # which a line says by its "%"
        scores = word_scores(
            [*terms(question), *shares],
            [
                [*terms(one.whole), *(shares if "%" in one.text else ())]
                for one in lines
            ],
        )
        best = int(scores.argmax())
        least = scores.mean() - scores.std()
        places = [best]

        def fits(place: int) -> bool:
            if (
                not 0 <= place < len(lines)
                or lines[place].heading != lines[best].heading
                or scores[place] < least
            ):
                return False
            return _length([lines[one] for one in [*places, place]]) <= MAX_CHARACTERS

        while sides := list(filter(fits, (places[-1] + 1, places[0] - 1))):
            places = sorted([*places, max(sides, key=scores.item)])
        return [lines[place] for place in places]


def _length(lines: Sequence[Statement]) -> int:
    return sum(map(len, map(attrgetter("text"), lines))) + len(lines)


def _cosine(passage: Passage) -> float:
    score = passage.hit.score
    return 0.0 if score is None else 2 * score - 1


def _line(passage: Passage) -> tuple[object, ...]:
    """Return what the editions of one report share: the country and the heading. Other
    reports share nothing, and passages without a heading are each a line of their own.
    """
    chunk = passage.hit.chunk
    owner = (
        chunk.document_id if chunk.year is None else chunk.metadata.get("country_name")
    )
    return owner, chunk.heading or chunk.id


def _in_order(
    passages: Sequence[Passage], names: Sequence[str], *, asks_for_prose: bool
) -> list[Passage]:
    """Return the passages in the order of the search, the editions of one line
    together, lone notes as its last. Of one table or section those with more of the
    question's ``names`` come first. Where prose is asked for, lines that have sentences
    come first; what stands around a chart comes last.
    """
    first: dict[tuple[object, ...], int] = {}
    for place, passage in enumerate(passages):
        first.setdefault(_line(passage), place)
        first.setdefault((passage.hit.chunk.document_id, *_line(passage)), place)
    prose = set[tuple[object, ...]]()
    if asks_for_prose:
        prose = {
            _line(one) for one in passages if PROSE_SENTENCE.search(one.hit.chunk.text)
        }

    is_body_first = bool(passages) and not passages[0].hit.chunk.zone

    def place_of(passage: Passage) -> tuple[bool, bool, bool, int, int, int, bool]:
        line = _line(passage)
        chunk = passage.hit.chunk
        named = sum(map(chunk.text.__contains__, names))
        is_note = _NOTE.match(chunk.text) is not None
        return (
            is_body_first and bool(chunk.zone),
            is_chart(chunk),
            line not in prose,
            first[line],
            first[chunk.document_id, *line],
            -named,
            is_note,
        )

    return sorted(passages, key=place_of)


def quotation_of(passage: Passage, run: Sequence[Statement]) -> Quotation:
    """Return the quotation of adjoining statements, with the label that the first one
    lacks in its source.
    """
    chunk = passage.hit.chunk
    first = run[0]
    text = first.text
    for before, one in pairwise(run):
        same_line = one.line == before.line or (
            _WRAPPED.search(before.text) and len(before.text) >= 60
        )
        text += f"{' ' if same_line else NEW_LINE}{one.text}"
    text = " ".join(text.split())
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS].rsplit(" ", 1)[0] + " …"
    elif first.cut or run[-1].cut:
        text = f"… {text} …"
    label = first.label if first.label != first.heading else ""
    where = ", ".join(filter(None, [chunk.title, first.heading, label]))
    page = f", page {chunk.page}" if chunk.page is not None else ""
    return Quotation(passage.number, f"{where}{page}", text, passage.hit.general)


def build(settings: Settings, *, model: str) -> ExtractiveChatModel:
    return ExtractiveChatModel(settings.language)
