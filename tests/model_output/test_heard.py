"""A reply while it comes, and what it has cost, in the four places that count (R-C7)."""

from __future__ import annotations

import pytest

from chatbot.errors import TIMEOUT, ChatModelError
from chatbot.model_output.heard import Heard
from chatbot.schema import Context, Delta, Message, Prompt, Usage
from chatbot.text import estimate_tokens

QUESTION = "How many people live in Kenya?"
ASKED = estimate_tokens(QUESTION)


def heard(*deltas: Delta) -> Heard:
    reply = Heard(Prompt((Message("user", QUESTION),), QUESTION, Context()))
    for delta in deltas:
        reply.hear(delta)
    return reply


def test_a_server_that_counts_anew_with_every_piece_is_not_added_up() -> None:
    assert heard(Delta("a", Usage(9, 1, calls=1)), Delta("b", Usage(9, 2, calls=1))).usage == Usage(9, 2, calls=1)


def test_without_a_count_it_is_estimated() -> None:
    assert heard(Delta("fifty "), Delta("million")).usage == Usage(ASKED, estimate_tokens("fifty million"), calls=1)


def test_what_came_from_the_cache_was_no_call() -> None:
    assert heard(Delta("fifty", Usage(cached_calls=1))).usage == Usage(cached_calls=1)


@pytest.mark.parametrize(
    ("deltas", "reason", "expected"),
    [
        ([], "", Usage(calls=1, failed_calls=1)),
        ([Delta("")], "", Usage(calls=1, failed_calls=1)),
        ([], TIMEOUT, Usage(ASKED, estimate_tokens(""), calls=1, failed_calls=1)),
        ([Delta("fifty")], "", Usage(ASKED, estimate_tokens("fifty"), calls=1, failed_calls=1)),
        ([Delta("fifty", Usage(9, 1, calls=1))], "", Usage(9, 1, calls=1, failed_calls=1)),
        ([Delta("", Usage(9, 8, calls=1))], "", Usage(9, 8, calls=1, failed_calls=1)),
    ],
    ids=[
        "refused",
        "refused after an empty piece",
        "too slow",
        "broke off",
        "broke off, counted",
        "broke off in its thoughts",
    ],
)
def test_of_a_failed_call_what_came_is_paid_for(deltas: list[Delta], reason: str, expected: Usage) -> None:
    assert heard(*deltas).usage_of_failed(ChatModelError("It failed.", reason=reason)) == expected


def test_half_a_character_waits_for_its_other_half() -> None:
    reply = heard()
    assert [reply.hear(Delta(piece)) for piece in ("a\ud83d", "\ude00b", "\ude00", "c\ud83d")] == [
        "a",
        "\U0001f600b",
        "\ufffd",
        "c",
    ]
    assert reply.text == "a\U0001f600b\ufffdc"
