"""The description of the API: complete, and the same as the copy that is part of the repository.

`python -m tests.web.openapi.test_document` writes that copy anew.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.errors import SettingsError
from chatbot.factory import close_app, create_app
from chatbot.settings import Settings
from chatbot.web.access import RULES
from chatbot.web.middleware import HTTP_CODES, STATUS
from chatbot.web.openapi.document import API_VERSION, ERRORS, check_described, describe

COPY = Path(__file__).parents[3] / "docs" / "openapi.json"


def described() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder), embedding_provider="hashing", chat_model="echo", sample_data="off", access="keys"
        )
        app = create_app(settings)
        try:
            return describe(app, settings)
        finally:
            close_app(app)


def test_the_copy_is_what_the_application_says() -> None:
    differ = "the contract has changed: see Versions in docs/api.md, then python -m tests.web.openapi.test_document"
    assert json.loads(COPY.read_text(encoding="utf-8")) == described(), differ


def test_a_route_that_nothing_is_said_of_stops_the_start() -> None:
    app = Flask(__name__)
    app.add_url_rule("/new", "new", lambda: "")
    with pytest.raises(SettingsError, match="new"):
        check_described(app)


def test_every_route_has_its_errors_and_every_reference_leads_somewhere(client: FlaskClient) -> None:
    document = client.get("/openapi.json").get_json()
    assert document["info"]["version"] == API_VERSION
    operations = [one for path in document["paths"].values() for one in path.values()]
    described = {name.replace(".", "_") for name in RULES} - {"static", "assets_asset"}
    assert {one["operationId"] for one in operations} == described
    for one in operations:
        errors = {status for status in one["responses"] if status >= "400"}
        assert {"400", "403", "429", "503"} <= errors, one["operationId"]
    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(document))
    assert names
    assert set(names) <= document["components"]["schemas"].keys()


def test_every_status_of_an_error_is_described() -> None:
    known = {status for _, status in STATUS} | HTTP_CODES.keys()
    assert known - ERRORS.keys() == {405, 415}  # of no described request


def test_the_page_names_the_description_and_runs_no_script_of_its_own(client: FlaskClient) -> None:
    page = client.get("/docs").get_data(as_text=True)
    assert 'data-description="/openapi.json"' in page
    assert not re.findall(r"<script(?![^>]* src=)|style=", page)


if __name__ == "__main__":
    COPY.write_text(json.dumps(described(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
