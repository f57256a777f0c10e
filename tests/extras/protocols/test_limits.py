"""Questions by another protocol count as questions."""

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION
from tests.app.web.test_front import check_refused_at_once
from tests.fakes.openai_server import FakeOpenAI, Reply

COMPLETION = {
    "model": "report-chat",
    "messages": [{"role": "user", "content": QUESTION}],
}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": QUESTION}},
}


@pytest.fixture
def settings(
    settings: Settings, server: FakeOpenAI, request: pytest.FixtureRequest
) -> Settings:
    """A test may change some by a parameter."""
    changed = getattr(request, "param", {})
    return settings.override(**server.as_settings, model_timeout=120.0, **changed)


@pytest.mark.usefixtures("kenya")
@pytest.mark.parametrize("settings", [{"questions": 1}], indirect=True)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/mcp"])
def test_more_questions_than_set_are_refused_at_once_and_not_for_long(
    app: Flask, services: Services, server: FakeOpenAI, path: str
) -> None:
    model = services.runtime.embedder.model_id
    bodies = {
        "/v1/chat/completions": COMPLETION,
        "/v1/embeddings": {"model": model, "input": QUESTION},
        "/mcp": CALL,
    }
    server.chat(Reply(["half"], silent_after=60.0), Reply(["whole"]))
    check_refused_at_once(app, server, path, bodies[path])
