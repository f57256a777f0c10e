"""Mixed traffic for minutes against a server started as a person starts it: errors,
latency, growth of memory.

    python -m benchmarks soak [--minutes 30] [--server app.py|gunicorn] [--people 8]

The sample reports, the built-in model and quotes instead of a language model. Each
person asks with and without a scope, reads streams or closes them early, searches,
looks at facets and lists; two upload reports, replace them several times at once and
delete them. Fails on an error; where the version that was accepted last is not served,
an older or a deleted one still is, or the counts of reports disagree; and, from two
minutes on, where the memory, threads or open files of all processes of the server grew
by more than 5 % (and ten) from the first half's highest to the second's. Shorter runs
keep no results.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.compare import (
    COUNTRIES,
    RESULTS,
    TOPICS,
    PersistentConnection,
    is_ready,
    keep,
)

SERVERS = {"app.py": ["app.py"], "gunicorn": ["-m", "gunicorn", "app:app"]}
LOOK_SECONDS, PATIENCE, GROWTH = 5.0, 60.0, 1.05
SETTLE_SECONDS, LONG_MINUTES = 3.0, 2.0
BOUNDARY = "report-chat-soak"
KINDS, SHARES = (
    ("ask", "scoped", "stream", "closed", "search", "facets", "list"),
    (4, 4, 3, 2, 3, 2, 1),
)


class Traffic:
    """What some people do, and how it went. Thread-safe."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = threading.local()
        self._lock = threading.Lock()
        self.times: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.rounds = 0
        self.stop = threading.Event()

    def person(self, seed: int) -> None:
        """Until ``stop``."""
        rng = random.Random(seed)
        while not self.stop.is_set():
            country, topic, number = (
                rng.choice(COUNTRIES),
                rng.choice(TOPICS),
                rng.randrange(10**6),
            )
            body: dict[str, Any] = {
                "query": f"What is the {topic} of {country}, {number}?"
            }
            scoped = {**body, "filters": {"country_name": [country]}}
            kind = rng.choices(
                ("ask", "scoped", "stream", "closed", "search", "facets", "pages"),
                (4, 4, 3, 2, 3, 2, 1),
            )
            match kind[0]:
                case "ask":
                    self.request("question", "POST", "/query", body)
                case "scoped":
                    self.request("question in a scope", "POST", "/query", scoped)
                case "stream":
                    self.request("stream", "POST", "/api/chat", body)
                case "closed":
                    self.request(
                        "closed stream",
                        "POST",
                        "/api/chat",
                        body,
                        read=rng.randrange(200),
                    )
                case "search":
                    self.request("search", "POST", "/api/search", scoped)
                case "facets":
                    self.request(
                        "facets",
                        "GET",
                        f"/api/facets?{urllib.parse.urlencode({'country_name': country})}",  # noqa: E501
                    )
                case _:
                    self.request("list", "GET", "/api/documents")

    def librarian(self, who: int) -> None:
        """Send versions of a report without waiting for each other, check what is
        served, delete it, and so on.
        """
        number = 0
        while not self.stop.is_set():
            words = [
                f"soaked{who}x{number}v{version}" for version in range(1 + number % 3)
            ]
            senders = []
            for word in words:
                text = f"# Soak {who}\n\n{word} is a word. " + "More words. " * (
                    99 if word != words[-1] else 5
                )
                if job := self.send_report(f"soak-{who}-{number % 5}.md", text):
                    senders.append(job)
            documents = {self.wait_for(job) for job in senders} - {""}
            if self.stop.is_set() or len(senders) < len(words):
                break
            self.check_served(words[-1], expected=True)
            for word in words[:-1]:
                self.check_served(word, expected=False)
            for document in documents:
                self.request("delete", "DELETE", f"/api/documents/{document}")
            self.check_served(words[-1], expected=False)
            number += 1
            self.rounds += 1

    def check_served(self, word: str, *, expected: bool) -> None:
        """Note an error unless a search by this word finds its report, or nothing."""
        body = {"query": word, "retrieval_method": "bm25", "collections": None}
        answer = self.request("check", "POST", "/api/search", body)
        if (
            answer
            and any(word in hit["text"] for hit in json.loads(answer)["hits"])
            != expected
        ):
            self.errors.append(
                f"{word} is {'not served' if expected else 'still served'}"
            )

    def check_counts(self) -> None:
        """Note an error unless lists and facets count the same reports; nothing may be
        written meanwhile.
        """
        facets = json.loads(self.request("facets", "GET", "/api/facets") or "{}")
        listed = json.loads(
            self.request("list", "GET", "/api/documents?limit=200") or "{}"
        ).get("documents", [])
        ready = [document for document in listed if document["status"] == "ready"]
        counts = (len(ready), sum(document["chunks"] for document in ready))
        if counts != (facets.get("documents"), facets.get("chunks")):
            self.errors.append(
                f"{counts} reports and passages are listed, facets count {facets.get('documents')} "  # noqa: E501
                f"and {facets.get('chunks')}"
            )

    def send_report(self, name: str, text: str) -> str:
        """Upload it and return its job, "" where it was refused."""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'  # noqa: E501
        choice = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="on_conflict"\r\n\r\nreplace\r\n'  # noqa: E501
        body = f"{choice}{head}{text}\r\n--{BOUNDARY}--\r\n".encode()
        return str(
            json.loads(
                self.request("upload", "POST", "/api/documents", body) or "{}"
            ).get("ingestion_id", "")
        )

    def wait_for(self, job: str) -> str:
        """Return the report that a job became, "" for a superseded one."""
        began = time.perf_counter()
        while not self.stop.is_set():
            found = json.loads(
                self.request("job", "GET", f"/api/ingestions/{job}") or "{}"
            )
            if found.get("state") in {"done", "failed", "cancelled", "superseded"}:
                (file,) = found["files"]
                if file["state"] not in {"done", "superseded"}:
                    self.errors.append(
                        f"{file['name']}: {file['state']}: {file['error']}"
                    )
                with self._lock:
                    self.times["report taken in"].append(
                        (time.perf_counter() - began) * 1000
                    )
                return str(file["document_id"] or "") if file["state"] == "done" else ""
            self.stop.wait(0.2)
        return ""

    def request(
        self,
        kind: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        read: int | None = None,
    ) -> bytes:
        """The response, or as many bytes as are ``read`` of it; empty where it
        failed.
        """
        sent = (
            f"multipart/form-data; boundary={BOUNDARY}"
            if isinstance(body, bytes)
            else "application/json"
        )
        began = time.perf_counter()
        try:
            status, text = self._connection().request(
                method, path, body, kind=sent, read=read
            )
            problem = (
                f"{status} {text[:200]!r}"
                if status >= 400 or b"event: error" in text
                else ""
            )
        except (OSError, http.client.HTTPException) as error:
            text, problem = b"", repr(error)
        with self._lock:
            self.times[kind].append((time.perf_counter() - began) * 1000)
            if problem:
                self.errors.append(f"{kind}: {problem}")
        return b"" if problem else text

    def _connection(self) -> PersistentConnection:
        """The calling thread's own."""
        if not hasattr(self._own, "connection"):
            self._own.connection = PersistentConnection(self._url, timeout=PATIENCE)
        found: PersistentConnection = self._own.connection
        return found


