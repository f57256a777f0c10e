"""How much of a question a passage has: words, numbers, and a number where one is
asked.
"""

import pytest

from chatbot.domain import Chunk, SearchHit
from chatbot.language.analysis import analyzer
from chatbot.search.coverage import has_all, missing_numbers, texts_of
from tests.search.test_relevance import judge, read

TERMS = analyzer("english").terms
MINUTES = Chunk(
    "a",
    "d",
    "minutes-2013.md",
    "Minutes of Lower Marsh 2013",
    "The bench near gate P2 was painted. Three residents thanked the council.",
    section="Benches",
)


@pytest.mark.parametrize(
    ("question", "covers"),
    [
        ("How many residents thanked the council?", True),
        ("How many residents thanked the dentist?", False),
        ("Who painted the bench in 2013?", True),
        ("Who painted the bench in 2019?", False),
        ("Who painted it?", False),
    ],
)
def test_a_passage_covers_a_question_with_all_its_words_and_numbers(
    question: str, covers: bool
) -> None:
    assert has_all(read(question), MINUTES, TERMS) is covers


def test_a_year_that_no_passage_has_is_named_and_one_digit_is_not() -> None:
    texts = texts_of(MINUTES)
    question = read("What were the 3 costs in 2013, 2019 and 1,200 others?")
    assert missing_numbers(question, texts) == ["2019", "1200"]


def test_the_end_of_a_period_of_two_years_need_not_be_written_alike() -> None:
    report = ["Annual report 2020 - 2021"]
    assert missing_numbers(read("Who was treasurer in 2020-21?"), report) == []
    assert missing_numbers(read("Who came in 2020-05?"), report) == ["05"]
    assert missing_numbers(read("Who was treasurer in 2021?"), report) == []


def test_how_many_is_answered_by_a_number_and_no_name_is_one() -> None:
    text = "Benches near gate P2 were painted by the council of Lower Marsh."
    chunk = Chunk("a", "d", "r.md", "Rules", text, section="Benches")
    found = [SearchHit(chunk, score=0.72)]
    who = read("Who painted the benches of Lower Marsh?")
    how_many = read("How many benches were painted by the council of Lower Marsh?")
    assert judge().verdict(who, found) == "answers"
    assert judge().verdict(how_many, found) == "closest"


def test_a_passage_with_all_that_is_asked_answers_however_far_it_is() -> None:
    text = "The clerk keeps the keys. Visitors ring. By night the porter has them."
    chunk = Chunk("a", "d", "r.md", "Rules", text, section="Keys")
    question = read("By night, do visitors ring the porter?")
    assert judge().verdict(question, [SearchHit(chunk, score=0.61)]) == "answers"
    other = read("By night, do visitors ring the dentist?")
    assert judge().verdict(other, [SearchHit(chunk, score=0.61)]) != "answers"
