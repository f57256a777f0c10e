"""The questions that `benchmarks.recorded` asks beside the requests to each endpoint.

Each function returns groups of requests. The requests of a group belong together, for
instance the turns of a conversation; one may take every tenth group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.agent_questions import TASKS
from benchmarks.recorded_requests import GROWTH, KENYA, Request, query
from benchmarks.scripted_answers import FAILURES, Script, plain_task

MODES = ("direct", "deep", "chain", "compare", "report", "auto")
TASK_OF_MODE = {
    "direct": 7,
    "deep": 4,
    "chain": 5,
    "compare": 1,
    "report": 9,
    "auto": 6,
}
"""A task for which each mode calls the model."""
MODES_WITHOUT_A_MODEL = ("direct", "deep", "compare", "auto")
PRESETS = ("adaptive", "compression", "hybrid", "deep", "deterministic")
SET_FOLDERS = ("wordings/dev", "quality_dev", "questions4/dev")
LABELLED_SENTENCES = "citations"
"""A file of `quality_dev` that has no questions."""
UPLOADED = "upload"
"""Questions about the documents beside them, which have to be uploaded first."""
WITH_A_MODEL_EVERY = 3
BUDGETS: dict[str, dict[str, Any]] = {
    "one call": {"calls": 1},
    "two calls": {"calls": 2},
    "four calls": {"calls": 4},
    "few tokens": {"tokens": 300},
    "some tokens": {"tokens": 2000},
}
OK = 200
Group = tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a question of a set; most have one."""

    name: str
    turns: tuple[str, ...]

    @property
    def is_uploaded(self) -> bool:
        return f"/{UPLOADED}/" in self.name


def read_conversations(data: Path) -> list[Conversation]:
    """Return the questions of all sets below a folder, each wording once."""
    conversations: dict[tuple[str, ...], Conversation] = {}
    for folder in SET_FOLDERS:
        for path in sorted((data / folder).glob("*.json")):
            if path.stem == LABELLED_SENTENCES:
                continue
            rows = json.loads(path.read_text(encoding="utf-8"))
            for number, row in enumerate(rows):
                turns = turns_of(row)
                name = f"{folder.partition('/')[0]}/{path.stem}/{number}"
                conversations.setdefault(turns, Conversation(name, turns))
    return list(conversations.values())


def turns_of(row: str | dict[str, Any]) -> tuple[str, ...]:
    if isinstance(row, str):
        return (row,)
    if "turns" in row:
        return tuple(row["turns"])
    return (*row.get("history", ()), row["question"])


def read_uploads(data: Path) -> dict[str, str]:
    """Return the documents that the questions of `UPLOADED` are about."""
    folder = data / "questions4" / "dev" / "docs"
    return {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}


def questions(data: Path) -> list[Group]:
    """Return the questions of the sets, without a model."""
    return [asked(one, "") for one in read_conversations(data) if not one.is_uploaded]


def questions_of_uploads(data: Path) -> list[Group]:
    """Return the upload of four documents and the questions about them, as one
    group.
    """
    upload = Request("set upload", "POST", "/api/documents", files=read_uploads(data))
    done = Request(
        "set upload done",
        "GET",
        "/api/ingestions/{set upload.ingestion_id}",
        until_done=True,
    )
    groups = [asked(one, "") for one in read_conversations(data) if one.is_uploaded]
    return [(upload, done, *(request for group in groups for request in group))]


def questions_with_a_model(data: Path) -> list[Group]:
    every_question = [one for one in read_conversations(data) if not one.is_uploaded]
    return [asked(one, "model ") for one in every_question[::WITH_A_MODEL_EVERY]]


def asked(conversation: Conversation, prefix: str) -> Group:
    """Return one request a turn, each in the conversation of the first."""
    requests = []
    for number, text in enumerate(conversation.turns):
        body: dict[str, Any] = {"query": text, "cache": False}
        name = f"{prefix}{conversation.name}".replace(".", "")
        if number:
            body["conversation_id"] = f"{{{name}.conversation_id}}"
            name = f"{name}/{number + 1}"
        script = Script(plain_task(text))
        requests.append(Request(name, "POST", "/query", body, script=script))
    return tuple(requests)


def modes_and_presets(prefix: str, modes: Sequence[str]) -> list[Group]:
    """Return each task in each mode, and with each preset."""
    settings = [{"mode": mode} for mode in modes]
    settings += [{"preset": preset} for preset in PRESETS]
    groups: list[Group] = []
    for number, task in enumerate(TASKS):
        for chosen in settings:
            (value,) = chosen.values()
            name = f"{prefix}task {number} {value}"
            request = query(name, task.text, number, cache=False, **chosen)
            groups.append((request,))
    return groups


