"""Questions, choices and numbers in whatever a model wrote; the tables name
where such replies were seen. What is asked for again, though it could be read: numbers
and choices within sentences ("passages 1 and 3 help", "I would pick 2"), numbers with
reasons, "Enough: no" on a line, questions under numbered keys, quotes inside of quotes,
a list whose brackets do not match (R-C3, R-C9).
"""

import json

import pytest

from chatbot.models.replies import choice, follow_up, numbers, prose, queries
from chatbot.models.replies.readers import MAX_QUESTION_CHARACTERS
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize(
    ("reply", "expected"), CASES["queries"].values(), ids=CASES["queries"]
)
def test_queries_are_read_from_any_reply(
    reply: str, expected: list[str] | None
) -> None:
    assert queries(4).read(reply) == expected


def test_a_text_is_never_taken_letter_by_letter() -> None:
    """002 item 3, prime-envs PR 87."""
    assert queries(4).read('"What is A?"') == ["What is A?"]
    assert queries(4).read('{"queries": "AB"}') == ["AB"]


def test_a_long_question_ends_at_a_word() -> None:
    (query,) = queries(4).read(json.dumps(["word " * 200])) or []
    assert len(query) <= MAX_QUESTION_CHARACTERS
    assert query.endswith("word")


NAMES = ("direct", "deep", "chain of questions")


@pytest.mark.parametrize(
    ("reply", "expected"), CASES["choices"].values(), ids=CASES["choices"]
)
def test_a_choice_is_read_from_any_reply(reply: str, expected: int | None) -> None:
    """Deep-searcher 99: int() of a reasoning answer, "0" as the last agent, "10" as
    0.
    """
    assert choice(NAMES).read(reply) == expected


def test_the_repair_names_what_may_be_chosen() -> None:
    assert "one of: direct, deep, chain of questions" in choice(NAMES).repair


@pytest.mark.parametrize(
    ("reply", "expected"), CASES["numbers"].values(), ids=CASES["numbers"]
)
def test_numbers_are_read_from_any_reply(
    reply: str, expected: list[int] | None
) -> None:
    assert numbers(5).read(reply) == expected


def test_what_is_said_after_an_unreadable_reply_has_no_number_out_of_range() -> None:
    assert '{"numbers": [1]}, with numbers from 1 to 1' in numbers(1).repair


@pytest.mark.parametrize(
    ("reply", "expected"), CASES["follow_ups"].values(), ids=CASES["follow_ups"]
)
def test_a_follow_up_is_read_from_any_reply(reply: str, expected: str | None) -> None:
    assert follow_up().read(reply) == expected


def test_prose_is_whatever_is_said_without_thoughts() -> None:
    assert prose().read("<think>hm</think> Two million [1].") == "Two million [1]."
    assert prose().read("<think>endless") is None
    assert prose().schema is None
