"""docs/snippets.md: every block runs, in the order of the page, and together they reach
every endpoint.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask, request

from chatbot.app.web.routes import PAGE as PAGES
from chatbot.app.web.routes import route_of
from tests.app.web.knowledge import ended, upload
from tests.app.web.live import application, served
from tests.conftest import KENYA_2023, small_settings

pytestmark = pytest.mark.extras("all")
SNIPPETS = Path(__file__).parent.parent / "docs" / "snippets.md"
RUN = {
    "bash": ["bash", "-eu"],
    "python": [sys.executable],
    "javascript": ["node", "--input-type=module"],
}
FRONT = {"monitoring.check_health"}
"""Answered before the application sees it."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with application(
        small_settings(tmp_path_factory.mktemp("data"), chat_model="echo")
    ) as made:
        made.extensions["asked"] = set()
        made.before_request_funcs.setdefault(None, []).append(
            lambda: made.extensions["asked"].add(request.endpoint)
        )
        yield made


@pytest.mark.parametrize("language", RUN)
def test_every_block_runs(app: Flask, language: str, tmp_path: Path) -> None:
    if shutil.which(RUN[language][0]) is None:
        pytest.skip(f"{RUN[language][0]} is not installed")
    client = app.test_client()
    ended(
        client,
        upload(
            client, ("kenya-2023.md", KENYA_2023), country_name="Kenya", year="2023"
        ),
    )
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```",
        SNIPPETS.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    app.extensions["asked"].clear()
    with served(app) as port:
        # As README's first command leaves it: nobody has made or exported a key.
        environment = {**os.environ, "REPORT_CHAT": f"http://127.0.0.1:{port}"}
        environment.pop("REPORT_CHAT_KEY", None)
        done = subprocess.run(
            RUN[language],
            input="".join(blocks),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr + done.stdout[-500:]
    views = ((name, route_of(app, name)) for name in app.view_functions)
    endpoints = {
        name
        for name, about in views
        if about is None or replace(about, query=None) != PAGES
    }
    assert app.extensions["asked"] - {None} == endpoints - FRONT
