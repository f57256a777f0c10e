"""A PDF of 600 pages until it can be asked about, and the server's memory afterwards,
beside another checkout.

    python -m benchmarks large_pdf [BASE] [--pages 600] [--rounds 2]
    python -m benchmarks large_pdf --parts [--pages 600]

Each round starts a server of each checkout over the sample reports and uploads two
PDFs, one after the other: sentences of the sample reports in an order of their own, so
that no stored vector fits, with headings and running lines. The time is from the upload
until the job is done and a question finds passages. Then the first sign of progress
that a client sees, how many different ones there were, and the memory of the server's
process before, and after the second file and five quiet seconds (resident, without
files that are mapped). --parts: what the time of one PDF consists of, each part alone
in one process.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.black_box import FINISHED, Server
from benchmarks.ingest_throughput import Seconds
from benchmarks.question_time import children, processor_seconds
from benchmarks.recorded import server
from chatbot.app.services import Services
from chatbot.config import SAMPLE_DATA
from chatbot.config.settings import Settings
from chatbot.library.loaders.isolation import LoaderPool
from chatbot.library.sources import Source, make_document
from tests.library.loaders.pdfs import Page, write

ROOT = Path(__file__).parents[1]
LINES, CHARACTERS, PAGES_OF_CHAPTER = 16, 85, 6
QUIET_SECONDS = 5.0
SETTINGS = {
    "EMBEDDING_PROVIDER": "minilm",
    "CHAT_MODEL": "extractive",
    "SUMMARIES": "off",
    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}


@dataclass
class Upload:
    seconds: float
    processor: float
    first_progress: float
    steps: int
    passages: int


def sentences(seed: int) -> Iterator[str]:
    """Yield sentences of the sample reports for ever, in an order that the seed
    decides.
    """
    texts = [
        path.read_text(encoding="utf-8")
        for path in sorted((SAMPLE_DATA / "country_reports").glob("*.md"))
    ]
    lines = (
        line
        for text in texts
        for line in text.splitlines()
        if not line.startswith(("#", "|", "---"))
    )
    found = [
        one
        for line in lines
        for one in re.split(r"(?<=[.;]) ", line)
        if 40 < len(one) < 400
    ]
    order = random.Random(seed)
    while True:
        yield order.choice(found)


def write_pdf(path: Path, pages: int, seed: int) -> None:
    source, drawn = sentences(seed), list[Page]()
    for number in range(1, pages + 1):
        page = (
            Page()
            .text(72, 40, "Collected observations", size=8)
            .text(300, 770, str(number), size=8)
        )
        line = 0
        if number % PAGES_OF_CHAPTER == 1:
            chapter = number // PAGES_OF_CHAPTER + 1
            page.text(
                72,
                80,
                f"Chapter {chapter}: District {chapter} of part {seed}",
                size=18,
                bold=True,
            )
            line = 3
        while line < LINES:
            paragraph = textwrap.wrap(
                " ".join(next(source) for _ in range(4)), CHARACTERS
            )[: LINES - line]
            text = [
                row.encode("cp1252", "replace").decode("cp1252") for row in paragraph
            ]
            page.lines(72, 80 + 20 * line, text, leading=13)
            line += len(paragraph) + 1
        drawn.append(page)
    write(path, drawn, title=f"Collected observations {seed}")


def resident_mb(process: int) -> float:
    """Return the anonymous memory of the process and of those that it started."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return (
        int(
            next(
                line.split()[1]
                for line in status.splitlines()
                if line.startswith("RssAnon:")
            )
        )
        / 1024
    )


