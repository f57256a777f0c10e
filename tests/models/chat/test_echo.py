"""The model of the tests: predictable."""

from __future__ import annotations

from chatbot.domain import Delta, Usage
from chatbot.domain.request import RequestContext
from chatbot.models.chat import EchoChatModel
from tests.models.chat.conftest import passage, prompt


def test_it_repeats_the_question_and_cites_every_passage() -> None:
    asked = prompt("Why so?", passage(1, "a"), passage(2, "b"))
    deltas = list(EchoChatModel().stream(asked, request=RequestContext()))
    assert deltas[:-1] == [Delta("You"), Delta(" asked:"), Delta(" Why"), Delta(" so?"), Delta(" [1][2]")]
    # "Use only the passages." and "Why so?": an estimate of 6 and 3 tokens
    assert deltas[-1] == Delta("", Usage(prompt_tokens=9, completion_tokens=5, calls=1))
