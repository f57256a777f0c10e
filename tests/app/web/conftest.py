"""The application over two small reports, without a server: Flask's own client."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.library.pipeline import Ingested
from tests.answering.modes.conftest import MALI_2021
from tests.app.web.contract import ERROR
from tests.app.web.live import application, served

QUESTION = "What is the population growth rate?"
Post = Callable[..., TestResponse]


@pytest.fixture
def app(settings: Settings, prepared_data: Path) -> Iterator[Flask]:
    if not settings.data_dir.exists():
        shutil.copytree(prepared_data, settings.data_dir)
    with application(settings) as created:
        yield created


@pytest.fixture
def services(app: Flask) -> Services:
    """The application's own, so that what a test ingests is what the application
    serves.
    """
    found: Services = app.extensions["services"]
    return found


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    """The application's port, served over real sockets."""
    with served(app) as found:
        yield found


@pytest.fixture
def mali(add_report: Callable[..., Ingested]) -> Ingested:
    return add_report(
        MALI_2021, "mali-2021", country_name="Mali", year=2021, type="country_report"
    )


@pytest.fixture
def query(client: FlaskClient) -> Post:
    """POST /query with the usual question and these fields."""
    return lambda **fields: client.post("/query", json={"query": QUESTION, **fields})


def error_of(
    response: TestResponse, status: int, code: str = "invalid_request"
) -> dict[str, Any]:
    """The error of a response, whose shape is checked in passing."""
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.mimetype == "application/json"
    body = response.get_json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == ERROR
    assert error["code"] == code
    assert error["message"]
    assert error["request_id"] == response.headers["X-Request-ID"]
    assert "Traceback" not in response.get_data(as_text=True)
    return error


def fields_of(response: TestResponse) -> list[str]:
    """The fields that a 400 names."""
    return [detail["field"] for detail in error_of(response, 400)["details"]]
