"""Overviews, which no search finds: the chapters of a report, its key figures, and the sentences that say most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...domain import SECTION_SEPARATOR, Context, DocumentRecord, Passage, Quotation, Scope, SearchHit, Values
from ...language import escape_markdown, quotation_item
from ...models.chat.extractive import statements
from ...questions.kinds import asks_what_it_is_about
from ...questions.reading import COUNTRY, YEAR
from ...questions.sides import DOCUMENT
from ...search.pipeline import SummarySentence, of_whole_report, with_rank
from ...search.ranking import split_by_country_tag
from .answering import WritingPlan
from .run import AgentRun
from .searches import distinct
from .tables import key_figures, passages_of

MAX_SENTENCES = 3
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
    subject = str(record.metadata.get(COUNTRY) or record.title)
    table = key_figures(run, Scope.of({DOCUMENT: Values((record.name,))}), [subject])
    hits = with_rank(distinct([*(passages_of(run, table) if table else ()), *hits]))

    def quoted(context: Context) -> str:
        passages = {passage.hit.chunk.id: passage for passage in context.passages}
        chapters = dict.fromkeys(chunk.section.partition(SECTION_SEPARATOR)[0] for chunk in chunks if chunk.section)
        parts = [table.text] if table else []
        if len(chapters) > 1 and not is_of_country:
            names = escape_markdown(", ".join(chapters))
            parts.insert(0, run.say("The chapters are {names}; from them:", names=names))
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


def _sentences(run: AgentRun, passages: dict[str, Passage], sentences: Sequence[SummarySentence]) -> Iterator[str]:
    """Yield the statements of the report that say what the sentences of its summary say."""
    for sentence in sentences[:MAX_SENTENCES]:
        passage = passages.get(sentence.chunk_id)
        found = statements(passage) if passage is not None else []
        if passage is not None and found:
            said = set(sentence.text.split())
            text = max(found, key=lambda one: len(said.intersection(one.text.split()))).text
            where = ", ".join(filter(None, [passage.hit.chunk.title, passage.hit.chunk.heading]))
            yield quotation_item(Quotation(passage.number, where, " ".join(text.split())), run.say)
