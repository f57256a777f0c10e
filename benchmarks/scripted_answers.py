"""What the chat model says to one recorded request: an ideal reply, a failure, or
nothing until the client has left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from benchmarks.agent_questions import TASKS, IdealModel, Task
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import stage_of

STALL_SECONDS = 60.0
PAUSE_SECONDS = 2.0
"""Shorter than the time limit of the model in `benchmarks.recorded`."""
PIECES_BEFORE_STALL = 1
UNSCRIPTED = "unscripted"
"""The stage of a prompt that belongs to none of those that have a script."""
WRITING = {"answer", "compare", UNSCRIPTED}
"""The stages that write what the person reads."""
_UNSCRIPTED = Reply(("The passages do not say so.",))
FAILURES: dict[str, Reply] = {
    "bad request": Reply(status=400),
    "too long": Reply(
        status=400, error={"message": "too long", "code": "context_length_exceeded"}
    ),
    "wrong key": Reply(status=401),
    "no credit": Reply(status=402),
    "forbidden": Reply(status=403),
    "no such model": Reply(status=404, error={"message": "The model does not exist"}),
    "request timeout": Reply(status=408),
    "conflict": Reply(status=409),
    "too large": Reply(status=413),
    "unprocessable": Reply(status=422, body={"detail": "temperature is unknown"}),
    "rate limit": Reply(status=429, headers={"Retry-After": "7"}),
    "quota": Reply(
        status=429, error={"message": "no quota", "code": "insufficient_quota"}
    ),
    "server error": Reply(status=500),
    "bad gateway": Reply(status=502, body="<html>bad gateway</html>"),
    "unavailable": Reply(status=503, headers={"Retry-After": "3"}),
    "overloaded": Reply(status=529),
    "connection lost": Reply(("half",), ending="drop"),
    "error event": Reply(("half",), ending="error"),
    "cut off": Reply(("half",), ending="cut"),
    "broken event": Reply(raw=b"data: {broken\n\n", body={"choices": "broken"}),
    "broken stream": Reply(raw=b"data: {broken\n\n"),
    "a page": Reply(raw=b"<html>login</html>"),
    "comments only": Reply(raw=b": nothing\n\n"),
    "no completion": Reply(body={"object": "list", "data": []}),
    "no words": Reply(()),
    "blank": Reply((" ", "\n")),
    "too many words": Reply(("half an", " answer"), finish_reason="length"),
    "refused": Reply(("I",), finish_reason="content_filter"),
    "silent": Reply(silent_before=STALL_SECONDS),
    "silent after a word": Reply(("half",), silent_after=STALL_SECONDS),
}
"""Everything that the fake server can do wrong."""


@dataclass(frozen=True, slots=True)
class Script:
    """``failure`` is the reply to every call, or only to those that write the answer.
    ``stalls_at``: the event after which an answer that is written waits, for good or
    for a moment.
    """

    task: Task = TASKS[0]
    failure: Reply | None = None
    fails: Literal["always", "writing"] = "always"
    stalls_at: Literal["", "sources", "token", "token for a moment"] = ""

    def model(self) -> ScriptedAnswers:
        """Return a model at the beginning of this script."""
        return ScriptedAnswers(self)


def plain_task(question: str) -> Task:
    """Return the task of any question: it is its own plan."""
    return Task(question, (question,), question, (question, question), ())


@dataclass(slots=True)
class ScriptedAnswers:
    """Give it to `FakeOpenAI.always`."""

    script: Script
    _ideal: IdealModel = field(init=False)

    def __post_init__(self) -> None:
        self._ideal = IdealModel(self.script.task)

    def __call__(self, request: Recorded) -> Reply:
        script = self.script
        is_written = writes(request)
        if script.failure and (is_written or script.fails == "always"):
            return script.failure
        reply = _UNSCRIPTED
        if stage(request) != UNSCRIPTED:
            reply = self._ideal(request)
        if not is_written or not script.stalls_at:
            return reply
        if script.stalls_at == "sources":
            return replace(reply, silent_before=STALL_SECONDS)
        if script.stalls_at == "token":
            first = reply.pieces[:PIECES_BEFORE_STALL]
            return replace(reply, pieces=first, silent_after=STALL_SECONDS)
        return replace(reply, silent_after=PAUSE_SECONDS)


def writes(request: Recorded) -> bool:
    """Tell whether a call is one for the text that the person reads."""
    return stage(request) in WRITING


def stage(request: Recorded) -> str:
    try:
        return stage_of(request)
    except StopIteration:
        return UNSCRIPTED
