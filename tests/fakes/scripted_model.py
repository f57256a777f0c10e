"""What a language model says to the agents' prompts: ideal replies by stage, each of
which a test may replace. model = ScriptedModel(plan="no JSON at all",
reflect=['{"queries": ["Why?"]}', '{"queries": []}']) server.always(CHAT, model) ...
model.stages == ["plan", "relevance", "reflect", "answer"]
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from chatbot.models.prompts import render
from tests.fakes.openai_replies import Recorded, Reply

Said = str | Reply | Callable[[Recorded], str | Reply]
_STAGES = (
    "plan",
    "relevance",
    "reflect",
    "auto",
    "collections",
    "follow_up",
    "intermediate",
    "compare",
    "answer",
    "condense",
    "expand",
)
_VALUES = {"most": "4", "ways": "", "collections": "", "figures": ""}
_BEGINNINGS = {render(f"{stage}_system", **_VALUES)[:60]: stage for stage in _STAGES}
_REPAIR = "Your reply "
_PASSAGE = re.compile(r'<passage-\w+ number="(\d+)">')
_SIDE = re.compile(r"^- (.+): ([\d, ]+|none)$", re.MULTILINE)


class ScriptedModel:
    """Give it to `FakeOpenAI.always`. A list of replies is used up in order, its last
    one stays.
    """

    def __init__(self, **replies: Said | Sequence[Said]) -> None:
        unknown = set(replies) - set(_STAGES)
        assert not unknown, f"no such stage: {unknown}"
        self.stages: list[str] = []
        self._lock = threading.Lock()
        self._replies: dict[str, list[Said]] = {
            stage: [said]
            if isinstance(said, (str, Reply)) or callable(said)
            else list(said)
            for stage, said in replies.items()
        }

    @property
    def calls(self) -> Counter[str]:
        return Counter(self.stages)

    def __call__(self, request: Recorded) -> Reply:
        stage = stage_of(request)
        with self._lock:
            self.stages.append(stage)
            scripted = self._replies.get(stage)
            said: Said = (
                (scripted.pop(0) if len(scripted) > 1 else scripted[0])
                if scripted
                else _IDEAL[stage]
            )
        said = said(request) if callable(said) else said
        return said if isinstance(said, Reply) else Reply(pieces(said))


def ideal(request: Recorded) -> str:
    """What an unscripted stage says."""
    said = _IDEAL[stage_of(request)]
    said = said(request) if callable(said) else said
    assert isinstance(said, str)
    return said


def pieces(text: str) -> list[str]:
    """Word by word, as it is streamed."""
    return re.findall(r"\S+\s*|\s+", text) or [text]


def stage_of(request: Recorded) -> str:
    system = request.body["messages"][0]["content"]
    return next(
        stage
        for beginning, stage in _BEGINNINGS.items()
        if system.startswith(beginning)
    )


def asked(request: Recorded) -> str:
    """What the stage was asked: the last message, but for one that asks to repair the
    reply.
    """
    messages = request.body["messages"]
    return str(messages[1 if is_repair(request) else -1]["content"])


def is_repair(request: Recorded) -> bool:
    return bool(request.body["messages"][-1]["content"].startswith(_REPAIR))


def passages(request: Recorded) -> list[int]:
    """The numbers of the passages in the prompt."""
    return sorted(
        {
            int(n)
            for message in request.body["messages"]
            for n in _PASSAGE.findall(message["content"])
        }
    )


def _answer(request: Recorded) -> str:
    return (
        "The reports say so "
        + "".join(f"[{number}]" for number in passages(request)[:3])
        + "."
    )


def _table(request: Recorded) -> str:
    sides = dict(_SIDE.findall(asked(request)))
    cells = [
        f"so much [{numbers.split(',')[0]}]" if numbers != "none" else "—"
        for numbers in sides.values()
    ]
    rows = [["Aspect", *sides], ["---"] * (len(sides) + 1), ["What was asked", *cells]]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\nThey differ {cells[0] if cells else ''}."


_IDEAL: dict[str, Said] = {
    "plan": (
        '{"queries": ["What is the population growth rate?", "What is the '
        'population?"]}'
    ),
    "expand": '{"queries": ["inhabitants", "demography"]}',
    "relevance": lambda request: json.dumps({"numbers": passages(request)}),
    "reflect": '{"queries": []}',
    "auto": '{"choice": "deep"}',
    "collections": '{"numbers": [1]}',
    "follow_up": lambda request: (
        '{"enough": true, "question": ""}'
        if "Nothing yet." not in asked(request)
        else '{"enough": false, "question": "What is the population?"}'
    ),
    "intermediate": "52 million [1].",
    "compare": _table,
    "answer": _answer,
    "condense": lambda request: asked(request).rpartition("\n")[2],
}
