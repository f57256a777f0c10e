"""A tiny data set in BEIR layout: four passages, three questions; the right answers are
known by their words.
"""

import json
from pathlib import Path
from typing import Any


def _report(id: str, country: str, year: int, rate: str) -> dict[str, Any]:
    metadata = {"country_name": country, "year": year}
    return {
        "_id": id,
        "title": f"{country} {year}",
        "text": f"zebra growth {rate}",
        "metadata": metadata,
    }


CORPUS: list[dict[str, Any]] = [
    _report("k21", "Kenya", 2021, "2.12%"),
    _report("k23", "Kenya", 2023, "2.09%"),
    _report("m23", "Mali", 2023, "2.90%"),
    {"_id": "free", "title": "", "text": "giraffes eat leaves"},
]
QUERIES: list[dict[str, Any]] = [
    {
        "_id": "q1",
        "text": "zebra growth in Kenya in 2023",
        "metadata": {"filters": {"country_name": "Kenya", "year": [2023]}},
    },
    {"_id": "q2", "text": "what do giraffes eat"},
    {"_id": "unjudged", "text": "nobody knows"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tk23\t1\nq1\tk21\t0\nq2\tfree\t1\n"


def write(
    folder: Path,
    *,
    corpus: str | None = None,
    queries: str | None = None,
    qrels: str | None = QRELS,
) -> Path:
    """The data set in a folder; a text given replaces that file."""
    (folder / "qrels").mkdir(parents=True)
    lines = {"corpus.jsonl": (corpus, CORPUS), "queries.jsonl": (queries, QUERIES)}
    for name, (given, rows) in lines.items():
        text = (
            given
            if given is not None
            else "".join(json.dumps(row) + "\n" for row in rows)
        )
        (folder / name).write_text(text, encoding="utf-8")
    if qrels is not None:
        (folder / "qrels/test.tsv").write_text(qrels, encoding="utf-8")
    return folder
