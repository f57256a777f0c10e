"""Answers what a report or a country is about: chapters, key figures, and the sentences
that say most. No search finds these.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...domain import Context, DocumentRecord, Passage, Quotation
from ...domain.scope import Scope, Values
from ...language.markdown import escape_markdown, quotation_item
from ...language.statements import statements
from ...questions.kinds import asks_what_it_is_about, topic_of
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import DOCUMENT
from ...search.pipeline import SummarySentence, of_whole_report
from ...search.ranking import split_by_country_tag
from ..figure_words import Rendered
from ..tools.figures import FigureTool
from ..turn import Draft, Turn, distinct
from ..writers import Desk
from ..writers.prose import Prose

MAX_SENTENCES = 3
"""Sentences of an overview."""
MAX_PASSAGES = 1_000
"""Passages of a report that are read for its chapters and figures."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Tells of the one report or country that a question asks about."""

    figures: FigureTool
    desk: Desk

    def run(self, turn: Turn) -> Draft | None:
        question = turn.question
        if turn.mode is None or turn.mode.searches_often or question.page:
            return None
        if turn.absent is not None or turn.dialogue is not None:
            return None
        text = question.search_text
        is_asked = asks_what_it_is_about(text, turn.reading.names)
        if not is_asked and topic_of(text, turn.reading) != "content":
            return None
        record, is_of_country = subject_of(turn)
        if record is None:
            return None
        passages = self.desk.passages
        hits, sentences = of_whole_report(
            record, passages, turn.analyzer, top_k=question.top_k
        )
        if not hits:
            return None
        turn.events.step("search", f"Searching {turn.scope.chunks:,} passages")
        # No search has to understand the question.
        turn.is_foreign = False
        subject = str(record.metadata.get(COUNTRY) or record.title)
        of_report = Scope.of({DOCUMENT: Values((record.name,))})
        table = self._key_figures(turn, of_report, subject)
        of_table = self.figures.passages_of(table) if table is not None else []
        shown = distinct([*of_table, *hits])
        if turn.has_model:
            return Prose(self.desk).write_from(turn, shown)
        chapters: Sequence[str] = ()
        if not is_of_country:
            chapters = self._chapters(record)
        writer = _QuotedOverview(self.desk, table, chapters, sentences)
        return writer.write_from(turn, shown)

    def _chapters(self, record: DocumentRecord) -> list[str]:
        count = min(record.part_of or record.chunks, MAX_PASSAGES)
        chunks = self.desk.passages.get(record.chunk_ids()[:count])
        named = (chunk.chapter for chunk in chunks if chunk.section)
        return list(dict.fromkeys(named))

    def _key_figures(self, turn: Turn, scope: Scope, subject: str) -> Rendered | None:
        """Return the table of key figures; None where its only number has no name, as
        the hour of a meeting.
        """
        table = self.figures.key_figures(turn, scope, [subject])
        if table is not None and list(table.things) == [subject]:
            return None
        return table


class _QuotedOverview(Prose):
    """An overview in the words of the report."""

    may_quote = True

    def __init__(
        self,
        desk: Desk,
        table: Rendered | None,
        chapters: Sequence[str],
        sentences: Sequence[SummarySentence],
    ) -> None:
        super().__init__(desk)
        self._table = table
        self._chapters = chapters
        self._sentences = sentences

    def quote(self, turn: Turn, context: Context) -> str:
        parts: list[str] = []
        if len(self._chapters) > 1:
            names = escape_markdown(turn.say(", ").join(self._chapters))
            text = "The chapters are {names}; from them:"
            parts.append(turn.say(text, names=names))
        if self._table is not None:
            parts.append(self._table.text)
        by_id = {passage.hit.chunk.id: passage for passage in context.passages}
        said = list(self._statements(turn, by_id))
        for passage in context.passages:
            # A summary that is made by a program is no quotation.
            if passage.hit.chunk.is_summary:
                text = escape_markdown(passage.hit.chunk.text)
                said.append(f"{text} [{passage.number}]")
        if not said:
            said = self._beginning(turn, context)
        return "\n\n".join([*parts, *said])

    def _statements(self, turn: Turn, passages: Mapping[str, Passage]) -> Iterator[str]:
        """Yield the statements of the report that say what the sentences of its summary
        say.
        """
        for sentence in self._sentences[:MAX_SENTENCES]:
            passage = passages.get(sentence.chunk_id)
            if passage is None:
                continue
            texts = [statement.text for statement in statements(passage)]
            if not texts:
                continue
            words = set(sentence.text.split())
            shared = [len(words.intersection(text.split())) for text in texts]
            yield _item(turn, passage, texts[shared.index(max(shared))])

    def _beginning(self, turn: Turn, context: Context) -> list[str]:
        """Return the first statements of a report that is too short for a summary."""
        first: list[str] = []
        for passage in context.passages:
            for statement in statements(passage):
                first.append(_item(turn, passage, statement.text))
        return first[:MAX_SENTENCES]


def _item(turn: Turn, passage: Passage, text: str) -> str:
    chunk = passage.hit.chunk
    names = (name for name in (chunk.title, chunk.heading) if name)
    where = turn.say(", ").join(names)
    quotation = Quotation(passage.number, where, " ".join(text.split()))
    return quotation_item(quotation, turn.say)


def subject_of(turn: Turn) -> tuple[DocumentRecord | None, bool]:
    """Return the one report, named or in scope, or the newest of the one country, and
    whether it is for a country.
    """
    scope, _ = split_by_country_tag(turn.question.scope, turn.catalog)
    ready = [record for record in turn.catalog.all(scope) if record.status == "ready"]
    document = turn.reading.document
    if document:
        named = [record for record in ready if record.name in document.names]
        return max(named, key=_edition, default=None), False
    if len(ready) == 1:
        return ready[0], False
    country = scope.get(COUNTRY)
    if not isinstance(country, Values) or len(country.values) != 1 or not ready:
        return None, False
    return max(ready, key=_edition), True


def _edition(record: DocumentRecord) -> str:
    return str(record.metadata.get(YEAR, ""))
