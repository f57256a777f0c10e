"""A vector search at work, in its own environment: builds its index, then answers rounds of searches.

Called as `vectors.py PEER DATA.npz`; then a line of JSON in, one out. The contract of `with_PEER.py`:
`build(vectors) -> search(vector, filter, k) -> row numbers`. A filter is None, ["half", 0] (of row number modulo 2) or
["country", 7] (modulo 50); NotImplementedError where the peer has none.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import sys
import time

import numpy as np


def main(peer: str, data: str) -> None:
    with np.load(data) as stored:
        vectors, queries = stored["vectors"], stored["queries"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    search = importlib.import_module(f"with_{peer}").build(vectors)
    search(queries[0], None, 10)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    print(json.dumps({"seconds": time.perf_counter() - began, "mb": peak}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        found, times = [], []
        try:
            for query in queries:
                began = time.perf_counter()
                rows = search(query, asked["filter"], asked["k"])
                times.append((time.perf_counter() - began) * 1000)
                found.append([int(row) for row in rows])
        except NotImplementedError:
            found, times = [], [0.0]
        print(json.dumps({"ms": statistics.median(times), "rows": found}), flush=True)


main(*sys.argv[1:])
