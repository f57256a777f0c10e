"""Whatever is sent to whatever route: an answer that says what is wrong, never a 500
(REPORT_CHAT_REQUESTS=5000).
"""

from collections import Counter

import pytest
from flask import Flask

from chatbot.config.settings import Settings
from tests.app.web.any_request import any_requests
from tests.app.web.conftest import Ingested
from tests.campaigns import times

pytestmark = pytest.mark.extras("all")
REQUESTS = times("REQUESTS", 120)
SEED = times("SEED", 1)


@pytest.fixture(params=["open", "read"])
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.override(
        budget_seconds=20.0, access=request.param, requests_per_minute=10**6
    )


@pytest.mark.nightly
def test_no_request_is_answered_by_a_500(
    app: Flask, settings: Settings, kenya: Ingested
) -> None:
    _, secret = app.extensions["services"].storage.keys.create("writer", "write")
    key = (
        {"HTTP_AUTHORIZATION": f"Bearer {secret}"} if settings.access == "read" else {}
    )
    ids = {"document_id": kenya.document_id, "chunk_id": f"{kenya.document_id}-v-00000"}
    statuses: Counter[int] = Counter()
    client = app.test_client()
    for number, request in enumerate(any_requests(app, REQUESTS, SEED, ids)):
        client.environ_base.update(key if number % 2 else {})
        response = client.open(
            request.path, method=request.method, buffered=True, **request.sent
        )
        statuses[response.status_code] += 1
        said = response.get_data(as_text=True)
        fine = {200, 202, 204, 304, *range(400, 500)}
        assert response.status_code in fine, (number, request, said)
        assert "Traceback" not in said, (number, request)
        if (
            request.method != "HEAD"
            and response.mimetype == "application/json"
            and response.status_code >= 400
        ):
            assert response.get_json()["error"]["message"], (number, request)
        if client.environ_base.pop("HTTP_AUTHORIZATION", ""):
            client = app.test_client()
    assert len(statuses) > 5, statuses