def upload(asked: Server, process: int, path: Path) -> Upload:
    before, began = processor_seconds(process), time.perf_counter()
    body = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="%b"\r\n\r\n'
        % path.name.encode()
    )
    status, job = asked.send(
        "POST",
        "/api/documents",
        (
            body + path.read_bytes() + b"\r\n--x--\r\n",
            "multipart/form-data; boundary=x",
        ),
    )
    assert status == 202, job
    seen, first = set[tuple[Any, ...]](), 0.0
    while True:
        state = asked.send("GET", f"/api/ingestions/{job['ingestion_id']}")[1]
        file = state["files"][0]
        seen.add(
            (
                file["state"],
                file["detail"],
                file.get("done_chunks"),
                state.get("progress"),
            )
        )
        if not first and (
            file["detail"] or file.get("done_chunks") or state.get("progress")
        ):
            first = time.perf_counter() - began
        if state["state"] in FINISHED:
            break
        time.sleep(0.1)
    assert file["state"] == "done", file
    status, answer = asked.send(
        "POST",
        "/query",
        {"query": "Collected observations: what is said about districts?"},
    )
    assert status == 200, answer
    assert answer["citations"], answer
    seconds = time.perf_counter() - began
    return Upload(
        seconds, processor_seconds(process) - before, first, len(seen), file["chunks"]
    )


def measure(name: str, root: Path, files: list[Path]) -> None:
    with server(root, SETTINGS) as url:
        process = children()[-1]
        asked = Server(url, {})
        asked.send("POST", "/query", {"query": "What is the climate?"})
        before = resident_mb(process)
        for path in files:
            try:
                made = upload(asked, process, path)
            except http.client.HTTPException as error:
                raise SystemExit(f"{name}: {error!r}") from error
            print(
                f"{name}: {path.name} {made.seconds:.1f} s ({made.processor:.1f} s of processor in the server), "  # noqa: E501
                f"{made.passages} passages, progress after {made.first_progress:.1f} s, {made.steps} steps "  # noqa: E501
                f"(load {os.getloadavg()[0]:.0f})",
                flush=True,
            )
        time.sleep(QUIET_SECONDS)
        after = resident_mb(process)
        print(
            f"{name}: memory {before:.0f} MB before, {after:.0f} MB after, {after - before:+.0f} MB",  # noqa: E501
            flush=True,
        )


def measure_parts(path: Path) -> None:
    """Say what one PDF costs: reading in the reader's process, and everything else in
    this one.
    """
    with tempfile.TemporaryDirectory() as data, closing(LoaderPool(1)) as pool:
        before, began = os.times(), time.perf_counter()
        loaded = pool.load(path)
        pool.close()
        parts = {
            "reading": (
                time.perf_counter() - began,
                os.times().children_user - before.children_user,
            )
        }
        settings = Settings(
            data_dir=Path(data),
            embedding_provider="minilm",
            chat_model="extractive",
            sample_data="off",
        )
        with Services(settings) as services:
            ingestor = services.ingesting.ingestor
            embedder = services.runtime.embedder.uncached
            document = make_document(Source(path, str(path)), loaded)
            embedder.embed_documents(["warm up"] * 64)
            seconds = Seconds()
            chunks = ingestor.cut(document, "")
            parts["cutting"] = seconds.stop()
            seconds = Seconds()
            embedder.embed_documents([chunk.search_text for chunk in chunks])
            parts["embedding alone"] = seconds.stop()
            seconds = Seconds()
            ingestor.ingest(document)
            parts["cutting, embedding, writing"] = seconds.stop()
    print(
        f"{path.name}: {loaded.pages} pages, {len(chunks)} passages (load {os.getloadavg()[0]:.0f})"  # noqa: E501
    )
    for name, (clock, processor) in parts.items():
        print(f"{name:<30} {clock:6.1f} s, {processor:6.1f} s of processor")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", type=Path, help="another checkout")
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--parts", action="store_true")
    chosen = parser.parse_args()
    roots = {"this": ROOT} | ({"base": chosen.base.resolve()} if chosen.base else {})
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"observations-{seed}.pdf") for seed in (1, 2)]
        for seed, path in enumerate(files, start=1):
            write_pdf(path, chosen.pages, seed)
        if chosen.parts:
            measure_parts(files[0])
            return
        for number in range(chosen.rounds):
            for name in sorted(roots, reverse=number % 2 == 0):
                measure(name, roots[name], files)


if __name__ == "__main__":
    main()
