"""The parts of a question: a later one without a country or a noun has those of the first."""

from __future__ import annotations

import pytest

from chatbot.questions.reading import read_names
from chatbot.questions.sides import sub_questions
from tests.questions.reports import MANY


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("What is the area of Mali? Who is the president?", "Who is the president in Mali?"),
        ("What is the GDP of Kenya and how fast does it grow?", "How fast does it grow? (GDP in Kenya)"),
        ("Who is the president of Mali and when was he elected?", "When was he elected? (president in Mali)"),
        ("What is the area of Mali and what does Kenya export?", "What does Kenya export?"),
    ],
)
def test_a_second_question(text: str, second: str) -> None:
    assert sub_questions(read_names(text, MANY), lambda topic: [topic])[1] == second
