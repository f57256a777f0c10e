"""Start the server of a checkout, send it the requests of `benchmarks.recorded` and
return what it answers.
"""

from __future__ import annotations

import http.client
import json
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.recorded_requests import Request
from benchmarks.scripted_answers import writes
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply

READY_SECONDS = 600.0
JOB_SECONDS = 120.0
STOP_SECONDS = 120.0
MODEL_SECONDS = 15.0
"""How long a call of the model may take to arrive, or to end after the client left."""
SETTLED_SECONDS = 0.3
"""Between two looks at what is stored of an answer, until both are equal."""
POLL_SECONDS = 0.1
SHOWN_HEADERS = ("Location", "Retry-After", "Content-Disposition")
_VARIABLE = re.compile(r"\{([^{}]+)\}")
Json = dict[str, Any]


@contextmanager
def server(root: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of a server over an empty folder, once its sample reports are
    ready, or at once where ``settings`` leave them out.
    """
    inherited = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        own = {
            "PORT": str(port),
            "DATA_DIR": f"{folder}/data",
            "PYTHON_DOTENV_DISABLED": "1",
            "SUMMARIES": "extractive",
        }
        log_path = Path(folder, "log")
        with log_path.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [sys.executable, "app.py"],
                cwd=root,
                env={**inherited, **own, **settings},
                stdout=log,
                stderr=log,
            )
        try:
            url = f"http://127.0.0.1:{port}"
            has_samples = settings.get("SAMPLE_DATA") != "off"
            wait_until_ready(url, process, has_samples=has_samples)
            yield url
        except BaseException:
            print(log_path.read_text(encoding="utf-8")[-4000:], file=sys.stderr)
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_until_ready(
    url: str, process: subprocess.Popen[bytes], *, has_samples: bool
) -> None:
    deadline = time.monotonic() + READY_SECONDS
    state: Json = {}
    while time.monotonic() < deadline and process.poll() is None:
        try:
            state = fetch(url, Request("ready", "GET", "/ready"))["json"]
        except OSError:
            state = {}
        samples = state.get("sample_data", {"ready": 0, "total": 0})
        loaded = not has_samples or 0 < samples["total"] == samples["ready"]
        if state.get("ready") and not state["ingesting"] and loaded:
            return
        time.sleep(3 * POLL_SECONDS)
    raise SystemExit(f"The server is not ready: {state}")


def send(
    url: str, request: Request, model: FakeOpenAI, answers: Mapping[str, Json]
) -> Json:
    """Send one request while the model follows its script, and return the answer. A job
    is asked for until it has ended.
    """
    model.always(CHAT, request.script.model())
    model.always(EMBEDDINGS, request.embeddings or Reply())
    filled = request.filled(
        lambda text: _VARIABLE.sub(lambda match: value_of(answers, match[1]), text)
    )
    if request.leave_at:
        return leave(url, filled, model)
    deadline = time.monotonic() + JOB_SECONDS
    while True:
        answer = fetch(url, filled)
        if not request.until_done:
            return answer
        if answer["json"]["state"] not in ("queued", "running"):
            return answer
        if time.monotonic() > deadline:
            raise SystemExit(f"{request.name}: not done within {JOB_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def value_of(answers: Mapping[str, Json], path: str) -> str:
    name, *keys = path.split(".")
    value: Any = answers[name]["json"]
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return str(value)


def fetch(url: str, request: Request, cookie: str = "") -> Json:
    """Send one request without variables. Raises OSError: nobody answers."""
    body, kind = request.body()
    headers = {"Content-Type": kind} if kind else {}
    if cookie:
        headers["Cookie"] = cookie
    sent = urllib.request.Request(
        url + request.path, body, headers, method=request.method
    )
    try:
        with urllib.request.urlopen(sent, timeout=JOB_SECONDS) as reply:
            return as_recorded(reply.status, reply.headers, reply.read())
    except urllib.error.HTTPError as error:
        with error:
            return as_recorded(error.code, error.headers, error.read())


def as_recorded(status: int, headers: Any, content: bytes) -> Json:
    kind = headers.get_content_type()
    shown = {name: headers[name] for name in SHOWN_HEADERS if headers[name]}
    return {
        "status": status,
        "type": kind,
        "headers": shown,
        "json": readable(kind, content.decode("utf-8")),
    }


def leave(url: str, request: Request, model: FakeOpenAI) -> Json:
    """Read a stream until one of its events, leave it, and return what was read, what
    became of the model's call, and what is stored of the answer.
    """
    cookie = visitor_cookie(url)
    calls = model.calls(CHAT)
    text, status = read_until(url, request, cookie, model)
    events = stream(text)
    begun = events.get("begun", [{}])[0]
    answer: Json = {"status": status, "type": "text/event-stream", "headers": {}}
    resumed = Request("", "GET", f"/api/messages/{begun.get('message_id')}/stream")
    goes_on = request.script.stalls_at == "token for a moment"
    if goes_on:
        # At once: it is read to its end while the model still writes.
        answer["resumed"] = fetch(url, resumed, cookie)
    if request.script.stalls_at and model.calls(CHAT) > calls:
        last_call = model.received(CHAT)[-1]
        last_call.finished.wait(MODEL_SECONDS)
        answer["model_call"] = {
            "ended": last_call.finished.is_set(),
            "cancelled": last_call.disconnected_at is not None,
        }
    if "message_id" in begun and not goes_on:
        answer["resumed"] = fetch(url, resumed, cookie)
    conversations = Request("", "GET", "/api/conversations")
    answer["stored"] = settled(url, conversations, cookie)
    if "conversation_id" in begun:
        path = f"{conversations.path}/{begun['conversation_id']}"
        answer["messages"] = settled(url, Request("", "GET", path), cookie)
    return {**answer, "json": events}


def read_until(
    url: str, request: Request, cookie: str, model: FakeOpenAI
) -> tuple[str, int]:
    """Return the text of a stream up to and with the event at which the client leaves,
    and the status.
    """
    body, kind = request.body()
    host = url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=JOB_SECONDS)
    written_before = written_calls(model)
    lines: list[str] = []
    is_last = False
    try:
        headers = {"Content-Type": kind, "Cookie": cookie}
        connection.request(request.method, request.path, body, headers)
        reply = connection.getresponse()
        while line := reply.readline().decode("utf-8"):
            lines.append(line)
            is_last = is_last or line == f"event: {request.leave_at}\n"
            if is_last and line == "\n":
                break
        if is_last and request.script.stalls_at:
            wait_for_written_call(model, written_before)
        if request.leave_by == "stop":
            begun = stream("".join(lines))["begun"][0]
            stop = Request("", "POST", f"/api/messages/{begun['message_id']}/stop")
            fetch(url, stop, cookie)
            lines += reply.read().decode("utf-8").splitlines(keepends=True)
        return "".join(lines), reply.status
    finally:
        connection.close()


def written_calls(model: FakeOpenAI) -> int:
    """Return how many calls have asked for the text of an answer."""
    return sum(writes(call) for call in model.received(CHAT))


def wait_for_written_call(model: FakeOpenAI, before: int) -> None:
    """Wait until the model writes the answer; some modes find nothing to write."""
    deadline = time.monotonic() + MODEL_SECONDS
    while written_calls(model) == before and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def settled(url: str, request: Request, cookie: str) -> Json:
    """Return an answer once it is the same twice."""
    before: Json = {}
    deadline = time.monotonic() + MODEL_SECONDS
    while time.monotonic() < deadline:
        answer = fetch(url, request, cookie)
        if answer == before:
            return answer
        before = answer
        time.sleep(SETTLED_SECONDS)
    return before


def visitor_cookie(url: str) -> str:
    """Return the cookie that a new visitor of the page gets."""
    with urllib.request.urlopen(url, timeout=JOB_SECONDS) as page:
        cookie: str = page.headers["Set-Cookie"]
        return cookie.partition(";")[0]


def readable(kind: str, text: str) -> Any:
    """Return JSON as it is, a stream by its events, metrics by their names, of a page
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
    """Return the events of a stream: their order (repeated ones once), the text of the
    tokens, the data of the rest.
    """
    events: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line)
        if "event" in fields:
            events.append((fields["event"], json.loads(fields["data"])))
    order: list[str] = []
    result: Json = {"order": order, "text": ""}
    for name, data in events:
        if not order or order[-1] != name:
            order.append(name)
        if name == "token":
            result["text"] += data["text"]
        else:
            result.setdefault(name, []).append(data)
    return result
