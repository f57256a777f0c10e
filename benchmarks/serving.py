"""A server under streams, slow clients and attacks, over HTTP on loopback, with a
scripted model.

    python -m benchmarks serving [--rounds 1] [--data FOLDER] [--json] [--short] [-- COMMAND ...]

COMMAND starts a server on the address of HOST and PORT; without one both of this
product are measured, `gunicorn app:app` and `python app.py`. `-- gunicorn -k gthread
--threads 8 app:app` measures another worker. The sample reports, minilm, no caches. The
model is a server in this process: it writes a word each 250 ms for two minutes, asked
"at length" each 50 ms, asked "silently" one and no more, or, asked "promptly", two at
once. What is measured, in this order, each on the same running server:

- alone: prompt questions one after the other (`/query`), then by 8 clients at once for
  8 s (requests a second).
- first token: from sending the question to the first `token` event of `/api/chat`;
  `model` is the part from the model having sent its first word, `before` that until the
  model was asked (the search among it).
- streams: the same under 100 open streams; a `GET /health` each 100 ms meanwhile, its
  longest.
- attack: 200 connections that send a header a second, 200 that send a body byte a
  second and 300 open streams, which came at once; `begun`: when all of these had their
  first word.
- after: everything closed, the same questions again, and errors.
- silent 300: so many streams of a model that says nothing.
- talking N: so many streams at 20 words a second. `begun` is until each of them had its
  first word, `late` how long a word takes from the model to the client, `words` the
  share of those written that came.

--short: `app.py` alone, until the first token.
"""  # noqa: E501

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PATIENCE = 10.0
"""Seconds after which a request counts as not answered."""
ENOUGH = 3
"""Failures after which a measurement ends."""
SLOW = "What is the population growth rate?"
LONG, SILENT = (
    "What is the population growth rate, at length?",
    "What is the population growth rate, silently?",
)
TALKING = (50, 100, 200, 300)
PROMPT = "What is the population growth rate, promptly?"
PACE = {b"at length": 0.05, b"silently": 600.0}
"""Seconds between words, by what a question says."""
MARK = "w="
"""Before the time of each word."""
FILTERS = {"country_name": ["Kenya"], "year": [2023]}
SERVERS = {"gunicorn": ["-m", "gunicorn", "app:app"], "app.py": ["app.py"]}


class Model:
    """An OpenAI-compatible server. ``asked``, ``began``: when the last prompt request
    came and had its first word.

    ``words``: how many it has written.
    """

    asked = began = 0.0
    words = 0

    async def serve(self) -> int:
        self._server = await asyncio.start_server(
            self._answer, "127.0.0.1", 0, limit=2**20, backlog=1024
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(
                    head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                )
                body = await reader.readexactly(length)
                pause = next(
                    (seconds for word, seconds in PACE.items() if word in body), 0.25
                )
                await self._write(writer, pause, prompt=b"promptly" in body)
        writer.close()

    async def _write(
        self, writer: asyncio.StreamWriter, pause: float, *, prompt: bool
    ) -> None:
        if prompt:
            self.asked = time.perf_counter()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for number in range(2 if prompt else max(1, int(120 / pause))):
            writer.write(_chunk({"content": f"{MARK}{time.perf_counter():.3f} "}))
            self.words += 1
            if prompt and not number:
                self.began = time.perf_counter()
            await writer.drain()
            if not prompt:
                await asyncio.sleep(pause)
        end = b"data: [DONE]\n\n"
        writer.write(_chunk({}, "stop") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end))
        await writer.drain()


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    data = json.dumps(
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    ).encode()
    return b"%x\r\ndata: %b\n\n\r\n" % (len(data) + 8, data)


