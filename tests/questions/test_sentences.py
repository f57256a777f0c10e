"""Messages that ask nothing."""

from __future__ import annotations

import pytest

from chatbot.questions.kinds import is_small_talk


@pytest.mark.parametrize(
    "text", ["hello", "Hi!", "thanks", "Thank you very much!", "ok, thanks, bye", "Good morning", "How are you?"]
)
def test_a_greeting(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "OK, how is it today?",
        "Great, how was it later?",
        "ok is it good?",
        "hello Kenya",
        "hi, how many people live there?",
        "ok, and Mali?",
        "how are exports?",
        "and why?",
    ],
)
def test_a_question(text: str) -> None:
    assert not is_small_talk(text)
