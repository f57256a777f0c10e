"""The owner's questions while strangers send the worst bodies, files and questions.

    python -m benchmarks crowd [--strangers 50] [--questions 100] [--seconds 40]
        [--kinds body,file,question,search]

The sample reports, the built-in model, quotes, ACCESS=read. Each stranger has an
address of their own (127.0.1.N) and begins again as soon as a request has ended; half
of them do not wait when they are told to. The owner has a key and asks questions one
after the other, uncached: first alone, then beside the strangers. Reported are the
owner's median and slowest question, what the strangers were answered, and the server's
memory and temporary files. Strangers run with niceness 19, so that they take little of
the processors themselves. Linux only.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.compare import COUNTRIES, TOPICS, is_ready

KINDS = ("body", "file", "question", "search")
BOUNDARY = "report-chat-crowd"
PATIENCE = 120.0
TABLE_ROWS, TABLE_COLUMNS = 900, 200
SEARCH_TERMS = 400


def worst_question() -> str:
    """Return 4,000 characters that name many countries, years and topics."""
    names = " and ".join(COUNTRIES)
    clauses = [f"compare {topic} of {names} from 1990 to 2025" for topic in TOPICS]
    text = "; ".join(clauses)
    return (text * (1 + 4_000 // len(text)))[:3_990] + "?"


def worst_table() -> bytes:
    """Return a table of figures as CSV."""
    text = io.StringIO()
    text.write("Country," + ",".join(f"Share {n} (%)" for n in range(TABLE_COLUMNS)))
    for row in range(TABLE_ROWS):
        cells = ",".join(f"{(row * column) % 97}.5" for column in range(TABLE_COLUMNS))
        text.write(f"\n{COUNTRIES[row % len(COUNTRIES)]} {row},{cells}")
    return text.getvalue().encode()


def worst_text() -> bytes:
    """Return a long text with a figure in each sentence."""
    lines = [
        f"In {1990 + number % 35} {COUNTRIES[number % len(COUNTRIES)]} had "
        f"{number},{number % 900 + 100} cases, {number % 100} % more than before."
        for number in range(60_000)
    ]
    return "\n".join(lines).encode()


def form(question: str, name: str, content: bytes) -> tuple[bytes, str]:
    """Return a form with a question and a file, and its content type."""
    request = json.dumps({"query": question, "cache": False})
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="request"\r\n\r\n'
        f"{request}\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; "
        f'name="files"; filename="{name}"\r\n\r\n'
    )
    body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    return body, f"multipart/form-data; boundary={BOUNDARY}"


def request_of(kind: str, rng: random.Random) -> tuple[str, Any, str, bool]:
    """Return path, body, content type, and whether the body goes in tiny pieces."""
    number = rng.randrange(10**6)
    if kind == "body":
        choice = rng.randrange(3)
        if choice == 0:
            nested = b'{"query":' + b"[" * 400_000 + b"]" * 400_000 + b"}"
            return "/query", nested, "application/json", False
        if choice == 1:
            fields = {f"field{n}": n for n in range(40_000)}
            return "/query", json.dumps(fields).encode(), "application/json", False
        return "/query", b" " * 15_000, "application/json", True
    if kind == "file":
        content = rng.choice((worst_table, worst_text))()
        name = "table.csv" if content.startswith(b"Country") else "text.txt"
        body, content_type = form(f"Which share is highest, {number}?", name, content)
        return "/query", body, content_type, False
    if kind == "question":
        asked = {"query": f"{number} {worst_question()}"[:3_999], "cache": False}
        asked["mode"] = rng.choice(("auto", "deep", "report", "compare"))
        return "/query", json.dumps(asked).encode(), "application/json", False
    terms = " ".join(f"population{n} health" for n in range(SEARCH_TERMS))[:3_900]
    wanted = {"query": f"{number} {terms}", "limit": 50, "retrieval_method": "hybrid"}
    return "/api/search", json.dumps(wanted).encode(), "application/json", False


def stranger(port: int, number: int, kinds: list[str], answers: Any) -> None:
    """Send requests without end."""
    os.nice(19)
    rng = random.Random(number)
    kind = kinds[number % len(kinds)]
    while True:
        path, body, content_type, is_slow = request_of(kind, rng)
        address = (f"127.0.1.{number + 1}", 0)
        link = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=PATIENCE, source_address=address
        )
        began = time.perf_counter()
        status = 0
        try:
            headers = {"Content-Type": content_type}
            if is_slow:
                pieces = (body[at : at + 1] for at in range(len(body)))
                link.request("POST", path, pieces, headers, encode_chunked=True)
            else:
                link.request("POST", path, body, headers)
            response = link.getresponse()
            status = response.status
            response.read()
            wait = float(response.headers.get("Retry-After", 0))
        except OSError:
            wait = 1.0
        finally:
            link.close()
        answers.put((kind, status, time.perf_counter() - began))
        # Half of them do as they are told; the others come again at once.
        time.sleep(min(wait, 5.0) if number % 2 else 0.05)


def owner(port: int, key: str, count: int, seconds: float) -> list[float]:
    """Ask questions one after the other; return how long each took."""
    times: list[float] = []
    end = time.monotonic() + seconds
    for number in range(count):
        if time.monotonic() > end:
            break
        country = COUNTRIES[number % len(COUNTRIES)]
        other = COUNTRIES[(number + 7) % len(COUNTRIES)]
        topic = TOPICS[number % len(TOPICS)]
        question = f"What is the {topic} of {country}?"
        if number % 4 == 3:
            question = f"Compare {topic} in {country} and {other}."
        asked = {"query": question, "cache": False}
        if number % 10 == 9:
            asked["mode"] = "deep"
            asked["query"] = f"Compare {topic} of {', '.join(COUNTRIES)} since 2015."
        body = json.dumps(asked)
        began = time.perf_counter()
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        link.request(
            "POST",
            "/query",
            body,
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        response = link.getresponse()
        response.read()
        link.close()
        if response.status != 200:
            raise SystemExit(f"The owner was answered {response.status}.")
        times.append(time.perf_counter() - began)
    return times


def memory(pid: int) -> int:
    """Return the MB in use by a process and its children."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if re.search(rf"^(Pid|PPid):\t{pid}$", text, re.M):
            found = re.search(r"VmRSS:\s+(\d+)", text)
            total += int(found[1]) if found else 0
    return total // 1024


