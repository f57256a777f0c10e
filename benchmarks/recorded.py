"""Records what a checkout answers to fixed requests over every endpoint and mode, and
compares two such records.

    python -m benchmarks recorded record FILE [--root DIR]
    python -m benchmarks recorded compare BEFORE AFTER

`record` starts the server of DIR as a person does (`python app.py`, an empty DATA_DIR,
a free port of 127.0.0.1) twice: without a key, then with a chat model that is asked
over HTTP and follows a script (`benchmarks.agent_questions`). `compare` leaves out
times, milliseconds, costs of time and the ids that each run makes anew; scores may
differ by 1e-6. It prints each difference by its path and exits with 1 where there is
one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.agent_questions import TASKS, IdealModel
from benchmarks.recorded_requests import KEYLESS, WITH_MODEL, Request
from tests.fakes.openai_server import CHAT, FakeOpenAI

READY_SECONDS = 300.0
JOB_SECONDS = 120.0
TOLERANCE = 1e-6
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
EMBEDDING_CACHE = ("embedding hit", "embedding miss")
_VARIABLE = re.compile(r"\{([\w. -]+)\}")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"
)
_RUN_ID = re.compile(
    r"(?<=/api/ingestions/)[0-9a-f]+|\b(?:report-chat-|tmp)\w+|[\d,]+ MB "
    r"free|127\.0\.0\.1:\d+"
)
Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--root", type=Path, default=Path(__file__).parent.parent)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        answers = record(arguments.root.resolve())
        arguments.file.write_text(
            json.dumps(answers, indent=1, ensure_ascii=False), encoding="utf-8"
        )
        print(f"{len(answers)} requests")
        return
    before, after = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (arguments.before, arguments.after)
    )
    found = list(differences("", normalised(before), normalised(after)))
    print("\n".join(found) or f"{len(before)} requests: equal")
    raise SystemExit(bool(found))


def record(root: Path) -> Json:
    """Name of each request -> status, headers that matter, and JSON."""
    answers: Json = {}
    with server(root, {}) as url:
        for request in KEYLESS:
            answers[request.name] = send(url, request, answers)
    with FakeOpenAI() as model:
        settings = {
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": model.url,
            "CHAT_MODEL": "openai:ideal",
        }
        with server(
            root, {**settings, "EMBEDDING_PROVIDER": "minilm", "MODEL_RETRIES": "0"}
        ) as url:
            for request in WITH_MODEL:
                model.always(CHAT, IdealModel(TASKS[request.task]))
                answers[request.name] = send(url, request, answers)
    return answers


@contextmanager
def server(root: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """The address of a server over an empty folder, once its sample reports are in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    inherited = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(folder, "log").open("w+", encoding="utf-8") as log,
    ):
        own = {
            "PORT": port,
            "DATA_DIR": f"{folder}/data",
            "PYTHON_DOTENV_DISABLED": "1",
            "SUMMARIES": "extractive",
        }
        process = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=root,
            env={**inherited, **own, **settings},
            stdout=log,
            stderr=log,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_ready(url, process)
            yield url
        except BaseException:
            log.seek(0)
            print(log.read()[-4000:], file=sys.stderr)
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def wait_until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    state: Json = {}
    while time.monotonic() < deadline and process.poll() is None:
        try:
            state = fetch(url, Request("ready", "GET", "/ready"))["json"]
        except OSError:
            state = {}
        samples = state.get("sample_data", {"ready": 0, "total": 0})
        if (
            state.get("ready")
            and not state["ingesting"]
            and 0 < samples["total"] == samples["ready"]
        ):
            return
        time.sleep(0.3)
    raise SystemExit(f"The server is not ready: {state}")


