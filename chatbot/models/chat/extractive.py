"""Answers by quoting, for machines without a key: the passages that answer, whole or
their paragraph that answers, with the sentence that answers marked.

No small model that ships in a package may answer people (measured: invented facts), so
none is used; the answer says that it quotes. The order is that of the search, which
weighs headings and editions.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...config.settings import Settings
from ...domain import Chunk, Delta, Passage, Prompt, Quotation, Usage
from ...domain.documents import SECTION_SEPARATOR, word_scores
from ...domain.request import RequestContext
from ...language.detection import analyzer_for
from ...language.markdown import quotation_item
from ...language.sentences import PROSE_SENTENCE
from ...language.statements import (
    Statement,
    split_statements,
    statements,
)
from ...language.words import speaking
from ...questions.kinds import asks_for_prose
from ...questions.reading import NAME

MAX_QUOTATIONS = 3
"""The last of them only if all have the room of two long ones."""
MAX_CHARACTERS = 900
"""Characters of a quotation. A passage up to this length is quoted whole."""
MIN_NEARNESS, SURE_HEADING = 0.7, 0.78
"""How near a heading has to be, as a share of how near the first one is, where that is
surely asked for: what is further away answers something else.
"""
MAX_ROW_CHARACTERS = MAX_CHARACTERS // 4
"""Characters of a table's row. Of a longer one the cells that are asked are quoted."""
LEFT_OUT = "…"
HEADER = "Quoted from the reports:"
NEW_LINE = " · "
"""Between two lines of a quotation: an answer has each quotation on one line."""
_WRAPPED = re.compile(r"[\w,;&]$")
Terms = Callable[[str], Sequence[str]]


@dataclass(slots=True)
class _Beside:
    """Tells which passages may be quoted beside the nearest one of a search."""

    nearest: Passage
    is_prose: bool
    """Whether reasons are asked for: no heading names them."""
    closest: float = 0.0
    """The cosine of the first quotation."""
    ordered_by_words: str = ""
    """The document whose passages are in the order of the words that tell them apart,
    however far in meaning.
    """
    names: Sequence[str] = ()
    """Each quotation has them."""

    def may_stand(self, passage: Passage) -> bool:
        """Tell whether a passage has the names and is not far from the question."""
        chunk = passage.hit.chunk
        if any(name not in chunk.search_text for name in self.names):
            return False
        if chunk.document_id == self.ordered_by_words:
            return True
        heading = passage.hit.heading_score or 1
        of_nearest = self.nearest.hit.heading_score or 0
        share = MIN_NEARNESS if of_nearest > SURE_HEADING else 0.5
        if not self.is_prose and heading - 0.5 < share * (of_nearest - 0.5):
            return False
        return _cosine(passage) >= 0.75 * self.closest

    def begin_with(self, passage: Passage, names: Sequence[str]) -> None:
        """Take a passage as the first one that is quoted; ``names``: of a question."""
        chunk = passage.hit.chunk
        # Reasons are further from a question for them than figures, which do not tell
        # any.
        if not self.is_prose or PROSE_SENTENCE.search(chunk.text):
            self.closest = _cosine(passage)
        if passage.hit.heading_score is None:
            # No heading names what is asked.
            self.ordered_by_words = chunk.document_id
        # Those that its text has, besides that of its report.
        self.names = [
            name for name in names if name in chunk.text and name not in chunk.title
        ]


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
        if not passages:
            return []
        names = NAME.findall(question)
        beside = _Beside(passages[0], asks_for_prose(question))
        chosen: list[Quotation] = []
        seen: set[tuple[object, ...]] = set()
        has_statements = any(map(statements, passages))
        length = 0
        for passage in _in_order(passages, names):
            if not beside.may_stand(passage):
                continue
            chunk = passage.hit.chunk
            lines = statements(passage)
            if not has_statements:
                lines = list(split_statements(chunk))
            key = (chunk.metadata.get("country_name"), chunk.heading, chunk.text)
            if not lines or key in seen:
                continue
            quotation = self._quotation(question, passage, lines)
            length += len(quotation.text)
            is_room = len(chosen) < 2 or length <= 2 * MAX_CHARACTERS
            if len(chosen) == MAX_QUOTATIONS or not is_room:
                break
            if not chosen:
                beside.begin_with(passage, names)
            seen.add(key)
            chosen.append(quotation)
        return self._without_other_rows(question, chosen, passages)

    def _without_other_rows(
        self,
        question: str,
        quotations: list[Quotation],
        passages: Sequence[Passage],
    ) -> list[Quotation]:
        """Return the first quotation, a row of a table, alone where no other one has as
        much of the question, or as much in its name where it is a row, too: whoever
        asks for one cell needs no other row.
        """
        chunks = {passage.number: passage.hit.chunk for passage in passages}
        if not quotations or not _is_table(chunks[quotations[0].number]):
            return quotations
        if not _is_row(quotations[0].text) or asks_for_prose(question):
            return quotations
        terms = analyzer_for(question, self._language).terms
        asked = terms(question)
        names = word_scores(asked, [terms(one.where) for one in quotations])
        texts = [terms(f"{one.where} {one.text}") for one in quotations]
        scores = word_scores(asked, texts)
        for place in range(1, len(quotations)):
            is_row = _is_row(quotations[place].text)
            is_named = is_row and names[place] >= names[0]
            if scores[place] > scores[0] or (scores[place] == scores[0] and is_named):
                return quotations
        return quotations[:1]

    def _quotation(
        self, question: str, passage: Passage, lines: Sequence[Statement]
    ) -> Quotation:
        """Return a passage whole, of a long one what stands around the statement that
        answers. That statement is marked if it has more of the question than all
        others.
        """
        terms = analyzer_for(question, self._language).terms
        scores = word_scores(terms(question), [terms(line.whole) for line in lines])
        best = int(scores.argmax())
        is_sure = np.count_nonzero(scores == scores[best]) == 1
        run = _around(lines, best)
        is_table = _is_table(passage.hit.chunk)
        if is_table and is_sure:
            # The row of a table that is asked for, not the table.
            run = [line for line in run if line.line == lines[best].line]
        answer = None
        if len(run) > 1 and is_sure:
            answer = lines[best]
        quotation = quotation_of(passage, run, answer)
        if not is_table or not _is_row(quotation.text):
            return quotation
        text = quotation.text
        if len(text) > MAX_ROW_CHARACTERS:
            text = _cells(text, terms(question), terms)
        cell = _asked_cell(text, terms(question), terms)
        return replace(quotation, text=text, answer=cell)


