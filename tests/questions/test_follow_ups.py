"""Follow-ups by rule: which slots of a message are open, and what of the conversation
fills them.
"""

from collections.abc import Sequence

import pytest

from chatbot.domain import Message, Scope
from chatbot.domain.chat import Cited
from chatbot.language.analysis import analyzer
from chatbot.questions.follow_ups import MAX_CHARACTERS, MAX_THING_WORDS, FollowUps
from tests.data import cases
from tests.questions.reports import REPORTS, Reports, scope

CASES = cases(__file__)

GROWTH = "What is the population growth rate of Kenya in 2023?"
THINGS = {
    "inflation",
    "exports",
    "terrain",
    "rail",
    "area",
    "capital",
    "internet",
    "population",
    "growth",
    "debt",
}


def names_a_thing(words: str, headings: Sequence[str]) -> bool:
    return bool(THINGS.intersection(words.lower().split())) and not any(
        words in heading for heading in headings
    )


def has_figure(headings: Sequence[str]) -> bool:
    return headings[0] != "Capital"


def follow_ups(reports: Reports = REPORTS) -> FollowUps:
    return FollowUps(analyzer("english"), reports, names_a_thing, has_figure)


def standalone(*said: str, scope: Scope = Scope(), reports: Reports = REPORTS) -> str:  # noqa: B008
    history = [Message("user", text) for text in said[:-1]]
    return follow_ups(reports).by_rule(said[-1], history, scope)


STANDALONE = [
    (about, *case) for about, several in CASES["standalone"].items() for case in several
]


@pytest.mark.parametrize(("about", "said", "expected"), STANDALONE)
def test_a_message_after_others_is_a_question_of_its_own(
    about: str, said: list[str], expected: str
) -> None:
    assert standalone(*said) == expected, about


def test_a_part_of_what_was_cited_is_no_thing_of_its_own() -> None:
    history = [
        Message("user", "What is the population of Mali?"),
        Message("assistant", "It is 1."),
    ]
    assert follow_ups().by_rule("growth?", history, Scope()) == "Growth in Mali?"
    history[1] = Message(
        "assistant", "It is 1.", cited=Cited(("Mali",), ("Population growth",))
    )
    assert (
        follow_ups().by_rule("growth?", history, Scope())
        == "growth? (population in Mali)"
    )


RANKING = "Which country has the highest inflation?"
OF_TWO = "Compare the GDP of Kenya and Mali"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            [RANKING, "and the average?"],
            "What is the average inflation of all countries?",
        ),
        (
            [OF_TWO, "and the average?"],
            "What is the average GDP of Kenya and Mali together?",
        ),
        (
            [OF_TWO, "and the average?", "and the highest?"],
            "Which of Kenya and Mali has the highest GDP?",
        ),
        ([OF_TWO, "What does longtest mean?"], "What does longtest mean?"),
        ([OF_TWO, "?"], "?"),
        (
            [OF_TWO, "?", "and the lowest?"],
            "Which of Kenya and Mali has the lowest GDP?",
        ),
    ],
)
def test_the_average_and_the_end_of_what_was_talked_about(
    said: list[str], expected: str
) -> None:
    assert standalone(*said) == expected


SERIES = "How has Kenya's inflation changed since 2019?"


@pytest.mark.parametrize(
    "said",
    [
        [SERIES, "and the lowest?"],
        [SERIES, "in which year was it lowest?"],
        [SERIES, "and the highest?", "and the lowest?"],
    ],
)
def test_the_end_of_a_series_is_one_of_its_years(said: list[str]) -> None:
    expected = "How has Kenya's inflation changed since 2019: in which year lowest?"
    assert standalone(*said) == expected


@pytest.mark.parametrize("said", ["and the lowest?", "and the average?"])
def test_what_has_no_figure_has_no_end_and_no_average(said: str) -> None:
    history = [
        Message("user", "What is the capital of Mali?"),
        Message("assistant", "Bamako", cited=Cited(("Mali",), ("Capital",))),
    ]
    assert follow_ups().by_rule(said, history, Scope()) == said


def test_a_country_without_a_name_is_that_of_the_citations() -> None:
    cited = Cited(("Mali",), ("Exchange rates",))
    history = [
        Message("user", "How many francs to the dollar?"),
        Message("assistant", "500", cited=cited),
    ]
    assert follow_ups().by_rule("and exports?", history, Scope()) == "Exports in Mali?"
    assert (
        follow_ups().by_rule("over the years?", history, Scope())
        == "How many francs to the dollar in Mali over the years?"
    )
    several = Message(
        "assistant", "Mali, Kenya", cited=Cited(("Mali", "Kenya"), ("Area",))
    )
    history = [Message("user", "Which country is the largest?"), several]
    assert (
        follow_ups().by_rule("what is its capital?", history, Scope())
        == "what is its capital? (Mali)"
    )


def test_a_stored_question_is_not_read_again() -> None:
    history = [
        Message("user", "and there?", standalone="What is the debt of Mali?"),
        Message("assistant", "1"),
    ]
    assert (
        follow_ups().by_rule("in 2021?", history, Scope())
        == "What is the debt of Mali in 2021?"
    )


def test_a_chosen_scope_is_not_overruled() -> None:
    mali = scope(country_name="Mali")
    assert "Kenya" not in standalone(GROWTH, "and unemployment", scope=mali)
    assert standalone(GROWTH, "What is the area?", scope=mali) == "What is the area?"
    assert (
        standalone(GROWTH, "why?", scope=scope(year=2021))
        == "why? (population growth rate in Kenya)"
    )


def test_without_countries_in_the_data_the_topic_is_all_there_is() -> None:
    plain = Reports(("", 0))
    assert (
        standalone("What is chunking?", "and overlap?", reports=plain)
        == "and overlap? (chunking)"
    )
    complete = "How many people use the internet?"
    assert standalone(GROWTH, complete, reports=plain) == complete
    assert "dedicated host" in standalone(
        "What is a dedicated host?", "And how do I create one?", reports=plain
    )


def test_a_follow_up_takes_over_a_bounded_thing() -> None:
    words = " ".join(f"word{number}" for number in range(500))
    assert len(standalone(words, "why?").split()) == 1 + MAX_THING_WORDS
    assert "zebra" not in standalone("x " * MAX_CHARACTERS + "zebra", "why?")
