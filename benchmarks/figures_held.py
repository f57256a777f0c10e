"""What a process holds of many figures: its memory before and after it has answered
from their table, and the times.

    python -m benchmarks figures_held [--figures 1000000]

Reports of 200 figures each: 200 countries, 500 indicators, editions from 1975 on. They
are written as ingestion writes them. Then a new process opens the library, asks for the
list of indicators, a ranking and pages of `/api/figures`, and says how much memory it
took. Compare two sizes: what grows with figures shows in both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pycountry

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, DocumentRecord, Scope, Value
from chatbot.language.reported_figures import stated

INDICATORS, COUNTRIES, OF_REPORT = 500, 200, 200
ROUNDS = 20


def settings(folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        embedding_provider="hashing",
        chat_model="extractive",
        sample_data="off",
    )


def fill(folder: Path, count: int) -> None:
    names = sorted(country.name for country in pycountry.countries)[:COUNTRIES]
    with Services(settings(folder)) as services:
        services.prepare()
        for number in range(count // OF_REPORT):
            country, edition = names[number % COUNTRIES], 1975 + number // COUNTRIES
            metadata: dict[str, Value] = {"country_name": country, "year": edition}
            id, title = f"r{number:06d}", f"{country}: Country Report {edition}"
            chunks = []
            for ordinal in range(OF_REPORT):
                heading = (
                    "Indicator "
                    f"{(number // COUNTRIES * OF_REPORT + ordinal) % INDICATORS}"
                )
                text = f"{number % 89 + ordinal / 10:.1f}% ({edition})"
                chunk_id = Chunk.make_id(id, "v", ordinal)
                chunks.append(
                    Chunk(
                        chunk_id,
                        id,
                        title,
                        title,
                        text,
                        heading,
                        metadata=metadata,
                        ordinal=ordinal,
                    )
                )
            services.storage.figures.write(
                id, "v", [(chunk, stated(chunk.text)) for chunk in chunks]
            )
            record = DocumentRecord(
                id,
                title,
                title,
                title,
                "report_chatting",
                "ready",
                "v",
                metadata,
                len(chunks),
            )
            services.storage.documents.put(record)


def memory() -> float:
    """Megabytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * 4096 / 1e6


def opened(folder: Path) -> dict[str, float]:
    """What a process that answers from the table takes."""

    def median(ask: Callable[[], object]) -> float:
        times = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            ask()
            times.append((time.perf_counter() - started) * 1000)
        return round(statistics.median(times), 1)

    with Services(settings(folder)) as services:
        figures, reports = services.storage.figures, services.storage.documents.all()
        begun = memory()
        result: dict[str, float] = {
            "reports": len(reports),
            "MB with the catalog of reports": round(begun, 1),
        }
        result["indicators"] = len(figures.indicators(Scope()))
        result["MB more for the list of indicators"] = round(memory() - begun, 1)
        total = figures.page(Scope(), limit=50)
        result |= {
            "figures": total.total,
            "ms a page of /api/figures": median(
                lambda: figures.page(Scope(), limit=50)
            ),
        }
        result["ms figures of one indicator and year"] = median(
            lambda: figures.find(Scope(), headings=["Indicator 7"], year=1975)
        )
        result["MB more after all of these"] = round(memory() - begun, 1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figures", type=int, default=1_000_000)
    parser.add_argument("--opened", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.opened is not None:
        print(json.dumps(opened(arguments.opened)))
        return
    print(
        "| | "
        + " | ".join(
            f"{count:,}" for count in (arguments.figures // 10, arguments.figures)
        )
        + " |\n|---|---|---|"
    )
    columns = []
    for count in (arguments.figures // 10, arguments.figures):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            fill(Path(folder), count)
            seconds = time.perf_counter() - started
            command = [
                sys.executable,
                "-m",
                "benchmarks",
                "figures_held",
                "--opened",
                folder,
            ]
            found = json.loads(
                subprocess.run(
                    command, check=True, capture_output=True, text=True
                ).stdout
            )
            columns.append({"seconds to write": round(seconds, 1), **found})
    for name in columns[0]:
        print(f"| {name} | {columns[0][name]:,} | {columns[1][name]:,} |")


if __name__ == "__main__":
    main()