def send(url: str, request: Request, answers: Mapping[str, Json]) -> Json:
    """The answer; a job is asked for until it has ended. ``{name.path}`` is a value of
    an earlier answer.
    """
    filled = request.filled(
        lambda text: _VARIABLE.sub(lambda match: value_of(answers, match[1]), text)
    )
    deadline = time.monotonic() + JOB_SECONDS
    while True:
        answer = fetch(url, filled)
        if not request.until_done or answer["json"]["state"] not in (
            "queued",
            "running",
        ):
            return answer
        if time.monotonic() > deadline:
            raise SystemExit(f"{request.name}: not done within {JOB_SECONDS:.0f} s")
        time.sleep(0.1)


def value_of(answers: Mapping[str, Json], path: str) -> str:
    name, *keys = path.split(".")
    value: Any = answers[name]["json"]
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return str(value)


def fetch(url: str, request: Request) -> Json:
    """One request, without any of its variables left. Raises OSError: nobody
    answers.
    """
    body, kind = request.body()
    sent = urllib.request.Request(
        url + request.path,
        body,
        {"Content-Type": kind} if kind else {},
        method=request.method,
    )
    try:
        with urllib.request.urlopen(sent, timeout=JOB_SECONDS) as reply:
            status, headers, content = reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            status, headers, content = error.code, error.headers, error.read()
    shown = {
        name: headers[name]
        for name in ("Location", "Retry-After", "Content-Disposition")
        if headers[name]
    }
    kind = headers.get_content_type()
    return {
        "status": status,
        "type": kind,
        "headers": shown,
        "json": readable(kind, content.decode("utf-8")),
    }


def readable(kind: str, text: str) -> Any:
    """JSON as it is, a stream by its events, metrics by their names, of a page
    nothing.
    """
    if kind == "application/json":
        return json.loads(text)
    if kind == "text/event-stream":
        return stream(text)
    if kind == "text/plain":
        return sorted(
            {
                line.split("{")[0].split(" ")[0]
                for line in text.splitlines()
                if not line.startswith("#")
            }
        )
    return None if kind == "text/html" else text


def stream(text: str) -> Json:
    """The events of a stream: their order (repeated ones once), the text of the tokens,
    the data of the rest.
    """
    blocks = [
        block.split("\n", 1)
        for block in text.split("\n\n")
        if block.startswith("event: ")
    ]
    events = [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in blocks
    ]
    names = [name for name, _ in events]
    return {
        "order": [
            name for at, name in enumerate(names) if at == 0 or names[at - 1] != name
        ],
        "text": "".join(data["text"] for name, data in events if name == "token"),
        **{
            name: [data for other, data in events if other == name]
            for name in sorted({*names} - {"token"})
        },
    }


def normalised(value: Any) -> Any:
    """Without what belongs to one run only."""
    if isinstance(value, dict):
        return {
            name: "*" if name in OWN_EACH_RUN else normalised(inner)
            for name, inner in without_races(value)
        }
    if isinstance(value, list):
        return in_order([normalised(inner) for inner in value])
    return _RUN_ID.sub("*", _TIME.sub("*", value)) if isinstance(value, str) else value


def without_races(value: Json) -> Iterator[tuple[str, Any]]:
    """Two searches at once may both compute the same vector, or one finds it in the
    cache: only the sum is fixed.
    """
    vectors = [value[name] for name in EMBEDDING_CACHE if name in value]
    if vectors:
        yield "embedding", sum(vectors)
    yield from (
        (name, inner) for name, inner in value.items() if name not in EMBEDDING_CACHE
    )


def in_order(values: list[Any]) -> list[Any]:
    """Searches that run at once end in any order, and stages are listed by the time
    they took: both by name.
    """
    if values and all(isinstance(value, dict) and "stage" in value for value in values):
        return sorted(values, key=lambda row: str(row["stage"]))
    result: list[Any] = []
    for value in values:
        at = len(result)
        while (
            at
            and is_found(value)
            and is_found(result[at - 1])
            and result[at - 1]["detail"] > value["detail"]
        ):
            at -= 1
        result.insert(at, value)
    return result


def is_found(step: Any) -> bool:
    return isinstance(step, dict) and step.get("name") == "found"


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
    return text if len(text) <= 160 else f"{text[:157]}..."


if __name__ == "__main__":
    main()
