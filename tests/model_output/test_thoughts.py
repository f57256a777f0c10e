"""What a model thought aloud never reaches a parser or a person (R-C8)."""

from __future__ import annotations

from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.model_output.thoughts import Spoken, without_thoughts

REPLIES = {
    "both tags": ("<think>hm</think>Yes", "Yes"),
    "around it": ("Yes.<think>hm</think> No.", "Yes. No."),
    "only the closing one": ("hm</think>Yes", "Yes"),
    "only the opening one": ("Yes<think>hm", "Yes"),
    "capitals": ("<THINK>hm</Think>Yes", "Yes"),
    "thinking": ("<thinking>hm</thinking>Yes", "Yes"),
    "blanks in the tag": ("<think >hm</think\n>Yes", "Yes"),
    "nested": ("<think>a<think>b</think>c</think>Yes", "Yes"),
    "the tag mentioned in a thought": ("<think>I am in <think> now</think>Yes", "Yes"),
    "twice": ("<think>a</think>Yes <think>b</think>and no", "Yes and no"),
    "empty": ("<think>\n\n</think>\n\nYes", "Yes"),
    "none": (" Yes ", "Yes"),
    "another tag": ("<thin>Yes</thin>", "<thin>Yes</thin>"),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_thoughts_are_taken_out(reply: str, expected: str) -> None:
    """002 item 4: the seed needs both tags."""
    assert without_thoughts(reply) == expected


@given(st.lists(st.sampled_from(["<think>", "</think>", "<THINKING>", "a", "\n", "<", "think>"])).map("".join))
def test_what_follows_the_last_closing_tag_is_not_lost(text: str) -> None:
    assert without_thoughts(f"{text}</think>said").endswith("said")


said = st.sampled_from(["Yes", " ", "\n", "<", "<th", "a < b", "</", ">", "1 <think about it"])
thoughts = st.sampled_from(["<think>hm</think>", "<THINKING>a < b</thinking >", "<think>\n<think>x</think>"])


@given(st.lists(said | thoughts).map("".join), st.lists(st.integers(1, 7), min_size=1))
def test_what_is_shown_while_it_is_written_is_the_same(reply: str, sizes: list[int]) -> None:
    """Apart from blanks around thoughts."""
    spoken, shown, left = Spoken(), "", reply
    for size in cycle(sizes):
        shown += spoken.hear(left[:size])
        left = left[size:]
        if not left:
            break
    assert "".join((shown + spoken.rest()).split()) == "".join(without_thoughts(reply).split())
