"""A vector search at work, in its own environment: builds its index, then answers
rounds of searches.

Called as `vectors.py PEER DATA.npz`; then a line of JSON in, one out. The contract of
`with_PEER.py`: `build(vectors) -> search(vector, filter, k) -> row numbers`. A filter
is None, ["half", 0] (of row number modulo 2) or ["country", 7] (modulo 50);
NotImplementedError where the peer has none. Slow peers answer fewer questions a round.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

SECONDS, LEAST = 4.0, 5
"""Of a round, and questions that it has at least."""


def resident_mb() -> int:
    status = Path("/proc/self/status").read_text()
    return next(
        int(line.split()[1]) // 1024
        for line in status.splitlines()
        if line.startswith("VmRSS")
    )


def main(peer: str, data: str) -> None:
    with np.load(data) as stored:
        vectors, queries = stored["vectors"], stored["queries"]
    before = resident_mb()
    began = time.perf_counter()
    search = importlib.import_module(f"with_{peer}").build(vectors)
    search(queries[0], None, 10)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        found, times, end = [], [], time.monotonic() + SECONDS
        try:
            for query in queries:
                if len(times) >= LEAST and time.monotonic() > end:
                    break
                began = time.perf_counter()
                rows = search(query, asked["filter"], asked["k"])
                times.append((time.perf_counter() - began) * 1000)
                found.append([int(row) for row in rows])
        except NotImplementedError:
            found, times = [], [0.0]
        mb = resident_mb() - before
        print(
            json.dumps({"ms": statistics.median(times), "rows": found, "mb": mb}),
            flush=True,
        )


main(*sys.argv[1:])
