"""How a language model, or the way to it, misbehaves: each is a reply to any stage of
any agent.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ideal, passages, pieces, stage_of

THOUGHT = "ponderous"
"""Stands in every thought, and nowhere else."""
THOUGHTS = (
    f'A {THOUGHT} thought about [1] and {{"queries": ["{THOUGHT} query"], "numbers": '
    f"[1]}}.\n"
)
TIMEOUT = 0.6
Behaviour = Callable[[Recorded], str | Reply]


def around(before: str, after: str = "") -> Behaviour:
    return lambda request: f"{before}{ideal(request)}{after}"


def _in_one_piece(request: Recorded) -> Reply:
    return Reply([ideal(request)])


def _by_letters(request: Recorded) -> Reply:
    return Reply(list(ideal(request)))


def _without_usage(request: Recorded) -> Reply:
    events = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        for piece in pieces(ideal(request))
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    lines = [f"data: {json.dumps({**head, **event})}\n\n" for event in events]
    return Reply(raw="".join([*lines, "data: [DONE]\n\n"]).encode())


READABLE: Mapping[str, Behaviour] = {
    "ideal": ideal,
    "prose around": around(
        "Sure, here is what you asked for:\n\n", "\n\nI hope this helps!"
    ),
    "fenced": around("```json\n", "\n```"),
    "thoughts": around(f"<think>{THOUGHTS}</think>\n\n"),
    "two thoughts": around(f"<think>{THOUGHTS}</think><thinking>{THOUGHTS}</thinking>"),
    "thoughts without beginning": around(f"{THOUGHTS}</think>\n"),
    "without usage": _without_usage,
}
"""Says what the ideal says."""

STREAMED: Mapping[str, Behaviour] = {
    "in one piece": _in_one_piece,
    "by letters": _by_letters,
}

UNREADABLE: Mapping[str, Behaviour] = {
    "refusal": lambda request: "I'm sorry, but I can't help with that.",
    "empty": lambda request: Reply([]),
    "white space": lambda request: " \n\t\n ",
    "invalid JSON": lambda request: '{"queries: [numbers = {',
    "thoughts without end": around(f"<think>{THOUGHTS}"),
    "nothing but thoughts": lambda request: f"<think>{THOUGHTS}</think>",
    "HTML": lambda request: "<html><body><h1>502 Bad Gateway</h1></body></html>",
}
"""Says nothing that a program can read. What is no thought may be an answer, all the
same.
"""


def half(request: Recorded) -> list[str]:
    words = pieces(ideal(request))
    return words[: len(words) // 2]


CONTEXT_LENGTH = {
    "message": "This model's maximum context length is 8 tokens.",
    "code": "context_length_exceeded",
}
FAILING: Mapping[str, Behaviour] = {
    "rate limit": lambda request: Reply(status=429),
    "server error": lambda request: Reply(status=500),
    "dropped in the middle": lambda request: Reply(half(request), ending="drop"),
    "cut in the middle": lambda request: Reply(half(request), ending="cut"),
    "error in the middle": lambda request: Reply(half(request), ending="error"),
    "too long a prompt": lambda request: Reply(status=400, error=CONTEXT_LENGTH),
}
SLOW: Mapping[str, Behaviour] = {
    "silent from the beginning": lambda request: Reply(silent_before=4 * TIMEOUT),
    "silent in the middle": lambda request: Reply(
        half(request), silent_after=4 * TIMEOUT
    ),
}


def listed(request: Recorded) -> str:
    """The ideal reply as the numbered list that models write instead of JSON."""
    said: Any = json.loads(ideal(request))
    if "queries" in said:
        return (
            "Here are my questions:\n\n"
            + "\n".join(
                f"{number}. {query}"
                for number, query in enumerate(said["queries"], start=1)
            )
            if said["queries"]
            else "None."
        )
    if "numbers" in said:
        return "\n".join(
            f"{place}. Passage {number}"
            for place, number in enumerate(said["numbers"], start=1)
        )
    if "choice" in said:
        return f"2. **{said['choice']}**"
    return f"Enough: {'yes' if said['enough'] else 'no'}\nQuestion: {said['question']}"


def wrong_indices(request: Recorded) -> str:
    """Numbers that no passage has, in the shape that was asked for."""
    if stage_of(request) == "auto":
        return '{"choice": 99}'
    return '{"numbers": [0, -1, 99, "-3", "none", 1000000]}'


def some_wrong_indices(request: Recorded) -> str:
    return json.dumps({"numbers": [0, -1, "2", 99, *passages(request)[:1]][:5]})
