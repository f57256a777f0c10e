"""What a small input can cost: forty of them, each sent as upload, attachment or
question to a server of this product.

    python -m benchmarks hostile [--only NAME ...] [--json]

The server is `python app.py` without a key and without reports. Of each input: the CPU
seconds that the server and its reading processes spend on it (from /proc) until it is
done or refused, at most PATIENCE seconds; for uploads, after how long the next person's
small file was searchable, which was sent right after it, and how long it takes until it
is cancelled; for attachments and questions, the CPU seconds that are spent in the
second after the client went away. Embedding a kB of passages costs the same whoever
sends it, so the CPU seconds are compared with those of as much honest text, and the
passages, cut in this process, with the size of the file. On a machine that others use,
waiting counts as the CPU seconds that were spent meanwhile, and what is over its share
is measured once more, beside honest text of the same moment.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain.errors import LoadError
from chatbot.library.sources import Source

from .hostile_inputs import Hostile, inputs, prose

ROOT = Path(__file__).parent.parent
PATIENCE = 12.0
SHARE, TIMES, HONEST = 2.0, 1.5, 50
"""CPU seconds that any input may cost; else so many times what honest text does whose
passages are as long, measured on so many kB.
"""
PASSAGES, REPEATED = 100.0, 10
"""kB of passages, with the headings that each repeats, that any input may become; else
so many times its own.
"""
CANCELLED, IDLE, NEXT, BEAT = 1.0, 0.3, 5.0, 0.5
"""Seconds that a cancellation may take; of CPU in the second after a client has left;
until the next upload is done; between two looks of a worker whether its file was
cancelled.
"""
TICKS = os.sysconf("SC_CLK_TCK")
Row = dict[str, Any]


class Server:
    """``app.py`` on a free port."""

    def __init__(self, folder: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "DATA_DIR": folder,
            "PORT": str(self.port),
            "SAMPLE_DATA": "off",
            "CHAT_MODEL": "extractive",
            "LOG_LEVEL": "WARNING",
            "CACHE_SECONDS": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=ROOT, env=environment
        )
        for _ in range(600):
            with contextlib.suppress(OSError):
                if self.send("GET", "/ready")[0] == 200:
                    return
            time.sleep(0.1)
        raise TimeoutError("the server was not ready in a minute")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def send(
        self, method: str, path: str, body: bytes = b"", kind: str = ""
    ) -> tuple[int, Any]:
        status, text = self.begin(method, path, body, kind, timeout=PATIENCE)
        return status, json.loads(text) if text[:1] in {b"{", b"["} else text

    def begin(
        self, method: str, path: str, body: bytes, kind: str, timeout: float
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(
                method, path, body, {"Content-Type": kind} if kind else {}
            )
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def cpu(self) -> float:
        """Seconds of the server and its children, those that have ended among them."""
        total, wanted = 0, {self._process.pid}
        for entry in sorted(
            Path("/proc").glob("[0-9]*"), key=lambda entry: int(entry.name)
        ):
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(entry.name) in wanted or int(fields[1]) in wanted:
                    wanted.add(int(entry.name))
                    total += sum(map(int, fields[11:15]))
        return total / TICKS


def form(files: dict[str, bytes], **fields: str) -> tuple[bytes, str]:
    """A multipart body and its type; files are called ``file``."""
    mark = uuid.uuid4().hex
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'.encode()  # noqa: E501
        for n, v in fields.items()
    ]
    for name, data in files.items():
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="files"; '
            f'filename="{name}"\r\n\r\n'
        )
        parts.append(head.encode() + data + b"\r\n")
    return b"".join(
        [*parts, f"--{mark}--\r\n".encode()]
    ), f"multipart/form-data; boundary={mark}"


def upload(server: Server, name: str, data: bytes) -> str:
    """The id of the job; "" where it was refused at once."""
    status, answer = server.send("POST", "/api/documents", *form({name: data}))
    return str(answer["ingestion_id"]) if status == 202 else ""


def outcome(server: Server, job: str, until: float) -> str:
    """How the job ended, "" where it had not by then."""
    while job and time.monotonic() < until:
        (file,) = server.send("GET", f"/api/ingestions/{job}")[1]["files"]
        if file["state"] in {"done", "failed", "cancelled"}:
            return str(file["error"] or file["state"])
        time.sleep(0.05)
    return "" if job else "refused"


def waited(server: Server, job: str, longest: float, pause: float) -> float:
    """Seconds until the job has ended: where others use the machine, the CPU seconds of
    the server meanwhile, and the ``pause`` in which it may sleep.
    """
    began, before = time.monotonic(), server.cpu()
    ended = outcome(server, job, began + longest)
    took = time.monotonic() - began
    return min(took, server.cpu() - before + pause) if ended else took


def of_upload(server: Server, one: Hostile) -> Row:
    began, before = time.monotonic(), server.cpu()
    job = upload(server, one.name, one.data)
    time.sleep(0.2)  # it has begun
    other = upload(
        server,
        f"next-{one.name}.md",
        f"# Next {one.name}\n\nCoffee is grown in the valley.".encode(),
    )
    beside = waited(server, other, PATIENCE, BEAT)
    ended = outcome(server, job, began + PATIENCE)
    row = {
        "cpu": server.cpu() - before,
        "next": beside,
        "outcome": ended[:70] or "not done",
    }
    if row["cpu"] < SHARE / 2:
        return row
    if not ended:
        row["cancelled"] = cancelled(server, job)
        return row
    again = upload(server, f"again-{one.name}", one.data + b" ")
    time.sleep(0.3)
    return {**row, "cancelled": cancelled(server, again)}


def cancelled(server: Server, job: str) -> float:
    server.send("DELETE", f"/api/ingestions/{job}")
    return waited(server, job, PATIENCE, BEAT)


def of_question(server: Server, one: Hostile) -> Row:
    """As the question, or attached to one."""
    if one.is_question:
        body, kind = (
            json.dumps({"query": one.data.decode()}).encode(),
            "application/json",
        )
    else:
        body, kind = form(
            {one.name: one.data}, request=json.dumps({"query": "Where is tea grown?"})
        )
    before, ended = server.cpu(), "not done"
    with contextlib.suppress(TimeoutError):
        status, text = server.begin("POST", "/query", body, kind, timeout=PATIENCE)
        ended = "answered" if status == 200 else f"{status} {text[:90]!r}"
    row: Row = {"cpu": server.cpu() - before, "outcome": ended}
    if row["cpu"] >= SHARE / 2:
        with contextlib.suppress(TimeoutError):
            server.begin("POST", "/query", body, kind, timeout=0.5)
        time.sleep(1)
        before = server.cpu()
        time.sleep(1)
        row["after"] = server.cpu() - before
    return row


@contextmanager
def running() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = Server(folder)
        try:
            upload(server, "coffee.md", b"# Coffee\n\nCoffee is grown in the valley.")
            server.send(
                "POST",
                "/query",
                json.dumps({"query": "Where is coffee grown?"}).encode(),
                "application/json",
            )
            time.sleep(2)
            yield server
        finally:
            server.close()


WAYS: dict[str, Callable[[Server, Hostile], Row]] = {
    "upload": of_upload,
    "ask": of_question,
}


def passages_of(services: Services, one: Hostile) -> float:
    """kB of the passages that the file becomes; 0 where it is refused or is a
    question.
    """
    if one.is_question:
        return 0.0
    path = services.settings.data_dir / one.name
    path.write_bytes(one.data)
    try:
        document, _ = services.ingesting.service.plan(Source(path, one.name))
        return (
            sum(
                len(chunk.search_text)
                for chunk in services.ingesting.ingestor.cut(document, "")
            )
            / 1000
        )
    except LoadError:
        return 0.0


def measured(only: list[str]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder, running() as server:
        settings = Settings(
            data_dir=Path(folder), chat_model="extractive", sample_data="off"
        )
        with build(settings) as services:
            usual = passages_of(services, prose(HONEST))
            honest = {way: of_honest_text(server, way, usual) for way in WAYS}
            print(
                "an honest kilobyte of passages:",
                {way: round(cpu, 4) for way, cpu in honest.items()},
                flush=True,
            )
            for one in inputs():
                if only and one.name not in only:
                    continue
                size = passages_of(services, one)
                for way in WAYS:
                    if way == "upload" and one.is_question:
                        continue
                    name = f"{one.name} {way}"
                    row = measured_one(server, one, way, size, honest[way])
                    if failures({name: row}):
                        # Other programs may have slowed the machine since honest
                        # text was measured: a finding holds beside the same text.
                        honest[way] = of_honest_text(server, way, usual)
                        row = measured_one(server, one, way, size, honest[way])
                    rows[name] = row
                    shown = (
                        value if key == "outcome" else f"{key} {value:.2f}"
                        for key, value in row.items()
                    )
                    print(f"{one.name:20} {way:7}", *shown, flush=True)
    return rows


def of_honest_text(server: Server, way: str, usual: float) -> float:
    """CPU seconds of a kB of passages of honest text: ``usual`` kB are sent."""
    return float(WAYS[way](server, prose(HONEST))["cpu"]) / usual


def measured_one(
    server: Server, one: Hostile, way: str, size: float, honest: float
) -> Row:
    """What the input costs and may cost, where its passages are ``size`` kB long."""
    row = WAYS[way](server, one)
    kilobytes = len(one.data) / 1000
    row["passages"] = size
    row["most passages"] = max(PASSAGES, REPEATED * kilobytes)
    row["share"] = max(SHARE, TIMES * honest * max(size, kilobytes))
    return row


def failures(rows: dict[str, Row]) -> list[str]:
    """What is over its share."""
    limits = {"cancelled": CANCELLED, "after": IDLE, "next": NEXT}
    return [
        f"{name}: {key} {row[key]:.2f}, at most {most:.2f}"
        for name, row in rows.items()
        for key, most in {
            **limits,
            "cpu": row["share"],
            "passages": row["most passages"],
        }.items()
        if row.get(key, 0) > most
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[], help="names of inputs")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = measured(arguments.only)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    problems = failures(rows)
    print(f"{len(rows)} inputs, {len(problems)} findings", *problems, sep="\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