def used_by(root: int) -> tuple[float, int, int]:
    """Return the memory in MB (proportional set size), threads and open files of a
    process and all below it.
    """
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
    family, sizes, threads, files = {root}, 0, 0, 0
    while (
        more := {child for child, parent in parents.items() if parent in family}
        - family
    ):
        family |= more
    for process in family:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            threads += len(list(Path(f"/proc/{process}/task").iterdir()))
            files += len(list(Path(f"/proc/{process}/fd").iterdir()))
        except OSError:
            continue
        sizes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return sizes / 1024, threads, files


def soak(server: str, minutes: float, people: int, port: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DATA_DIR": folder,
            "PORT": str(port),
            "SAMPLE_DATA": "on",
        }
        environment |= {"EMBEDDING_PROVIDER": "minilm", "CHAT_MODEL": "extractive"}
        command = [sys.executable, *SERVERS[server]]
        with (Path(folder) / "log.txt").open("w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            while not is_ready(f"http://127.0.0.1:{port}"):
                time.sleep(0.5)
            return play(
                server,
                Traffic(f"http://127.0.0.1:{port}"),
                process.pid,
                minutes,
                people,
            )
        finally:
            process.terminate()
            process.wait()


def play(
    server: str, traffic: Traffic, process: int, minutes: float, people: int
) -> int:
    load = os.getloadavg()[0]
    threads = [
        threading.Thread(target=traffic.person, args=(seed,)) for seed in range(people)
    ]
    threads += [
        threading.Thread(target=traffic.librarian, args=(who,)) for who in range(2)
    ]
    for thread in threads:
        thread.start()
    end, used = time.monotonic() + 60 * minutes, list[tuple[float, int, int]]()
    while time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
        used.append(used_by(process))
    traffic.stop.set()
    for thread in threads:
        thread.join()
    # A stop leaves a report between two versions: only counts are checked then.
    time.sleep(SETTLE_SECONDS)
    traffic.check_counts()
    memory, half = [round(one[0]) for one in used], max(1, len(used) // 2)
    growth = max(memory[half:] or memory) / max(memory[:half])
    for name, kind in (
        (("threads", 1), ("open files", 2)) if minutes >= LONG_MINUTES else ()
    ):
        before, after = (
            max(one[kind] for one in used[:half]),
            max(one[kind] for one in used[half:]),
        )
        if after > GROWTH * before + 10:
            traffic.errors.append(f"{name} grew from {before} to {after}")
    if not traffic.rounds:
        traffic.errors.append("no report went all the way from upload to deletion")
    if minutes < LONG_MINUTES:
        requests = sum(map(len, traffic.times.values()))
        print(
            f"{requests} requests, {traffic.rounds} rounds of versions, {len(traffic.errors)} errors"  # noqa: E501
        )
        print(*traffic.errors[:20], sep="\n")
        return 1 if traffic.errors else 0
    rows = [
        {
            "kind": kind,
            "requests": len(times),
            "p50, ms": round(statistics.median(times)),
            "p99, ms": round(sorted(times)[int(0.99 * (len(times) - 1))]),
        }
        for kind, times in sorted(traffic.times.items())
    ]
    total = {
        "kind": f"{server}, {minutes:g} min, {people} people: {len(traffic.errors)} errors; memory {memory[0]} MB, "  # noqa: E501
        f"highest {max(memory[:half])} in the first half, {max(memory[half:] or memory)} in the second ({growth:.3f})"  # noqa: E501
    }
    keep(
        f"soak-{server.removesuffix('.py')}", [*rows, total], (load, os.getloadavg()[0])
    )
    (RESULTS / f"soak-{server.removesuffix('.py')}-memory.json").write_text(
        json.dumps(memory) + "\n"
    )
    print(*traffic.errors[:20], sep="\n")
    return 1 if traffic.errors or growth > GROWTH else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--server", choices=SERVERS, default="app.py")
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--port", type=int, default=8765)
    asked = parser.parse_args()
    sys.exit(soak(asked.server, asked.minutes, asked.people, asked.port))


if __name__ == "__main__":
    main()
