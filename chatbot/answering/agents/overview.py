"""Overviews, which no search finds: the chapters of a report, its key figures, and the sentences that say most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ...domain import SECTION_SEPARATOR, Chunk, Context, DocumentRecord, Passage, Quotation, SearchHit, Values
from ...language import escape_markdown, quotation_item
from ...language.reported_figures import stated
from ...models.chat.extractive import statements
from ...questions.overview import asks_what_it_is_about
from ...questions.reading import COUNTRY, YEAR
from ...search.pipeline import SummarySentence, of_whole_report, with_rank
from ...search.ranking import split_by_country_tag
from .answering import WritingPlan
from .run import AgentRun

MAX_FIGURES = 8
MAX_SENTENCES = 3
MAX_LINE = 120
"""Characters of a key figure with its label and year."""
MAX_PASSAGES = 1_000
"""Passages of a report that are read for its chapters and figures."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The passages that an overview is written from, best first, and how to write it."""

    hits: Sequence[SearchHit]
    plan: WritingPlan


def overview(run: AgentRun) -> Overview | None:
    """Return the overview of the one report or country that a question asks about; None for other questions."""
    question, resources = run.question, run.resources
    if question.page or not asks_what_it_is_about(question.search_text, run.reading.names):
        return None
    record, is_of_country = _subject(run)
    if record is None:
        return None
    hits, sentences = of_whole_report(record, resources.store, resources.analyzer, top_k=question.top_k)
    if not hits:
        return None
    chunks = resources.store.get(record.chunk_ids()[: min(record.chunks, MAX_PASSAGES)])
    figures = key_figures(chunks)
    ids = {hit.chunk.id for hit in hits}
    hits = with_rank([*hits, *(SearchHit(chunk, found_by=("figures",)) for chunk, _ in figures if chunk.id not in ids)])

    def quoted(context: Context) -> str:
        passages = {passage.hit.chunk.id: passage for passage in context.passages}
        parts = [] if is_of_country else list(_chapters(run, chunks))
        parts += [_item(run, passages[chunk.id], line) for chunk, line in figures if chunk.id in passages]
        parts += _sentences(run, passages, sentences)
        # A summary that is made by a program is no quotation.
        summaries = (one for one in context.passages if one.hit.chunk.is_summary)
        parts += [f"{escape_markdown(one.hit.chunk.text)} [{one.number}]" for one in summaries]
        return "\n\n".join(parts)

    return Overview(hits, WritingPlan() if run.has_model else WritingPlan(quoting=quoted))


def _subject(run: AgentRun) -> tuple[DocumentRecord | None, bool]:
    """Return the one report, named or in scope, or the newest of the one country, and whether it is for a country."""
    catalog = run.resources.catalog
    scope, _ = split_by_country_tag(run.question.scope, catalog)
    ready = [record for record in catalog.all(scope) if record.status == "ready"]
    if document := run.reading.document:
        ready = [record for record in ready if record.name in document.names]
        return max(ready, key=_edition, default=None), False
    if len(ready) == 1:
        return ready[0], False
    country = scope.get(COUNTRY)
    if not isinstance(country, Values) or len(country.values) != 1 or not ready:
        return None, False
    return max(ready, key=_edition), True


def _edition(record: DocumentRecord) -> str:
    return str(record.metadata.get(YEAR, ""))


def key_figures(chunks: Sequence[Chunk]) -> list[tuple[Chunk, str]]:
    """Return passages that begin with a figure, each with that line, at most `MAX_FIGURES`, in reading order.

    Each chapter gives one, then each its next. The shortest headings come first: "Population" says more of a country
    than "Population below poverty line".
    """
    chapters: dict[str, list[tuple[Chunk, str]]] = {}
    sections: set[str] = set()
    for chunk in chunks:
        line = next((one.text for one in statements(Passage(0, SearchHit(chunk), ""))), "")
        if chunk.section not in sections and len(line) <= MAX_LINE and next(iter(stated(line)), None):
            chapters.setdefault(chunk.section.partition(SECTION_SEPARATOR)[0], []).append((chunk, line))
        sections.add(chunk.section)
    rows = zip_longest(*(sorted(own, key=lambda found: len(found[0].heading.split())) for own in chapters.values()))
    chosen = [found for row in rows for found in row if found is not None][:MAX_FIGURES]
    return sorted(chosen, key=lambda found: found[0].ordinal)


def _chapters(run: AgentRun, chunks: Sequence[Chunk]) -> Iterator[str]:
    names = dict.fromkeys(chunk.section.partition(SECTION_SEPARATOR)[0] for chunk in chunks if chunk.section)
    if len(names) > 1:
        yield run.say("The chapters are {names}; from them:", names=escape_markdown(", ".join(names)))


def _sentences(run: AgentRun, passages: dict[str, Passage], sentences: Sequence[SummarySentence]) -> Iterator[str]:
    """Yield the statements of the report that say what the sentences of its summary say."""
    for sentence in sentences[:MAX_SENTENCES]:
        passage = passages.get(sentence.chunk_id)
        found = statements(passage) if passage is not None else []
        if passage is not None and found:
            said = set(sentence.text.split())
            yield _item(run, passage, max(found, key=lambda one: len(said.intersection(one.text.split()))).text)


def _item(run: AgentRun, passage: Passage, text: str) -> str:
    chunk = passage.hit.chunk
    where = ", ".join(filter(None, [chunk.title, chunk.heading]))
    return quotation_item(Quotation(passage.number, where, " ".join(text.split())), run.say)
