"""This product beside its peers: in turn, in one run, each in an environment of its
own.

    python -m benchmarks compare search [--sizes 100000 1000000] [--peers faiss chroma ...]
    python -m benchmarks compare question|ingest|start

The environments are made by pip from `benchmarks/peers/*.txt` (exact versions) in a
cache folder outside the repository. A peer that cannot be installed or fails is named
and left out. Tables and raw figures go to `benchmarks/results/`. Machines are noisy:
what counts are ratios within a run, and each run notes its load.
"""  # noqa: E501

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np

from benchmarks import embedder_share
from benchmarks.approximate_search import held_out, make_vectors, real_vectors
from chatbot.app.services import build
from chatbot.config import WARM_CACHE
from chatbot.config.settings import Settings
from chatbot.database.rows import decode_vector
from chatbot.models.embed.minilm import FOLDER as MODEL

ROOT = Path(__file__).parent.parent
PEERS, RESULTS = ROOT / "benchmarks" / "peers", ROOT / "benchmarks" / "results"
CACHE = Path.home() / ".cache" / "report-chat-benchmarks"
OURS = "report-chat"
VECTORS = ("faiss", "chroma", "lancedb", "qdrant", "usearch", "sqlite_vec")
PIPELINES = ("langchain", "llamaindex", "haystack")
FILTERS: dict[str, tuple[str, int] | None] = {
    "none": None,
    "50 %": ("half", 0),
    "2 %": ("country", 7),
}
MODULO = {"half": 2, "country": 50}
TOP_K, QUESTIONS, CLIENTS, SECONDS = 10, 20, 8, 5.0
TOPICS = (
    "population",
    "inflation rate",
    "life expectancy",
    "area",
    "literacy",
    "exports",
    "climate",
    "median age",
)
COUNTRIES = ("Afghanistan", "Bangladesh", "Colombia", "Egypt", "Kenya")
Row = dict[str, Any]


class PersistentConnection:
    """A connection to one server, for one thread, that is kept between requests, as
    browsers keep theirs.

    On connections of one request, a server that waits 40 ms for the confirmation of
    what it sent looks quick: the kernel confirms the first packets of a connection at
    once, and later ones not.
    """

    def __init__(self, url: str, *, timeout: float = 60.0) -> None:
        self._http = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = "application/json",
        read: int | None = None,
    ) -> tuple[int, bytes]:
        """Return the status and the first ``read`` bytes of the response. A body that
        is not bytes is sent as JSON.

        Raises OSError or HTTPException.
        """
        data = (
            body
            if body is None or isinstance(body, bytes)
            else json.dumps(body).encode()
        )
        headers = {} if data is None else {"Content-Type": kind}
        try:
            try:
                self._http.request(method, path, data, headers)
                response = self._http.getresponse()
            # closed by the server meanwhile, as it was idle: opened again, as browsers
            # do
            except ConnectionError:
                self._http.close()
                self._http.request(method, path, data, headers)
                response = self._http.getresponse()
            content = response.read(read)
        except (OSError, http.client.HTTPException):
            self._http.close()
            raise
        if not response.isclosed():
            response.close()
            self._http.close()
        return response.status, content

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._http.close()


def python_of(peer: str) -> str:
    """The interpreter of a peer's environment, which is made where it is not there.
    Raises CalledProcessError.
    """
    if peer == OURS:
        return sys.executable
    wanted = (PEERS / f"{peer}.txt").read_text(encoding="utf-8")
    folder = CACHE / peer
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "-r", PEERS / f"{peer}.txt"],
            check=True,
        )
        stamp.write_text(wanted, encoding="utf-8")
    return str(python)


