"""Ask a running server: python docs/examples/ask.py "What is the population growth
rate?" Kenya 2023.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

SERVER = os.environ.get("REPORT_CHAT", "http://127.0.0.1:8000")


def ask(
    query: str, *, country: str | None = None, year: int | None = None
) -> dict[str, Any]:
    """The answer of `POST /query`. Raises urllib.error.HTTPError: its body says what is
    wrong.
    """
    filters = {
        name: value
        for name, value in (("country_name", country), ("year", year))
        if value is not None
    }
    body = json.dumps(
        {"query": query, **({"filters": filters} if filters else {})}
    ).encode()
    request = urllib.request.Request(  # noqa: S310
        f"{SERVER}/query", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:  # noqa: S310
        answer: dict[str, Any] = json.load(reply)
    return answer


def main(query: str, country: str | None = None, year: str | None = None) -> None:
    answer = ask(query, country=country, year=int(year) if year else None)
    print(answer["response"])  # noqa: T201
    for citation in answer["citations"]:
        print(f"[{citation['number']}] {citation['title']}, {citation['section']}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:4])
