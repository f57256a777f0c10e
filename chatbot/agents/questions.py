"""Questions that an agent makes up: searched where they belong, and none twice."""

from __future__ import annotations

from collections.abc import Sequence

from ..retrieval.mentions import find_mentions
from ..retrieval.scope import describe
from ..retrieval.subjects import everything_asked, suggest_scope
from ..text import is_foreign
from .run import Run
from .search import Search


def whole(run: Run) -> Search:
    """The question itself, in the scope chosen."""
    question = run.question
    return Search(question.search_text, question.search_text, question.scope, question.top_k)


def narrowed(run: Run, query: str) -> Search:
    """Under the countries and years that the query is about, inside the scope chosen.

    The whole question stays in all of that where it names a country besides: one of its parts may be about it. So
    does a query in another language: names are found in English.
    """
    scope, catalog = run.question.scope, run.parts.catalog
    mentions = find_mentions(query, catalog)
    if query == run.question.search_text and len(mentions.about) < len(mentions.countries):
        return whole(run)
    inside = None if is_foreign(query) else suggest_scope(everything_asked(query, scope, catalog), scope, catalog)
    inside = inside or scope
    label = query if inside == scope else f"{query} ({describe(inside.within(()))})"
    return Search(label, query, inside, run.question.top_k)


def fresh(candidates: Sequence[str], asked: Sequence[str]) -> list[str]:
    """Each once, without those already asked, whatever their case, spacing and full stop."""
    known = {_key(query) for query in asked}
    new: dict[str, str] = {}
    for query in candidates:
        if _key(query) not in known:
            new.setdefault(_key(query), query)
    return list(new.values())


def listed(queries: Sequence[str]) -> str:
    """For a prompt."""
    return "\n".join(f"- {query}" for query in queries)


def _key(query: str) -> str:
    return " ".join(query.casefold().split()).rstrip("?.! ")