def stored(folder: Path) -> int:
    """Return the MB below a folder."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total // 1_000_000


def describe(times: list[float]) -> str:
    """Return the median and the slowest as text."""
    return (
        f"{len(times)} questions, median {statistics.median(times):.2f} s, "
        f"slowest {max(times):.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strangers", type=int, default=50)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        port = 8_000 + os.getpid() % 20_000
        environment = {
            **os.environ,
            "PORT": str(port),
            "DATA_DIR": str(data),
            "ACCESS": "read",
            "SAMPLE_DATA": "on",
            "PYTHONPATH": str(Path.cwd()),
        }
        python = [sys.executable, "-m", "chatbot"]
        with (Path(scratch) / "log.txt").open("wb") as log:
            server = subprocess.Popen(
                [*python, "serve"], env=environment, cwd=scratch, stdout=log, stderr=log
            )
        try:
            while not is_ready(f"http://127.0.0.1:{port}"):
                time.sleep(0.5)
            made = subprocess.run(
                [*python, "keys", "create", "owner", "--role", "admin"],
                env=environment,
                cwd=scratch,
                capture_output=True,
                text=True,
                check=True,
            )
            key = re.findall(r"rck_[\w-]+", made.stdout)[0]
            owner(port, key, 12, 30.0)
            print("load", *os.getloadavg(), flush=True)
            alone = owner(port, key, given.questions, given.seconds)
            print("alone:", describe(alone), flush=True)
            print("memory", memory(server.pid), "MB", flush=True)
            answers: Any = multiprocessing.Queue()
            kinds = given.kinds.split(",")
            crowd = [
                multiprocessing.Process(
                    target=stranger, args=(port, number, kinds, answers), daemon=True
                )
                for number in range(given.strangers)
            ]
            for each in crowd:
                each.start()
            time.sleep(3.0)
            beside = owner(port, key, given.questions, given.seconds)
            print(
                "beside:",
                describe(beside),
                "slowest five",
                [round(each, 2) for each in sorted(beside)[-5:]],
                flush=True,
            )
            print(
                "memory",
                memory(server.pid),
                "MB, stored in tmp",
                stored(data / "tmp"),
                "MB; load",
                *os.getloadavg(),
                flush=True,
            )
            for each in crowd:
                each.kill()
            statuses: Counter[tuple[str, int]] = Counter()
            longest: dict[tuple[str, int], float] = {}
            while not answers.empty():
                kind, status, took = answers.get()
                statuses[kind, status] += 1
                longest[kind, status] = max(took, longest.get((kind, status), 0.0))
            for (kind, status), count in sorted(statuses.items()):
                print(
                    f"  {kind} {status}: {count}, longest {longest[kind, status]:.1f} s"
                )
            ratio = max(beside) / max(alone)
            print(f"ratio of the slowest: {ratio:.2f}")
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
