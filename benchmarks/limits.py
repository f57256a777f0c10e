"""Counts of what kinds of work cost, beside their limits in `limits.toml`.

    python -m benchmarks limits [--write]

Milliseconds are noise on a machine that others use, too; counts are not. Each kind of
work is done twice over a small library, once in the SQLite file and once on the double
of a server: what is built at the first time is not counted. ``--write`` replaces the
limits by what was measured: for a commit that lowers them, or says why they rise.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.rows_read import FILE, SERVER, Library, library
from chatbot.library.sources import Source
from chatbot.models.embed.hashing import HashingEmbedder
from tests.answering.modes.conftest import MALI_2021
from tests.conftest import KENYA_2023

DIMENSIONS = 256
BY_THE_CLOCK = "hooks"
"""What a thread of its own reads now and then, whatever is asked."""
LIMITS = Path(__file__).with_name("limits.toml")
REPORTS = {
    "kenya": (KENYA_2023, {"country_name": "Kenya", "year": 2023}),
    "mali": (MALI_2021, {"country_name": "Mali", "year": 2021}),
}


@dataclass(frozen=True)
class Counts:
    """``inferences``: texts that are embedded; ``products``: of a vector with the
    phrases of all headings; ``statements`` of the SQLite file; ``rows`` that a server
    reads.
    """

    inferences: int
    products: int
    statements: int
    rows: int


Work = Callable[[Library], None]


def asks(*queries: str, path: str = "/query") -> Sequence[Work]:
    return [
        partial(Library.post, path=path, body={"query": query}) for query in queries
    ]


def gets(*paths: str) -> Sequence[Work]:
    return [partial(Library.get, path=path) for path in paths]


KINDS: dict[str, Sequence[Work]] = {
    "value": asks(
        "How large is the population growth of Kenya?",
        "What is the population of Kenya?",
    ),
    "reasons": asks("Why is Mali poor?", "Why does tourism matter in Kenya?"),
    "ranking": asks(
        "Which country has the lowest growth rate?",
        "Which country has the largest population?",
    ),
    "comparison": asks(
        "Compare the location of Kenya and Mali.",
        "Compare the population of Kenya and Mali.",
    ),
    "stream": asks(
        "What is the location of Mali?",
        "What is the population growth rate of Kenya?",
        path="/api/chat",
    ),
    "other_language": asks("¿Dónde está Malí?", "¿Cuál es la población de Kenia?"),
    "greeting": asks("Thank you!", "Hello!"),
    "search": asks("location", "population", path="/api/search"),
    "reports": gets("/api/reports", "/api/reports?limit=20"),
    "facets": gets("/api/facets", "/api/facets?country_name=Kenya"),
    "figures": gets("/api/figures", "/api/figures?indicator=Population"),
    "ready": gets("/readyz", "/readyz"),
}
"""Of each kind one that builds what is missing, and one that is counted."""


def measured(folder: Path) -> dict[str, Counts]:
    """Return what each kind of work costs."""
    counts: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
    for database in (FILE, SERVER):
        with _library(database, folder / database.split()[0]) as one:
            for kind, works in KINDS.items():
                counts[kind] |= _counted(one, works, is_file=database == FILE)
    return {kind: Counts(**of_kind) for kind, of_kind in counts.items()}


@contextmanager
def _library(database: str, folder: Path) -> Iterator[Library]:
    """Serve two reports, read as an upload is."""
    with library(
        database, folder, reports=0, dimensions=DIMENSIONS, chat_model="extractive"
    ) as one:
        ingesting = one.services.ingesting.service
        for name, (text, about) in REPORTS.items():
            path = folder / f"{name}.md"
            path.write_text(text, encoding="utf-8")
            stated = {**about, "type": "country_report"}
            ingesting.ingest(Source(path, name), overrides=stated)
        yield one


def _counted(one: Library, works: Sequence[Work], *, is_file: bool) -> dict[str, int]:
    """Return what the second work of a kind costs."""
    first, second = works
    first(one)
    one.database.counts.clear()
    with ExitStack() as patches:
        # It embeds documents one by one by this method, too.
        inferences = patches.enter_context(
            patch.object(
                HashingEmbedder,
                "embed_query",
                autospec=True,
                side_effect=HashingEmbedder.embed_query,
            )
        )
        products = patches.enter_context(patch("numpy.vecdot", wraps=np.vecdot))
        second(one)
    database = one.database.counts
    if is_file:
        return {
            "inferences": inferences.call_count,
            "products": products.call_count,
            "statements": database.calls.total() - database.calls[BY_THE_CLOCK],
        }
    return {"rows": database.rows.total()}


def limits() -> Mapping[str, Counts]:
    """Return the limits of each kind of work."""
    table = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    return {kind: Counts(**counts) for kind, counts in table.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="replace the limits")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    if chosen.write:
        head, _, _ = LIMITS.read_text(encoding="utf-8").partition("\n[")
        tables = [head.rstrip()]
        for kind, counts in found.items():
            lines = [f"{name} = {value}" for name, value in asdict(counts).items()]
            tables.append("\n".join([f"[{kind}]", *lines]))
        LIMITS.write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    known = limits()
    for kind, counts in found.items():
        shown = ", ".join(
            f"{name} {value} of {getattr(known[kind], name)}"
            for name, value in asdict(counts).items()
        )
        print(f"{kind}: {shown}")


if __name__ == "__main__":
    main()