class Worker:
    """A peer at work in its own process: a line of JSON in, one out."""

    def __init__(self, peer: str, kind: str, data: Path) -> None:
        self.peer = peer
        command = [
            python_of(peer),
            str(PEERS / f"{kind}.py"),
            peer.replace("-", "_"),
            str(data),
        ]
        environment = {
            **os.environ,
            "MINILM": str(MODEL),
            "PYTHONPATH": str(ROOT),
            "TOKENIZERS_PARALLELISM": "false",
        }
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  # not a pipe: some warn until it is full
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment,
        )
        self.built = self._read()

    def call(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(json.JSONDecodeError):  # some peers print
                return json.loads(line)
        self._process.wait()
        self._said.seek(0)
        raise OSError(self._said.read()[-500:])

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()


def workers(
    stack: ExitStack, peers: Sequence[str], kind: str, data: Path
) -> Iterator[Worker]:
    """Those that can be had."""
    for peer in peers:
        try:
            worker = Worker(peer, kind, data)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{peer} is left out: {error}", flush=True)
            continue
        stack.callback(worker.close)
        print(f"{peer} is ready after {worker.built['seconds']:.1f} s", flush=True)
        yield worker


def search(peers: Sequence[str], rounds: int, size: int, bench: Path) -> list[Row]:
    """Milliseconds and recall of each peer under each filter; vectors of real sentences
    (`approximate_search`).
    """
    real, queries = held_out(real_vectors(bench))
    vectors = make_vectors(real, size)
    rows = np.arange(size)
    keeps = {
        name: np.flatnonzero(rows % MODULO[f[0]] == f[1]) if f else rows
        for name, f in FILTERS.items()
    }
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "vectors.npz"
        np.savez(data, vectors=vectors, queries=queries)
        times: dict[tuple[str, str], list[float]] = {}
        recall: dict[tuple[str, str], float] = {}
        memory: dict[str, int] = {}
        ready = list(workers(stack, peers, "vectors", data))
        right = {
            name: nearest(vectors[kept], kept, queries) for name, kept in keeps.items()
        }
        del vectors
        for _ in range(rounds):
            for name, condition in FILTERS.items():
                for worker in ready:
                    found = worker.call(filter=condition, k=TOP_K)
                    memory[worker.peer] = found[
                        "mb"
                    ]  # of the last round, when what is made beside is made
                    if found["rows"]:
                        key = worker.peer, name
                        times.setdefault(key, []).append(found["ms"])
                        pairs = zip(
                            found["rows"], right[name], strict=False
                        )  # slow peers answer fewer
                        recall[key] = statistics.mean(
                            len(set(a) & set(b)) / TOP_K for a, b in pairs
                        )
    return [
        {
            "peer": worker.peer,
            "build, s": round(worker.built["seconds"], 1),
            "memory, MB": memory[worker.peer],
        }
        | {
            f"{name}, ms": round(statistics.median(times[worker.peer, name]), 2)
            for name in FILTERS
            if (worker.peer, name) in times
        }
        | {
            f"{name}, recall": round(recall[worker.peer, name], 3)
            for name in FILTERS
            if (worker.peer, name) in times
        }
        for worker in ready
    ]


def nearest(vectors: Any, numbers: Any, queries: Any) -> list[list[int]]:
    best = np.argpartition(-(queries @ vectors.T), TOP_K, axis=1)[:, :TOP_K]
    return [[int(numbers[place]) for place in row] for row in best]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, float]]:
    """This product with the sample reports, as `python -m chatbot serve`; and the
    seconds until it could answer.
    """
    environment = {
        **os.environ,
        "DATA_DIR": str(folder),
        "SAMPLE_DATA": "on",
        "PYTHONUNBUFFERED": "1",
    }
    environment |= {"EMBEDDING_PROVIDER": "minilm", "CHAT_MODEL": "extractive"}
    command = [sys.executable, "-m", "chatbot", "serve", "--port", "0"]
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as own:
        try:
            assert own.stdout is not None
            url = next(
                word
                for line in own.stdout
                for word in line.split()
                if word.startswith("http://")
            )
            while not is_ready(url):
                time.sleep(0.1)
            with PersistentConnection(url) as client:
                ask(client, "What is the population of Kenya?")
            yield url, time.perf_counter() - began
        finally:
            own.terminate()
            own.wait()


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready") as response:
            samples = json.load(response)["sample_data"]
    except OSError:
        return False
    return bool(samples["total"]) and samples["ready"] == samples["total"]


def ask(client: PersistentConnection, question: str) -> float:
    """Milliseconds until the whole answer is there."""
    began = time.perf_counter()
    status, answer = client.request("POST", "/query", {"query": question})
    assert status == 200, answer
    assert json.loads(answer)["response"]
    return (time.perf_counter() - began) * 1000


def passages(data_dir: Path, target: Path) -> int:
    """The passages and vectors that the product has of the sample reports, for the
    others.
    """
    texts, vectors = [], []
    with build(Settings(data_dir=data_dir, sample_data="off")) as services:
        for name in services.settings.chunk_collections:
            for row in services.storage.database[name].find({}):
                texts.append(
                    f"{row['document_name']}\n{row['document_title']}\n{row['data']}"
                )
                vectors.append(decode_vector(row["data_embedding"]))
    np.savez(target, texts=np.asarray(texts), vectors=np.vstack(vectors))
    return len(texts)


