"""Ten questions for the sample reports, and what an ideal model says to plan each of
them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from chatbot.language.counts import estimate_tokens
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel, asked

WORDS = 25
"""Of each passage that is quoted in an answer."""
QUOTED = 6
"""Passages that an answer quotes."""
_PASSAGE = re.compile(
    r'<passage-\w+ number="(\d+)">\nReport: [^\n]*\nSection: [^\n]*\n(.*?)\n</passage-',
    re.DOTALL,
)
_SIDE = re.compile(r"^- (.+): ([\d, ]+|none)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """``finds``: what the passages found in mode deep have to say."""

    text: str
    parts: tuple[str, ...]
    gap: str
    chain: tuple[str, str]
    finds: tuple[str, ...]
    mode: str = "deep"


TASKS = (
    Task(
        "What is the population growth rate of Kenya in the 2023 report?",
        ("What is the population growth rate of Kenya in the 2023 report?",),
        "What are the birth rate and the death rate of Kenya in the 2023 report?",
        (
            "What is the population growth rate of Kenya in the 2023 report?",
            "What is the birth rate of Kenya in the 2023 report?",
        ),
        ("2.09%",),
        "direct",
    ),
    Task(
        (
            "How does the population growth rate of Kenya differ from that of Mali in "
            "the 2023 report?"
        ),
        (
            "What is the population growth rate of Kenya in the 2023 report?",
            "What is the population growth rate of Mali in the 2023 report?",
        ),
        "What is the total fertility rate of Mali in the 2023 report?",
        (
            "What is the population growth rate of Kenya in the 2023 report?",
            "What is the population growth rate of Mali in the 2023 report?",
        ),
        ("2.09%", "2.93%"),
        "compare",
    ),
    Task(
        "How did unemployment in Jordan change between the 2021 and the 2025 report?",
        (
            "What is the unemployment rate of Jordan in the 2021 report?",
            "What is the unemployment rate of Jordan in the 2025 report?",
        ),
        "What is the youth unemployment of Jordan in the 2025 report?",
        (
            "What is the unemployment rate of Jordan in the 2021 report?",
            "What is the unemployment rate of Jordan in the 2025 report?",
        ),
        ("19.1%", "18.2%"),
        "compare",
    ),
    Task(
        "Compare life expectancy in Nigeria, Ethiopia and Egypt in the 2023 report",
        tuple(
            f"What is the life expectancy at birth in {name} in the 2023 report?"
            for name in ("Nigeria", "Ethiopia", "Egypt")
        ),
        "What is the infant mortality rate of Nigeria in the 2023 report?",
        (
            "What is the life expectancy at birth in Nigeria in the 2023 report?",
            "What is the life expectancy in Egypt in the 2023 report?",
        ),
        ("61.8", "67.1", "74.7"),
        "compare",
    ),
    Task(
        (
            "What are the natural hazards, the main exports and the literacy rate of "
            "the Philippines in the 2023 report?"
        ),
        (
            "What are the natural hazards of the Philippines in the 2023 report?",
            "What are the main export goods of the Philippines in the 2023 report?",
            "What is the literacy rate of the Philippines in the 2023 report?",
        ),
        "Which volcanoes are active in the Philippines in the 2023 report?",
        (
            "What are the natural hazards of the Philippines in the 2023 report?",
            "What does the Philippines export in the 2023 report?",
        ),
        ("typhoon", "integrated circuits", "read and write"),
    ),
    Task(
        (
            "What is the life expectancy in the country with which Kenya shares its "
            "longest border?"
        ),
        ("How long are the land boundaries of Kenya in the 2023 report?",),
        "What is the life expectancy at birth in Ethiopia in the 2023 report?",
        (
            "How long are the land boundaries of Kenya in the 2023 report?",
            "What is the life expectancy in Ethiopia in the 2023 report?",
        ),
        ("867 km", "67.1"),
        "chain",
    ),
    Task(
        (
            "Who is the chief of state of the country from which most refugees in "
            "Lebanon come?"
        ),
        ("From which countries do the refugees in Lebanon come in the 2023 report?",),
        "Who is the chief of state of Syria in the 2023 report?",
        (
            "From which countries do the refugees in Lebanon come in the 2023 report?",
            "Who is chief of state of Syria in the 2023 report?",
        ),
        ("(Syria)", "ASAD"),
        "chain",
    ),
    Task(
        (
            "Why is food short in Yemen in the 2023 report, and how many people are "
            "displaced?"
        ),
        (
            "What causes food insecurity in Yemen in the 2023 report?",
            (
                "How many internally displaced persons are there in Yemen in the 2023 "
                "report?"
            ),
        ),
        "What is the background of the civil war in Yemen in the 2023 report?",
        (
            "What causes food insecurity in Yemen in the 2023 report?",
            "How many people are displaced in Yemen in the 2023 report?",
        ),
        ("food", "IDPs"),
    ),
    Task(
        (
            "Which languages are spoken in Nepal in the 2023 report, and who buys "
            "Ukraine's exports in the 2023 report?"
        ),
        (
            "Which languages are spoken in Nepal in the 2023 report?",
            "Who buys the exports of Ukraine in the 2023 report?",
        ),
        "Which goods does Ukraine export in the 2023 report?",
        (
            "Which languages are spoken in Nepal in the 2023 report?",
            "Who buys the exports of Ukraine in the 2023 report?",
        ),
        ("Nepali", "Poland"),
    ),
    Task(
        (
            "Write a report on electricity, water and health in Bangladesh and "
            "Pakistan in the 2023 report"
        ),
        (
            "How many people have electricity in Bangladesh in the 2023 report?",
            "How many people have electricity in Pakistan in the 2023 report?",
            (
                "What are the drinking water sources in Bangladesh and Pakistan in the "
                "2023 report?"
            ),
            (
                "What is the health expenditure of Bangladesh and Pakistan in the 2023 "
                "report?"
            ),
        ),
        "What is the physicians density of Pakistan in the 2023 report?",
        (
            "How many people have electricity in Bangladesh in the 2023 report?",
            "What are the water sources in Pakistan in the 2023 report?",
        ),
        ("electrification", "improved"),
    ),
)


class IdealModel:
    """Give it to `FakeOpenAI.always`: plans as the task says, calls every passage
    relevant, quotes, and counts tokens.

    The first reflection finds a gap and the second none; a chain has two rounds and
    then enough.
    """

    def __init__(self, task: Task) -> None:
        self._model = ScriptedModel(
            plan=_json(queries=task.parts),
            reflect=[_json(queries=[task.gap]), _json(queries=[])],
            auto=_json(choice=task.mode),
            follow_up=[
                *(_json(enough=False, question=question) for question in task.chain),
                _json(enough=True, question=""),
            ],
            intermediate=lambda request: _quotes(request, 1),
            answer=lambda request: _quotes(request, QUOTED),
            compare=_table,
        )

    def __call__(self, request: Recorded) -> Reply:
        reply = self._model(request)
        read = sum(
            estimate_tokens(message["content"]) for message in request.body["messages"]
        )
        return replace(
            reply,
            prompt_tokens=read,
            completion_tokens=estimate_tokens("".join(reply.pieces)),
        )


def _json(**fields: object) -> str:
    return json.dumps(fields)


def _first_words(request: Recorded) -> dict[str, str]:
    return {
        number: " ".join(text.replace("|", "/").split()[:WORDS])
        for number, text in _PASSAGE.findall(asked(request))
    }


def _quotes(request: Recorded, most: int) -> str:
    return "\n\n".join(
        f"{text} [{number}]"
        for number, text in list(_first_words(request).items())[:most]
    )


def _table(request: Recorded) -> str:
    words, sides = _first_words(request), dict(_SIDE.findall(asked(request)))
    firsts = [numbers.split(",")[0] for numbers in sides.values()]
    cells = [
        f"{words[number]} [{number}]" if number in words else "—" for number in firsts
    ]
    rows = [["Aspect", *sides], ["---"] * (len(sides) + 1), ["What was asked", *cells]]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{_quotes(request, len(sides))}"
