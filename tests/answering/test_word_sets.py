"""Sets over words: the heading that is meant, the words that decide, the newest report
of each country.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

import pytest

from chatbot.answering import word_sets
from chatbot.answering.word_sets import WordSets, synonyms_of
from chatbot.domain import Chunk, Scope
from chatbot.domain.documents import Match
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import Reading
from chatbot.language.analysis import analyzer
from chatbot.language.country_names import find_countries
from chatbot.language.words import in_english
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.questions.kinds import Bound, read_request
from chatbot.questions.word_sets import read_word_set
from chatbot.search.indicators import IndicatorIndex
from tests.data import cases

CASES = cases(__file__)
ANALYZER = analyzer("english")
GLOSSARY = (
    GlossaryEntry("goods sold abroad", "", ("export", "sell"), "Exports - commodities"),
    GlossaryEntry("neighbours", "", ("border",), "Land boundaries"),
    GlossaryEntry("tongues", "", ("speak", "spoken", "official"), "Languages"),
    GlossaryEntry("nationality", "", ("recognize",), "Citizenship"),
    GlossaryEntry("soldiers", "", ("troops",), "Army"),
    GlossaryEntry(
        "seaside",
        "",
        ("coast", "access to the sea", "border the sea", "landlocked"),
        "Coastline",
    ),
    GlossaryEntry("faith", "", ("practise",), "Religions"),
    GlossaryEntry("money", "", ("currency", "pay"), "Exchange rates"),
    GlossaryEntry("Muslim", "", ("Islam",)),
)


def chunk(country: str, year: int, heading: str, text: str) -> Chunk:
    name = f"{country}-{year}"
    return Chunk(
        id=f"{name}-{heading}",
        document_id=name,
        document_name=name,
        title=name,
        text=text,
        section=f"Country › {heading}",
        metadata={"country_name": country, "year": year},
    )


CHUNKS = [
    chunk("Kenya", 2021, "Exports - commodities", "gold, tea"),
    chunk("Kenya", 2023, "Exports - commodities", "tea, coffee"),
    chunk("Mali", 2023, "Exports - commodities", "gold, cotton"),
    chunk("Peru", 2023, "Exports - commodities", "copper, coffee, gold"),
    chunk("Kenya", 2023, "Exports", "total: exports are $5 billion"),
    chunk("Mali", 2023, "Land boundaries", "border countries (2): Niger 838 km; Togo"),
    chunk("Kenya", 2023, "Land boundaries", "border countries (1): Somalia 684 km"),
    chunk("Peru", 2023, "Land boundaries", "border countries: Chile 1,168 km; Niger"),
    chunk("Mali", 2023, "Languages", "French (official), Bambara; French is spoken"),
    chunk("Peru", 2023, "Languages", "Spanish (official), Quechua"),
    chunk("Kenya", 2023, "Languages", "English (official), French"),
    chunk("Mali", 2023, "Coastline", "0 km (landlocked)"),
    chunk("Kenya", 2023, "Coastline", "536 km"),
    chunk("Kenya", 2023, "Army", "Kenya Defence Forces: regular troops"),
    chunk("Mali", 2023, "Army", "no regular troops"),
    chunk("Peru", 2023, "Army", "Peruvian Army"),
    chunk("Kenya", 2023, "Citizenship", "dual citizenship recognized: yes"),
    chunk("Mali", 2023, "Citizenship", "dual citizenship recognized: no"),
    chunk("Peru", 2023, "Railways", "total: 1,854 km"),
    chunk("Kenya", 2023, "Railways", "total: 3,819 km"),
    chunk("Mali", 2023, "Religions", "Muslim (official) 93%"),
    chunk("Kenya", 2023, "Religions", "Christian 85%, Muslim 11%"),
    chunk("Peru", 2023, "Religions", "Roman Catholic (official) 60%"),
    chunk("Mali", 2023, "Exchange rates", "Currency: francs per US dollar"),
    chunk("Kenya", 2023, "Exchange rates", "Currency: shillings per US dollar"),
    chunk("Peru", 2023, "Exchange rates", "Currency: US dollars"),
]


class Passages:
    """Finds the passages that have a word of the query."""

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        terms = set(ANALYZER.terms(query))
        return [
            Match(one.id, 1.0)
            for one in CHUNKS
            if not terms.isdisjoint(ANALYZER.terms(one.search_text))
        ]

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        return [one for one in CHUNKS if one.id in chunk_ids]


def answer(question: str) -> str:
    countries = find_countries(question)
    reading = Reading(question, countries)
    asked = read_word_set(reading, read_request(reading, countries=0))
    assert asked is not None
    index = IndicatorIndex(HashingEmbedder(512), ANALYZER, lambda: GLOSSARY)
    synonyms = synonyms_of(GLOSSARY, ANALYZER.terms)
    sets = WordSets(cast(Any, Passages()), index, ANALYZER.terms, synonyms)
    rendered = sets.answer(
        asked, Scope(), Scope(), ["Kenya", "Mali", "Peru"], in_english
    )
    return rendered.text if rendered else ""


@pytest.mark.parametrize(
    ("question", "head", "rows"),
    CASES["sets"],
)
def test_those_whose_newest_report_says_it(
    question: str, head: str, rows: list[str]
) -> None:
    text = answer(question)
    assert text.split("\n\n")[0] == head
    table = text.split("\n\n")[1]
    assert table.splitlines()[2:] == rows


def test_one_more_word_narrows_a_set_where_a_share_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = "Which countries have French as official language?"
    assert "2 of 3 countries" in answer(question)
    monkeypatch.setattr(word_sets, "NARROWED_OF", 2)
    assert "1 of 3 countries" in answer(question)


def test_countries_whose_reports_state_nothing_are_named() -> None:
    text = answer("Which countries have no coast?")
    assert text.endswith("1 of 3 countries do not state it: Peru.")
    assert "do not state it" not in answer("Which countries export coffee?")


def test_what_only_some_reports_have_is_not_in_the_others() -> None:
    assert answer("Which countries have no railways?") == (
        "1 of 3 countries have nothing under “Railways” in their newest reports: "
        "Mali.\n\nThe others have it: Kenya [1], Peru [2]."
    )


def test_words_that_no_report_has_are_no_set() -> None:
    assert not answer("Which countries export bicycles?")


@pytest.mark.parametrize(
    "question",
    CASES["no_sets"],
)
def test_rankings_and_bounds_are_no_sets_over_words(question: str) -> None:
    countries = find_countries(question)
    reading = Reading(question, countries, countries)
    request = read_request(reading, countries=0)
    assert read_word_set(reading, request) is None


@pytest.mark.parametrize(
    ("question", "bound"),
    CASES["bounds"],
)
def test_bounds_are_turned_round_and_include_their_figure(
    question: str, bound: tuple[bool, int, bool, bool] | None
) -> None:
    read = read_request(Reading(question), countries=0).bound
    expected = None
    if bound is not None:
        above, value, inclusive, negated = bound
        expected = Bound(above, Decimal(value), inclusive=inclusive, negated=negated)
    assert read == expected


def test_who_lacks_two_words_is_told_only_where_the_heading_is_sure() -> None:
    """Tea alone is what Kenya has: "gold or tea" is no word that it lacks."""
    assert answer("Which countries do not have gold or tea commodities?") == ""
