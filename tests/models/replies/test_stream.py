"""A reply while it comes, and what it has cost, in the four places that count
(R-C7).
"""

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.domain import Context, Delta, Message, Prompt, Usage
from chatbot.domain.errors import TIMEOUT, ChatModelError
from chatbot.language.counts import estimate_tokens
from chatbot.models.replies.stream import Reply, ThoughtFilter, without_thoughts
from tests.data import cases

CASES = cases(__file__)

QUESTION = "How many people live in Kenya?"
ASKED = estimate_tokens(QUESTION)


def response(*deltas: Delta) -> Reply:
    reply = Reply(Prompt((Message("user", QUESTION),), QUESTION, Context()))
    for delta in deltas:
        reply.add(delta)
    return reply


def test_a_server_that_counts_anew_with_every_piece_is_not_added_up() -> None:
    assert response(
        Delta("a", Usage(9, 1, calls=1)), Delta("b", Usage(9, 2, calls=1))
    ).usage == Usage(9, 2, calls=1)


def test_without_a_count_it_is_estimated() -> None:
    assert response(Delta("fifty "), Delta("million")).usage == Usage(
        ASKED, estimate_tokens("fifty million"), calls=1
    )


def test_what_came_from_the_cache_was_no_call() -> None:
    assert response(Delta("fifty", Usage(cached_calls=1))).usage == Usage(
        cached_calls=1
    )


@pytest.mark.parametrize(
    ("deltas", "reason", "expected"),
    [
        ([], "", Usage(calls=1, failed_calls=1)),
        ([Delta("")], "", Usage(calls=1, failed_calls=1)),
        ([], TIMEOUT, Usage(ASKED, estimate_tokens(""), calls=1, failed_calls=1)),
        (
            [Delta("fifty")],
            "",
            Usage(ASKED, estimate_tokens("fifty"), calls=1, failed_calls=1),
        ),
        (
            [Delta("fifty", Usage(9, 1, calls=1))],
            "",
            Usage(9, 1, calls=1, failed_calls=1),
        ),
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
def test_of_a_failed_call_what_came_is_paid_for(
    deltas: list[Delta], reason: str, expected: Usage
) -> None:
    assert (
        response(*deltas).usage_of_failed(ChatModelError("It failed.", reason=reason))
        == expected
    )


def test_half_a_character_waits_for_its_other_half() -> None:
    reply = response()
    assert [
        reply.add(Delta(piece)) for piece in ("a\ud83d", "\ude00b", "\ude00", "c\ud83d")
    ] == [
        "a",
        "\U0001f600b",
        "\ufffd",
        "c",
    ]
    assert reply.text == "a\U0001f600b\ufffdc"


# What a model thought aloud never reaches a parser or a person (R-C8).


REPLIES = {
    **CASES["replies"],
    "empty": ("<think>\n\n</think>\n\nYes", "Yes"),
    "harmony": (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes",
        "Yes",
    ),
    "control tokens": ("[INST]Yes[/INST], it is<|im_end|></s>", "Yes, it is"),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_thoughts_are_taken_out(reply: str, expected: str) -> None:
    """002 item 4: the seed needs both tags."""
    assert without_thoughts(reply) == expected


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<THINKING>", "a", "\n", "<", "think>"])
    ).map("".join)
)
def test_what_follows_the_last_closing_tag_is_not_lost(text: str) -> None:
    assert without_thoughts(f"{text}</think>said").endswith("said")


said = st.sampled_from(
    ["Yes", " ", "\n", "<", "<th", "a < b", "</", ">", "1 <think about it"]
)
harmony = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>"  # noqa: E501
thoughts = st.sampled_from(
    [
        "<think>hm</think>",
        "<THINKING>a < b</thinking >",
        "<think>\n<think>x</think>",
        harmony,
        "<|im_end|>",
        "[INST]",
    ]
)


@given(st.lists(said | thoughts).map("".join), st.lists(st.integers(1, 7), min_size=1))
def test_what_is_shown_while_it_is_written_is_the_same(
    reply: str, sizes: list[int]
) -> None:
    """Apart from blanks around thoughts."""
    spoken, shown, left = ThoughtFilter(), "", reply
    for size in cycle(sizes):
        shown += spoken.add(left[:size])
        left = left[size:]
        if not left:
            break
    assert "".join((shown + spoken.rest()).split()) == "".join(
        without_thoughts(reply).split()
    )