def asked_twice(prefix: str) -> list[Group]:
    """Return questions that are asked twice, and once more without the cache."""
    groups: list[Group] = []
    for path in ("/query", "/api/chat"):
        for number, task in enumerate(TASKS[:4]):
            body = {"query": task.text, "filters": {"year": [2023]}}
            bodies = {
                "first": body,
                "again": body,
                "uncached": {**body, "cache": False},
            }
            groups.append(
                tuple(
                    Request(
                        f"{prefix}twice {path} {number} {name}",
                        "POST",
                        path,
                        sent,
                        script=Script(task),
                    )
                    for name, sent in bodies.items()
                )
            )
    return groups


def budgets() -> list[Group]:
    """Return each budget in each mode."""
    groups: list[Group] = []
    for name, budget in BUDGETS.items():
        for mode in MODES:
            task = TASK_OF_MODE[mode]
            text = TASKS[task].text
            request = query(
                f"budget {name} {mode}",
                text,
                task,
                mode=mode,
                budget=budget,
                cache=False,
            )
            groups.append((request,))
    return groups


def streams(prefix: str, modes: Sequence[str]) -> list[Group]:
    """Return streams that are read to their end."""
    return [
        (
            Request(
                f"{prefix}stream {mode} {number}",
                "POST",
                "/api/chat",
                {"query": task.text, "mode": mode, "cache": False},
                script=Script(task),
            ),
        )
        for number, task in enumerate(TASKS[::4])
        for mode in modes
    ]


def left_streams() -> list[Group]:
    """Return streams that the client leaves at the first source, the first token and
    the end: by closing the connection, by stopping the answer, and so that it goes on.
    """
    return [tuple(_left(mode)) for mode in MODES]


def _left(mode: str) -> Iterator[Request]:
    task = TASKS[TASK_OF_MODE[mode]]
    body = {"query": task.text, "mode": mode, "cache": False}
    resumable = {**body, "resume": True}
    for event, stall in (("sources", "sources"), ("token", "token"), ("done", "")):
        yield Request(
            f"closed at {event} {mode}",
            "POST",
            "/api/chat",
            body,
            script=Script(task, stalls_at=stall),
            leave_at=event,
        )
    for event in ("sources", "token"):
        yield Request(
            f"stopped at {event} {mode}",
            "POST",
            "/api/chat",
            resumable,
            script=Script(task, stalls_at=event),
            leave_at=event,
            leave_by="stop",
        )
    yield Request(
        f"resumed after token {mode}",
        "POST",
        "/api/chat",
        resumable,
        script=Script(task, stalls_at="token for a moment"),
        leave_at="token",
    )


def failing_models() -> list[Group]:
    """Return questions while the chat model fails in each way: at once, in a stream,
    in all calls of a plan, and only when the answer is written.
    """
    groups: list[Group] = []
    for name, failure in FAILURES.items():
        direct = Script(TASKS[0], failure)
        body = {"query": GROWTH, "filters": KENYA, "mode": "direct", "cache": False}
        deep = {"query": TASKS[4].text, "mode": "deep", "cache": False}
        written = Script(TASKS[4], failure, fails="writing")
        cases = {
            "query": ("/query", body, direct),
            "stream": ("/api/chat", body, direct),
            "deep": ("/query", deep, Script(TASKS[4], failure)),
            "deep stream": ("/api/chat", deep, written),
        }
        groups += [
            (Request(f"{name}: {case}", "POST", path, sent, script=script),)
            for case, (path, sent, script) in cases.items()
        ]
    return groups


def failing_embeddings() -> list[Group]:
    """Return searches while the embedding model fails in each way. Each asks another
    question, since vectors are cached.
    """
    failures = {
        name: reply
        for name, reply in FAILURES.items()
        if reply.status != OK or reply.body is not None or reply.silent_before
    }
    groups: list[Group] = []
    for number, (name, failure) in enumerate(failures.items()):
        for path in ("/query", "/api/chat", "/api/search"):
            text = f"How many wells has village {number} of {path[1:]}?"
            groups.append(
                (
                    Request(
                        f"embedding {name}: {path}",
                        "POST",
                        path,
                        {"query": text},
                        embeddings=failure,
                    ),
                )
            )
    return groups