@dataclass
class Client:
    """Requests to one server; ``failed`` counts those without a 200 in time."""

    port: int
    failed: int = 0
    begun: int = 0
    late: list[float] = field(default_factory=list)
    held: list[asyncio.StreamWriter] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def ask(self, path: str = "/query", query: str = PROMPT) -> float:
        """Seconds until all of the response is there."""
        body = (
            json.dumps({"query": query, "filters": FILTERS}).encode()
            if path != "/health"
            else b""
        )
        return await self._timed(path, body, lambda reader: reader.read())

    async def first_token(self) -> float:
        body = json.dumps({"query": PROMPT, "filters": FILTERS}).encode()
        return await self._timed(
            "/api/chat", body, lambda reader: reader.readuntil(b"event: token")
        )

    async def _timed(
        self,
        path: str,
        body: bytes,
        rest: Callable[[asyncio.StreamReader], Awaitable[bytes]],
    ) -> float:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self._send(path, body)
                try:
                    if b" 200 " not in await reader.readline():
                        self.failed += 1
                    await rest(reader)
                finally:
                    writer.close()
        except (OSError, asyncio.IncompleteReadError):  # TimeoutError among them
            self.failed += 1
        return time.perf_counter() - began

    async def _send(
        self, path: str, body: bytes
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, limit=2**22
        )
        head = (
            f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: "
            f"127.0.0.1:{self.port}\r\nConnection: close\r\n"
        )
        head += (
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            if body
            else "\r\n"
        )
        writer.write(head.encode() + body)
        return reader, writer

    async def stream(self, query: str = SLOW) -> None:
        """Open one and read it until it ends."""
        reader, writer = await self._send(
            "/api/chat", json.dumps({"query": query, "filters": FILTERS}).encode()
        )
        self.held.append(writer)
        begun = 0
        with contextlib.suppress(OSError):
            while piece := await reader.read(65536):
                words = [
                    float(word.split()[0])
                    for word in piece.decode(errors="replace").split(MARK)[1:]
                ]
                self.late += [time.perf_counter() - word for word in words]
                self.begun, begun = (
                    self.begun + (not begun and bool(words)),
                    begun + len(words),
                )

    async def trickle(self, start: bytes, each: bytes) -> None:
        """Hold a connection by little."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.held.append(writer)
        writer.write(start)
        with contextlib.suppress(OSError):
            while not writer.is_closing():
                writer.write(each)
                await writer.drain()
                await asyncio.sleep(1)

    def begin(self, count: int, what: Callable[[], Any]) -> None:
        self.tasks += [asyncio.create_task(what()) for _ in range(count)]

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for writer in self.held:
            writer.close()
        self.tasks, self.held = [], []


async def measured(client: Client, model: Model, *, short: bool) -> dict[str, float]:
    """All figures of one running server, or the first; milliseconds but for rates and
    counts.
    """
    found: dict[str, float] = {}
    for _ in range(5):
        await client.ask()
    found |= named("alone", [await client.ask() for _ in range(40)])
    found["alone rps"] = await rate(client)
    told(found)
    found |= await first_tokens(client, model)
    told(found)
    if short:
        return found
    client.begin(100, client.stream)
    await asyncio.sleep(8)
    found |= await under(client, "streams")
    if client.failed < ENOUGH:
        found["streams rps"] = await rate(client)
        found["streams first token"] = ms(
            statistics.median([await client.first_token() for _ in range(6)])
        )
    told(found)
    head = f"POST /query HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n".encode()
    body = head + b"Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
    client.begin(200, client.stream)
    client.begin(200, lambda: client.trickle(head, b"X-A: b\r\n"))
    client.begin(200, lambda: client.trickle(body, b" "))
    found["attack begun"] = await opened(client, 300)
    found |= await under(client, "attack")
    await client.end()
    await asyncio.sleep(3)
    client.failed = 0
    found |= named("after", [await client.ask() for _ in range(20)]) | {
        "after failed": client.failed
    }
    told(found)
    for name, count, query in [
        ("silent", 300, SILENT),
        *(("talking", count, LONG) for count in TALKING),
    ]:
        found |= await bearing(client, model, f"{name} {count}", count, query)
        told(found)
    return found


async def bearing(
    client: Client, model: Model, name: str, count: int, query: str
) -> dict[str, float]:
    """Of so many streams at once: how long they took to begin, and what they leave of
    the server.
    """
    client.begun = 0
    client.begin(count, lambda: client.stream(query))
    found = {f"{name} begun": await opened(client, count)}
    client.late, written = [], model.words
    asked = await under(client, name)
    came, late = len(client.late), sorted(client.late)
    if late:
        found[f"{name} late p50"], found[f"{name} late p99"] = (
            ms(statistics.median(late)),
            ms(late[int(0.99 * came)]),
        )
        found[f"{name} words"] = round(came / (model.words - written), 2)
    await client.end()
    await asyncio.sleep(3)
    return found | asked


async def opened(client: Client, count: int) -> float:
    """Milliseconds until so many streams have had their first word; a minute at
    most.
    """
    began = time.perf_counter()
    while client.begun < count and time.perf_counter() - began < 60:
        await asyncio.sleep(0.1)
    return ms(time.perf_counter() - began)


async def first_tokens(client: Client, model: Model) -> dict[str, float]:
    rows = []
    for _ in range(20):
        began = time.perf_counter()
        took = await client.first_token()
        rows.append((took, model.asked - began, began + took - model.began))
    total, before, after = (
        ms(statistics.median(column)) for column in zip(*rows, strict=True)
    )
    return {
        "first token": total,
        "first token before": before,
        "first token model": after,
    }


async def under(client: Client, name: str) -> dict[str, float]:
    client.failed = 0
    health: list[float] = []

    async def watch() -> None:
        while True:
            health.append(await client.ask("/health"))
            await asyncio.sleep(0.1)

    watching = asyncio.create_task(watch())
    asked: list[float] = []
    while len(asked) < 12 and client.failed < ENOUGH:
        asked.append(await client.ask())
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return named(name, asked) | {
        f"{name} health max": ms(max(health, default=PATIENCE)),
        f"{name} failed": client.failed,
    }


async def rate(client: Client, *, clients: int = 8, seconds: float = 8.0) -> float:
    until, done = time.perf_counter() + seconds, [0]

    async def go() -> None:
        while time.perf_counter() < until:
            await client.ask()
            done[0] += 1

    await asyncio.gather(*(go() for _ in range(clients)))
    return round(done[0] / seconds, 1)


def named(name: str, seconds: list[float]) -> dict[str, float]:
    seconds = sorted(seconds)
    return {
        f"{name} p50": ms(statistics.median(seconds)),
        f"{name} p99": ms(seconds[int(0.99 * len(seconds))]),
    }


def told(found: dict[str, float]) -> None:
    print(
        *(f"{name} {value}" for name, value in found.items()),
        sep=", ",
        file=sys.stderr,
        flush=True,
    )


def ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


@contextlib.asynccontextmanager
async def running(
    command: list[str], model_port: int, folder: str
) -> AsyncIterator[Client]:
    """The server as a process, asked once it is ready."""
    with contextlib.closing(
        await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    ) as free:
        port = free.sockets[0].getsockname()[1]
    environment = {
        **os.environ,
        "DATA_DIR": folder,
        "HOME": folder,
        "PORT": str(port),
        "CACHE_SECONDS": "0",
        "SAMPLE_DATA": "on",
        "EMBEDDING_PROVIDER": "minilm",
        "CHAT_MODEL": "openai:fake",
        "OPENAI_API_KEY": "x",
        "SUMMARIES": "off",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "LOG_LEVEL": "WARNING",
    }
    client = Client(port)
    with (Path(folder) / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        await ready(client, process)
        yield client
    finally:
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, 60)
        except subprocess.TimeoutExpired:
            process.kill()


async def ready(client: Client, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server ended"
        with contextlib.suppress(OSError):
            reader, writer = await client._send("/ready", b"")
            text = await reader.read()
            writer.close()
            if (
                b'"ingesting":false' in text.replace(b" ", b"")
                and b" 200 " in text[:20]
            ):
                return
        await asyncio.sleep(0.5)
    raise TimeoutError("the server was not ready in five minutes")


async def campaign(
    commands: dict[str, list[str]], rounds: int, data: str | None, *, short: bool
) -> dict[str, list[dict[str, float]]]:
    model = Model()
    port = await model.serve()
    results: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        loaded = data or f"{place}/loaded"
        if data is None:
            Path(loaded).mkdir()
            async with running(SERVERS["app.py"], port, loaded):
                pass
        for number in range(rounds):
            for name, command in commands.items():
                folder = shutil.copytree(loaded, f"{place}/{name}-{number}")
                async with running(command, port, folder) as client:
                    figures = await measured(client, model, short=short)
                    results[name].append(
                        {**figures, "load": round(os.getloadavg()[0], 1)}
                    )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--data",
        help="a DATA_DIR with the sample reports; it is copied. Default: made anew",
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--short", action="store_true", help="the first figures of app.py only"
    )
    parser.add_argument(
        "command",
        nargs="*",
        help="of a server, after --; its first word is a Python module",
    )
    arguments = parser.parse_args()
    own = {"given": ["-m", *arguments.command]} if arguments.command else SERVERS
    if arguments.short:
        own = dict([list(own.items())[-1]])
    results = asyncio.run(
        campaign(own, arguments.rounds, arguments.data, short=arguments.short)
    )
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    for name, rows in results.items():
        print(name)
        for figure in dict.fromkeys(figure for row in rows for figure in row):
            print(
                f"  {figure:22}"
                + "".join(f"{row.get(figure, '-'):>10}" for row in rows)
            )


if __name__ == "__main__":
    main()
