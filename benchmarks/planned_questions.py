"""What a language model that plans gets to read: whether all that an answer needs is
in its prompt, and what the calls cost: `context` of `benchmarks questions`.

`planned_calls.json` has for each question of the folder (`model_questions4`) the calls
of a model that knows the tools and not the answer, written by hand, and what the answer
needs: figures and names, with | between spellings. A scripted server makes these calls.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot.answering.conversation import Place
from chatbot.app.services import Services, build
from chatbot.app.web.asking import ChatRequest
from chatbot.app.web.routes import services
from chatbot.domain import TokenEvent
from chatbot.domain.callers import ANYBODY
from chatbot.domain.cancellation import Cancellation
from chatbot.language.counts import estimate_tokens
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.openai_server import CHAT, FakeOpenAI

Json = dict[str, Any]
PLANS: Mapping[str, Json] = json.loads(
    (Path(__file__).parent / "planned_calls.json").read_text(encoding="utf-8")
)
ENDING = '{"answered": true, "missing": []}'


class PlannedModel:
    """Makes the calls of one question, round by round, then answers what is right."""

    def __init__(self) -> None:
        self.rounds: list[Any] = []
        self.right = ""

    def __call__(self, request: Recorded) -> Reply:
        if request.body.get("tool_choice") != "required":
            return Reply([self._written(request)])
        called = self.rounds.pop(0) if self.rounds else [{"tool": "answer"}]
        named = []
        for call in called:
            arguments = {name: value for name, value in call.items() if name != "tool"}
            named.append((call["tool"], arguments))
        return Reply(tool_calls=tuple(named))

    def _written(self, request: Recorded) -> str:
        shape = request.body.get("response_format", {}).get("json_schema", {})
        if shape.get("name") != "outline":
            return f"{self.right} [1][2][3].\n{ENDING}"
        sections = []
        for call in self.rounds[0]:
            for query in call.get("queries", ()):
                sections.append({"title": query, "question": query})
        return json.dumps({"title": "Report", "sections": sections})


def questions(folder: Path) -> Iterator[tuple[str, str, str, str, bool]]:
    """Yield the id, mode, words and right answer of each question with a plan, and
    whether a conversation goes on with it.
    """
    data = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    for one in data["single"]:
        yield one["id"], one["mode"], one["query"], one["right"], False
    for conversation in data["conversations"]:
        for place, turn in enumerate(conversation["turns"], start=1):
            name = f"{conversation['id']}.{place}"
            yield name, "direct", turn["query"], turn["right"], place > 1


def lacking(needs: Sequence[str], prompt: str) -> list[str]:
    """Return what of the needs does not stand in a prompt."""
    missing = []
    for need in needs:
        spellings = [re.escape(spelling) for spelling in need.split("|")]
        if not re.search(rf"(?<![\d.,])(?:{'|'.join(spellings)})", prompt):
            missing.append(need)
    return missing


def context(folder: Path, tally: Any) -> Iterator[Any]:
    """Yield the tally of all questions with a plan, after their costs by kind."""
    costs: dict[str, list[tuple[int, int, int]]] = {}
    model = PlannedModel()
    with FakeOpenAI() as server:
        server.always(CHAT, model)
        # Other work on the machine ends no search.
        patient = {"search_seconds": 600.0, "budget_seconds": 6000.0}
        led = {"planner": "model", "verify": "off", **patient}
        settings = services().settings.override(**server.as_settings).override(**led)
        with build(settings) as opened:
            place = Place(kept=True)
            for name, mode, query, right, goes_on in questions(folder):
                plan = PLANS.get(name)
                if plan is None:
                    continue
                model.rounds = list(plan["calls"])
                model.right = right
                before = server.calls(CHAT)
                place = answer(opened, query, mode, place if goes_on else Place())
                prompts = [_told(one) for one in server.received(CHAT)[before:]]
                # The sections of a report have a prompt each.
                read = "\n".join(prompts) if mode == "report" else prompts[-1]
                missing = lacking(plan["needs"], read.replace("\u00a0", " "))
                shown = f"{name} {query} lacks {missing}"
                tally.add(shown, recall=not missing)
                kind = "follow-up" if goes_on else _kind(mode)
                costs.setdefault(kind, []).append(_cost(server, before, prompts))
    for kind, rows in costs.items():
        calls = statistics.mean(row[0] for row in rows)
        tokens = statistics.mean(row[1] for row in rows)
        fixed = statistics.mean(row[2] for row in rows)
        print(
            f"{kind} ({len(rows)}): calls {calls:.1f}, tokens {tokens:.0f} beside "
            f"{fixed:.0f} of rules, tools and library"
        )
    yield tally


def first_words(folder: Path, tally: Any) -> Iterator[Any]:
    """Print the median seconds to the first word by PLANNER=rules and by a model that
    answers each call in .3 s, over the simple questions.
    """
    model = PlannedModel()

    def slowly(request: Recorded) -> Reply:
        return replace(model(request), silent_before=0.3)

    simple = [one for one in questions(folder) if one[1] == "direct"]
    with FakeOpenAI() as server:
        server.always(CHAT, slowly)
        for planner in ("rules", "model"):
            changed = {"planner": planner, "verify": "off"}
            settings = services().settings.override(**server.as_settings)
            with build(settings.override(**changed)) as opened:
                waits = []
                for name, mode, query, right, goes_on in simple:
                    plan = PLANS.get(name)
                    if plan is None or goes_on or len(plan["calls"]) > 1:
                        continue
                    model.rounds = list(plan["calls"])
                    model.right = right
                    waits.append(_first_word(opened, query, mode))
                median = statistics.median(waits)
                print(f"PLANNER={planner}: first word after {median:.2f} s (median)")
    yield tally


def _first_word(opened: Services, query: str, mode: str) -> float:
    """Ask, and return the seconds until the first word."""
    body = ChatRequest(query=query, mode=mode, cache=False)
    question = body.to_question(opened, ANYBODY.limit)
    started = time.perf_counter()
    waits: list[float] = []

    def send(event: object) -> None:
        if isinstance(event, TokenEvent):
            waits.append(time.perf_counter() - started)

    opened.chat.answer(question, cancel=Cancellation(), send=send)
    return waits[0]


def answer(opened: Services, query: str, mode: str, place: Place) -> Place:
    """Ask, and return the place of the next question of the conversation."""
    body = ChatRequest(query=query, mode=mode, cache=False)
    question = body.to_question(opened, ANYBODY.limit)
    saved = opened.chat.answer(question, cancel=Cancellation(), place=place)
    assert saved is not None, "nobody cancels it"
    return Place(conversation_id=saved.conversation_id)


def _kind(mode: str) -> str:
    return "simple" if mode == "direct" else mode


def _told(request: Recorded) -> str:
    return "\n".join(str(one["content"]) for one in request.body["messages"])


def _cost(
    server: FakeOpenAI, before: int, prompts: Sequence[str]
) -> tuple[int, int, int]:
    """Return the calls of a question, the tokens of its prompts beside what is fixed,
    and those of what is fixed: rules, library and tools.
    """
    requests = server.received(CHAT)[before:]
    fixed = 0
    for request in requests:
        messages = request.body["messages"][:3]
        tools = json.dumps(request.body.get("tools", ()))
        fixed += estimate_tokens(tools)
        fixed += sum(estimate_tokens(str(one["content"])) for one in messages)
    read = 0
    for request in requests:
        for one in request.body["messages"][3:]:
            read += estimate_tokens(str(one["content"]))
    return len(requests), read, fixed
