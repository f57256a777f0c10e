"""Questions inside of questions: a country by its rank, and bounds of named ones."""

import pytest

from chatbot.questions.nested import bound_of_named, country_of_ranking
from chatbot.questions.reading import read_names
from tests.questions.reports import Reports

CATALOG = Reports(("Kenya", 2025), ("Peru", 2025))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the capital of the largest country?", "the largest country"),
        (
            "How many people live in the country with the most airports?",
            "the country with the most airports",
        ),
        ("Which is the largest country?", ""),
        ("What is the capital of Kenya?", ""),
    ],
)
def test_a_country_meant_by_its_rank(question: str, words: str) -> None:
    assert country_of_ranking(question) == words


@pytest.mark.parametrize(
    ("question", "above", "negated"),
    [
        ("Which countries are larger than Kenya?", True, False),
        ("Which countries have fewer people than Peru?", False, False),
        ("Which countries are not larger than Peru?", True, True),
    ],
)
def test_bounds_of_named_countries(question: str, above: bool, negated: bool) -> None:
    bound = bound_of_named(read_names(question, CATALOG), "Kenya")
    assert bound is not None
    assert (bound.above, bound.negated, bound.of) == (above, negated, "Kenya")


@pytest.mark.parametrize(
    "question",
    ["Is Kenya larger than Peru?", "Which countries border Peru?", "Kenya\u2019s area"],
)
def test_other_questions_have_no_bound_of_a_country(question: str) -> None:
    assert bound_of_named(read_names(question, CATALOG)) is None
