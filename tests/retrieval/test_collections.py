"""Collection routing (R-C5), without the model."""

from __future__ import annotations

import pytest

from chatbot.retrieval.collections import KnowledgeCollection, chosen, knowledge_collections, selectable
from chatbot.services import Services
from chatbot.settings import Settings

GENERAL = KnowledgeCollection("general", "All sorts.")
REPORTS = KnowledgeCollection("reports", "Country reports.")
NEWS = KnowledgeCollection("news", "Daily news.")
PLAIN = KnowledgeCollection("plain")
ALL = (GENERAL, REPORTS, NEWS, PLAIN)


def test_each_name_once_with_its_description() -> None:
    names = ("general", "reports", "general", "plain")
    assert knowledge_collections(names, {"reports": "R.", "unknown": "x"}) == (
        KnowledgeCollection("general"),
        KnowledgeCollection("reports", "R."),
        KnowledgeCollection("plain"),
    )


def test_those_of_the_settings(settings: Settings) -> None:
    with Services(settings.override(collections={"news": "Daily news.", "report_chatting": "Reports."})) as services:
        assert services.collections == (
            KnowledgeCollection("chatbot_data"),
            KnowledgeCollection("report_chatting", "Reports."),
            KnowledgeCollection("news", "Daily news."),
        )


@pytest.mark.parametrize(
    ("collections", "allowed", "expected"),
    [
        (ALL, (), [REPORTS, NEWS]),
        (ALL, ("reports", "news"), [REPORTS, NEWS]),
        (ALL, ("reports", "general"), []),
        (ALL, ("plain",), []),
        ((GENERAL, REPORTS), (), []),
        ((GENERAL,), (), []),
        ((PLAIN, GENERAL, REPORTS), (), [GENERAL, REPORTS]),
    ],
)
def test_a_model_chooses_among_the_described_ones_where_there_is_a_choice(
    collections: tuple[KnowledgeCollection, ...], allowed: tuple[str, ...], expected: list[KnowledgeCollection]
) -> None:
    assert selectable(collections, allowed) == expected


@pytest.mark.parametrize(
    ("allowed", "picked", "expected"),
    [
        ((), ["news"], ("general", "news", "plain")),
        ((), ["news", "reports"], ("general", "reports", "news", "plain")),
        ((), ["news", "Narnia", "general"], ("general", "news", "plain")),
        ((), [], ("general", "reports", "news", "plain")),
        ((), ["Narnia"], ("general", "reports", "news", "plain")),
        ((), ["plain"], ("general", "reports", "news", "plain")),
        (("reports", "news"), ["news"], ("news",)),
        (("reports", "news"), ["Narnia"], ("reports", "news")),
        (("reports", "news", "plain"), ["reports"], ("reports", "plain")),
        (("reports",), ["news"], ("reports",)),
        (("general", "reports"), ["news"], ("general", "reports")),
    ],
)
def test_what_is_searched(allowed: tuple[str, ...], picked: list[str], expected: tuple[str, ...]) -> None:
    """Never outside what is allowed; the general one and those without a description always."""
    assert chosen(ALL, allowed, picked) == expected