def questions(number: int) -> Iterator[str]:
    """Each in other words than before, so that no cache answers."""
    for turn in range(QUESTIONS):
        place = number * QUESTIONS + turn
        topic, country = (
            TOPICS[place % len(TOPICS)],
            COUNTRIES[place // len(TOPICS) % len(COUNTRIES)],
        )
        yield f"What is the {topic} of {country} (question q{place})?"


def throughput(url: str, number: int) -> float:
    """Answers a second to some clients at once."""
    end, asked = time.monotonic() + SECONDS, 0

    def client(place: int) -> int:
        count = 0
        with PersistentConnection(url) as connection:
            while time.monotonic() < end:
                for question in questions(1000 * (place + 1) + 100 * number + count):
                    ask(connection, question)
                    count += 1
                    if time.monotonic() >= end:
                        break
        return count

    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = sum(pool.map(client, range(CLIENTS)))
    return asked / SECONDS


def question(peers: Sequence[str], rounds: int, _size: int) -> list[Row]:
    """A whole question over HTTP: hybrid retrieval, the same embedder, no language
    model; and the start.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with served(folder / "own"):
            pass
        count = passages(folder / "own", folder / "passages.npz")
        url, seconds = stack.enter_context(served(folder / "own"))
        urls, starts = {OURS: url}, {OURS: seconds}
        for worker in workers(
            stack,
            [peer for peer in peers if peer != OURS],
            "pipelines",
            folder / "passages.npz",
        ):
            urls[worker.peer], starts[worker.peer] = (
                worker.call(serve=True)["url"],
                worker.built["seconds"],
            )
        times: dict[str, list[float]] = {peer: [] for peer in urls}
        rates: dict[str, list[float]] = {peer: [] for peer in urls}
        for number in range(rounds):
            for peer, url in urls.items():
                with PersistentConnection(url) as client:
                    times[peer] += [ask(client, one) for one in questions(number)]
                rates[peer].append(throughput(url, number))
    return [
        {
            "peer": peer,
            "passages": count,
            "p50, ms": round(statistics.median(times[peer]), 1),
            "p95, ms": round(float(np.percentile(times[peer], 95)), 1),
            f"a second, {CLIENTS} clients": round(statistics.median(rates[peer]), 1),
            "start, s": round(starts[peer], 1),
        }
        for peer in urls
    ]


def ingest(peers: Sequence[str], rounds: int, _size: int) -> list[Row]:
    """The bare embedder's time as a share of that of taking in the same passages; 1 =
    nothing but embedding.
    """
    with ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "passages.npz"
        with np.load(WARM_CACHE, allow_pickle=False) as stored:
            count = min(len(stored["vectors"]), 300)
        texts = [
            f"Passage {n}. " + "The report says what was counted that year. " * 12
            for n in range(count)
        ]
        np.savez(data, texts=np.asarray(texts), vectors=np.empty((0, 0)))
        rates: dict[str, list[float]] = {}
        ready = list(
            workers(stack, [peer for peer in peers if peer != OURS], "pipelines", data)
        )
        for _ in range(rounds):
            for worker in ready:
                rates.setdefault(worker.peer, []).append(
                    worker.call(ingest=True)["ratio"]
                )
    own = embedder_share.measure(rounds)
    return [{"peer": OURS, "embedder's share": round(own, 2)}] + [
        {"peer": peer, "embedder's share": round(statistics.median(found), 2)}
        for peer, found in rates.items()
    ]


def start(peers: Sequence[str], rounds: int, size: int) -> list[Row]:
    """Seconds from nothing running to the first answer over the same passages."""
    return [
        {"peer": row["peer"], "start, s": row["start, s"]}
        for row in question(peers, 1, size)
    ]


KINDS = {
    "search": (search, VECTORS),
    "question": (question, PIPELINES),
    "ingest": (ingest, PIPELINES),
    "start": (start, PIPELINES),
}


def keep(name: str, rows: list[Row], loads: tuple[float, float]) -> None:
    """The raw figures, and a table of them."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    lines += [
        f"| {' | '.join(str(row.get(key, '–')) for key in names)} |" for row in rows
    ]
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python "
        f"{platform.python_version()}"
    )
    about = (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {machine}, load {loads[0]:.1f} "
        f"to {loads[1]:.1f}"
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )
    text = "\n".join([f"# {name}", about, "", *lines, ""])
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=KINDS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100_000], help="passages, for search"
    )
    parser.add_argument(
        "--bench", type=Path, help="the folder of data sets, for search"
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        help="default: all; none = only this product, and no file is written",
    )
    asked = parser.parse_args()
    measure, peers = KINDS[asked.what]
    if asked.what == "search":
        if asked.bench is None:
            parser.error("search needs --bench")
        measure = partial(search, bench=asked.bench)
    for size in asked.sizes if asked.what == "search" else [0]:
        before = os.getloadavg()[0]
        rows = measure(
            [OURS, *(peers if asked.peers is None else asked.peers)], asked.rounds, size
        )
        if asked.peers == []:
            print(rows)
            continue
        keep(
            f"{asked.what}-{size}" if size else asked.what,
            rows,
            (before, os.getloadavg()[0]),
        )


if __name__ == "__main__":
    main()
