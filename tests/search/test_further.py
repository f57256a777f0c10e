"""Questions to go on with: their wording, and which headings go first."""

import pytest

from chatbot.domain import Chunk, Scope, SearchHit
from chatbot.domain.scope import Value
from chatbot.search.further import first_questions, further_questions
from tests.questions.reports import Reports

ABOUT: dict[str, Value] = {"country_name": "Philippines", "year": 2023}


def found(section: str) -> SearchHit:
    return SearchHit(
        Chunk(
            section, "d", 0, "text", "Philippines 2023", section=section, metadata=ABOUT
        )
    )


def asked(cited: str, *sections: str, in_english: bool = True) -> list[str]:
    """With a library where every search finds the passages of these sections, in this
    order.
    """
    reports = Reports(("Philippines", 2023), ("Philippines", 2021), ("Qatar", 2023))

    def search(query: str, scope: Scope) -> list[SearchHit]:
        return [found(section) for section in sections]

    questions = further_questions(
        found(cited).chunk,
        "Who votes?",
        Scope(),
        reports,
        search,
        in_english=in_english,
    )
    return [one.question for one in questions]


def test_short_headings_go_before_long_ones_and_parts_of_a_thing() -> None:
    long = "People who are older than others"
    assert asked(
        "Elections",
        "Legislative branch - upper chamber",
        long,
        "Executive branch",
        "Judicial branch",
    ) == [
        "What is the Philippines' executive branch?",
        "What is the Philippines' judicial branch?",
        "What is the Philippines' legislative branch (upper chamber)?",
    ]


def test_the_country_has_its_article_and_a_part_stands_in_brackets() -> None:
    assert asked("Exports - partners", "Exports - partners") == [
        "What were the Philippines' exports (partners) in the 2021 report?",
        "Compare the Philippines and Qatar: exports (partners)",
    ]
    assert (
        asked("(per capita)", "(per capita)")[0]
        == "What was the Philippines' (per capita) in the 2021 report?"
    )
    neutral = asked(
        "Exports - partners", "Exports - partners", "Executive branch", in_english=False
    )
    assert neutral == [
        "Philippines: exports (partners) (2021)",
        "Philippines, Qatar: exports (partners)",
        "Philippines: executive branch",
    ]


def test_what_any_report_has_is_not_asked_about() -> None:
    """It was: "What is Rwanda's summary?"."""
    only = ["What are the Philippines' elections?"]
    assert (
        asked("Background", "Executive Summary", "Elections", "Annex 2: Notes") == only
    )


@pytest.mark.parametrize("time", ["2024-05", "May 2024", "Q1", "Kenya, 2024"])
def test_a_time_is_not_asked_about(time: str) -> None:
    """It was: "Compare Yemen and Jordan: 2024-05"."""
    only = ["What are the Philippines' elections?"]
    assert asked(time, time, "2024-06", "Elections") == only
    first = first_questions("Cash", "Yemen", [time, "USD paid"], "en")
    assert first == ["What is “Cash” about?", "What is Yemen's USD paid?"]


def test_a_neighbour_is_compared_and_the_same_chapter_asked_about() -> None:
    about: dict[str, Value] = {"country_name": "Kenya", "year": 2025}
    sections = ("Economy › Inflation rate", "Land › Elevation", "Economy › Exports")
    hits = []
    for section in sections:
        chunk = Chunk(section, "d", 0, "text", "Kenya", section=section, metadata=about)
        hits.append(SearchHit(chunk))
    reports = Reports(("Kenya", 2025), ("Lebanon", 2025), ("Ethiopia", 2025))
    questions = further_questions(
        hits[0].chunk, "Inflation?", Scope(), reports, lambda words, scope: hits
    )
    assert [one.question for one in questions] == [
        "Compare Kenya and Ethiopia: inflation rate",
        "What are Kenya's exports?",
    ]
