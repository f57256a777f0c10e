"""The running server against its description: a small part, always the same, of `python -m benchmarks contract`."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from flask import Flask

from benchmarks.contract import check, closed, cookie, with_examples
from tests.app.web.knowledge import ended, upload
from tests.app.web.live import served
from tests.campaigns import times
from tests.conftest import KENYA_2023


def test_every_answer_is_as_it_is_described(app: Flask, tmp_path: Path) -> None:
    client = app.test_client()
    # One for each operation on a report.
    ended(
        client,
        upload(
            client,
            *((f"kenya-{number}.md", f"{KENYA_2023}\n\n{number}") for number in range(9)),
            country_name="Kenya",
            year="2023",
        ),
    )
    options = ["--phases", "examples,fuzzing", "--max-examples", str(times("CONTRACT", 2)), "--seed", "1"]
    with served(app) as port:
        url = f"http://127.0.0.1:{port}"
        headers = {"Cookie": cookie(url)}
        with urllib.request.urlopen(f"{url}/openapi.json", timeout=30) as response:
            description = with_examples(closed(json.load(response)), url, headers)
        assert check(description, url, headers, tmp_path, options) == 0
