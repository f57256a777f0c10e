"""Record what a checkout answers to fixed requests, and compare two such records.

    python -m benchmarks recorded record FILE [--root DIR] [--every N]
    python -m benchmarks recorded compare BEFORE AFTER

`record` starts the server of DIR as a person does (`python app.py`, an empty DATA_DIR,
a free port of 127.0.0.1) three times: without a key; with a chat model that is asked
over HTTP and follows a script (`benchmarks.scripted_answers`); with an embedding model
that is asked over HTTP. It sends requests to every endpoint, and the questions of
`benchmarks.recorded_answers`: those of the sets in the folder REPORT_CHAT_TEST_DATA,
each mode and preset, questions that are asked twice, budgets, streams that the client
leaves, and models that fail in each way. ``--every 10`` takes only every tenth of
these questions.

`compare` leaves out times, milliseconds, costs of time and the ids that each run makes
anew; scores may differ by 1e-6. It prints each difference by its path and exits with 1
where there is one. If only one record was sampled, requests that the other one has
alone are left out, and so is what the caches had of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import recorded_answers as answers
from benchmarks.recorded_client import Json, send, server
from benchmarks.recorded_requests import KEYLESS, WITH_MODEL, Request
from tests.fakes.openai_server import FakeOpenAI

TOLERANCE = 1e-6
SHOWN_CHARACTERS = 160
MODEL_TIMEOUT_SECONDS = 3
SAMPLED = "sampled: every"
"""The key under which a record says which of the questions it has."""
OWN_EACH_RUN = {
    "ms",
    "seconds",
    "conversation_id",
    "message_id",
    "ingestion_id",
    "request_id",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "day",
}
"""Keys whose values no two runs share."""
RACING_STEPS = {
    "embed",
    "found",
    "fuse",
    "keyword_search",
    "load",
    "order",
    "vector_search",
}
"""Steps of searches, which may run at once."""
EMBEDDING_CACHE = ("embedding hit", "embedding miss")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"
)
_RUN_ID = re.compile(
    r"(?<=/api/ingestions/)[0-9a-f]+|\b(?:report-chat-|tmp)\w+|[\d,]+ MB "
    r"free|127\.0\.0\.1:\d+"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    recording.add_argument("--every", type=int, default=1, metavar="N")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        recorded = record(arguments.root.resolve(), arguments.every)
        text = json.dumps(recorded, indent=1, ensure_ascii=False)
        arguments.file.write_text(text, encoding="utf-8")
        print(f"{len(recorded) - 1} requests")
        return
    raise SystemExit(
        compare(read_record(arguments.before), read_record(arguments.after))
    )


def read_record(path: Path) -> Json:
    recorded: Json = json.loads(path.read_text(encoding="utf-8"))
    return recorded


def record(root: Path, every: int) -> Json:
    """Return the status, headers that matter and JSON of each request by its name."""
    recorded: Json = {SAMPLED: every}
    data = Path(os.environ.get("REPORT_CHAT_TEST_DATA") or "missing")
    with FakeOpenAI() as model:
        chat = {
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": model.url,
            "CHAT_MODEL": "openai:ideal",
            "EMBEDDING_PROVIDER": "minilm",
            "MODEL_RETRIES": "0",
            "MODEL_TIMEOUT": str(MODEL_TIMEOUT_SECONDS),
        }
        embeddings = {
            **chat,
            "CHAT_MODEL": "extractive",
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": "fake",
        }
        sessions: list[tuple[Json, list[Request]]] = [
            ({}, keyless_requests(data, every)),
            (chat, requests_with_a_model(data, every)),
            (embeddings, sample(answers.failing_embeddings(), every)),
        ]
        for settings, requests in sessions:
            with server(root, settings) as url:
                for request in requests:
                    recorded[request.name] = send(url, request, model, recorded)
    return recorded


def keyless_requests(data: Path, every: int) -> list[Request]:
    groups = [
        *answers.modes_and_presets("", answers.MODES_WITHOUT_A_MODEL),
        *answers.asked_twice(""),
        *answers.streams("", answers.MODES_WITHOUT_A_MODEL),
    ]
    if data.is_dir():
        groups += answers.questions(data)
    requests = [*KEYLESS, *sample(groups, every)]
    if data.is_dir():
        # Last, since what is uploaded can change the answers to the other questions.
        requests += sample(answers.questions_of_uploads(data), 1)
    return requests


def requests_with_a_model(data: Path, every: int) -> list[Request]:
    groups = [
        *answers.modes_and_presets("model ", answers.MODES),
        *answers.asked_twice("model "),
        *answers.budgets(),
        *answers.streams("model ", answers.MODES),
        *answers.left_streams(),
    ]
    if data.is_dir():
        groups += answers.questions_with_a_model(data)
    groups += answers.failing_models()
    return [*WITH_MODEL, *sample(groups, every)]


def sample(groups: Sequence[answers.Group], every: int) -> list[Request]:
    """Return the requests of every so many groups."""
    return [request for group in groups[::every] for request in group]


def compare(before: Json, after: Json) -> bool:
    """Print each difference of two records, and return whether there is one."""
    names = compared_names(before, after)
    sampled = before.get(SAMPLED) != after.get(SAMPLED)
    differing = 0
    for name in names:
        found = list(
            differences(
                f"/{name}",
                normalised(without_caches(before.get(name, "(absent)"), sampled)),
                normalised(without_caches(after.get(name, "(absent)"), sampled)),
            )
        )
        differing += bool(found)
        print("".join(f"{line}\n" for line in found), end="")
    if differing:
        print(f"{differing} of {len(names)} requests differ")
    else:
        print(f"{len(names)} requests: equal")
    return bool(differing)


def compared_names(before: Json, after: Json) -> list[str]:
    """Return the names of all requests; of those in both, if one record is sampled."""
    names: Iterable[str] = {**before, **after}
    if before.get(SAMPLED) != after.get(SAMPLED):
        names = [name for name in before if name in after]
    return [name for name in names if name != SAMPLED]


def without_caches(value: Any, left_out: bool) -> Any:
    """Return a value without what the caches had of other questions, if that is left
    out.
    """
    if left_out and isinstance(value, dict):
        return {
            name: without_caches(inner, left_out)
            for name, inner in value.items()
            if name != "caches"
        }
    if left_out and isinstance(value, list):
        return [without_caches(inner, left_out) for inner in value]
    return value


def normalised(value: Any) -> Any:
    """Return a value without what belongs to one run only."""
    if isinstance(value, dict):
        return {
            name: "*" if name in OWN_EACH_RUN else normalised(inner)
            for name, inner in without_races(value)
        }
    if isinstance(value, list):
        return in_order([normalised(inner) for inner in value])
    return _RUN_ID.sub("*", _TIME.sub("*", value)) if isinstance(value, str) else value


def without_races(value: Json) -> Iterator[tuple[str, Any]]:
    """Yield the items of an object. Two searches at once may both compute the same
    vector, or one finds it in the cache, so that only the sum is compared.
    """
    vectors = [value[name] for name in EMBEDDING_CACHE if name in value]
    if vectors:
        yield "embedding", sum(vectors)
    yield from (
        (name, inner) for name, inner in value.items() if name not in EMBEDDING_CACHE
    )


def in_order(values: list[Any]) -> list[Any]:
    """Return steps of searches that run at once, and stages that are listed by the time
    they took, by their names.
    """
    if values and all(isinstance(value, dict) and "stage" in value for value in values):
        return sorted(values, key=lambda row: str(row["stage"]))
    result: list[Any] = []
    for is_racing, run in groupby(values, key=races):
        steps = list(run)
        if is_racing:
            steps.sort(key=step_key)
        result += steps
    return result


def races(value: Any) -> bool:
    """Tell whether a value is a step of a search."""
    return isinstance(value, dict) and value.get("name") in RACING_STEPS


def step_key(step: Json) -> tuple[str, str]:
    return step["name"], str(step.get("detail"))


def differences(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from differences(
                f"{path}/{name}",
                before.get(name, "(absent)"),
                after.get(name, "(absent)"),
            )
    elif (
        isinstance(before, list)
        and isinstance(after, list)
        and len(before) == len(after)
    ):
        yield from list_differences(path, before, after)
    elif not same(before, after):
        yield f"{path}: {shown(before)} -> {shown(after)}"


def list_differences(
    path: str, before: Sequence[Any], after: Sequence[Any]
) -> Iterator[str]:
    for at, (left, right) in enumerate(zip(before, after, strict=True)):
        yield from differences(f"{path}/{at}", left, right)


def same(before: Any, after: Any) -> bool:
    if isinstance(before, float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(before == after)


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[:SHOWN_CHARACTERS]}..."


if __name__ == "__main__":
    main()