def _around(lines: Sequence[Statement], best: int) -> list[Statement]:
    """Return the statements under the heading of the best one, as many around it as
    fit `MAX_CHARACTERS`.
    """
    first = last = best
    length = len(lines[best].text)

    def fits(place: int) -> bool:
        if not 0 <= place < len(lines):
            return False
        line = lines[place]
        if line.heading != lines[best].heading:
            return False
        return length + len(line.text) < MAX_CHARACTERS

    while fits(last + 1) or fits(first - 1):
        if fits(last + 1):
            last += 1
            length += len(lines[last].text) + 1
        if fits(first - 1):
            first -= 1
            length += len(lines[first].text) + 1
    return list(lines[first : last + 1])


def _is_table(chunk: Chunk) -> bool:
    """Return whether a passage is of a table: read as one, or of several rows."""
    if chunk.statements is not None:
        return True
    rows = [line for line in chunk.text.splitlines() if _is_row(line)]
    return len(rows) > 1


def _is_row(text: str) -> bool:
    """Return whether a text is a row of a table: short cells with the heads of their
    columns.
    """
    first, *cells = text.split("; ")
    if not cells or ": " not in first:
        return False
    if len(cells) == 1 and ": " not in cells[0]:
        # "Present: the chair; the clerk"
        return False
    return max(len(first), *map(len, cells)) <= MAX_ROW_CHARACTERS // 2


def _cells(row: str, asked: Sequence[str], terms: Terms) -> str:
    """Return of a long row the first cell, which names it, and those with words that
    are asked, in their order. All of it where no column is named: its answer may be in
    any cell.
    """
    first, *cells = row.split("; ")
    shown = [first]
    is_named = False
    for cell in cells:
        if set(asked).isdisjoint(terms(cell)):
            if shown[-1] != LEFT_OUT:
                shown.append(LEFT_OUT)
            continue
        column, _, _ = cell.partition(": ")
        is_named |= not set(asked).isdisjoint(terms(column))
        shown.append(cell)
    return "; ".join(shown) if is_named else row


def _asked_cell(row: str, asked: Sequence[str], terms: Terms) -> str:
    """Return the cell of a row whose column has more of what is asked than all others;
    "" if there is none. The first cell names the row.
    """
    cells = [cell for cell in row.split("; ")[1:] if ": " in cell]
    scores = word_scores(asked, [terms(cell.partition(": ")[0]) for cell in cells])
    best = max(scores, default=0.0)
    if not best or np.count_nonzero(scores == best) > 1:
        return ""
    return cells[int(scores.argmax())]


def _cosine(passage: Passage) -> float:
    score = passage.hit.score
    return 0.0 if score is None else 2 * score - 1


def _in_order(passages: Sequence[Passage], names: Sequence[str]) -> list[Passage]:
    """Return the passages in the order of the search. Those of one section come in its
    places by how many of the question's ``names`` they have: the rows of a long table
    are equally near to a question. References, notes and the like come last, unless the
    search has them first.
    """
    of_section = defaultdict[tuple[str, str], list[Passage]](list)
    for passage in passages:
        of_section[_section(passage)].append(passage)
    for section in of_section.values():
        section.sort(key=lambda passage: -_count_named(passage, names))
    ordered = [of_section[_section(passage)].pop(0) for passage in passages]
    if passages and not passages[0].hit.chunk.zone:
        ordered.sort(key=lambda passage: bool(passage.hit.chunk.zone))
    return ordered


def _section(passage: Passage) -> tuple[str, str]:
    return passage.hit.chunk.document_id, passage.hit.chunk.section


def _count_named(passage: Passage, names: Sequence[str]) -> int:
    return sum(name in passage.hit.chunk.text for name in names)


def quotation_of(
    passage: Passage, run: Sequence[Statement], answer: Statement | None = None
) -> Quotation:
    """Return the quotation of adjoining statements, with the label that the first one
    lacks in its source, and the one that answers marked.
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
    names = [chunk.title, first.heading, label]
    if chunk.statements is not None:
        # The sheet or the table, and the row.
        names[1:2] = chunk.section.split(SECTION_SEPARATOR)
    where = ", ".join(dict.fromkeys(filter(None, names)))
    page = f", page {chunk.page}" if chunk.page is not None else ""
    return Quotation(
        number=passage.number,
        where=f"{where}{page}",
        text=text,
        answer=" ".join(answer.text.split()) if answer else "",
        general=passage.hit.general,
    )


def build(settings: Settings, *, model: str) -> ExtractiveChatModel:
    return ExtractiveChatModel(settings.language)
