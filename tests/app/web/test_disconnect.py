"""A client that goes: its question is stopped, whichever server serves it and whatever
it is waiting for.
"""

import http.client
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot.app.services import Services
from tests.answering.modes.limits import ASKED, stalls
from tests.app.cli.processes import PATIENCE, address, get, started
from tests.fakes.openai_server import CHAT, FakeOpenAI
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.extras("all")


@pytest.mark.usefixtures("kenya", "mali")
@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn does not run on Windows")
class TestSeveralProcesses:
    @pytest.fixture
    def url(self, server: FakeOpenAI, services: Services) -> Iterator[str]:
        """gunicorn with two workers, over the reports that are already there."""
        folder = Path(services.settings.data_dir)
        environment = {
            **os.environ,
            **server.as_environment,
            "DATA_DIR": str(folder),
            "PORT": "0",
            "WEB_CONCURRENCY": "2",
            "HOME": str(folder.parent),  # gunicorn leaves a socket there
            "EMBEDDING_PROVIDER": "hashing",
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
            "CACHE_SECONDS": "0",
            "PYTHONUNBUFFERED": "1",
            "LOG_FORMAT": "json",
        }
        with started(environment, "-m", "gunicorn", "app:app") as process:
            url = address(process.stderr)
            assert get(f"{url}/ready")[0] == 200
            yield url
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
        requests = [
            line
            for line in map(json.loads, err.splitlines())
            if line["logger"] == "chatbot.requests"
        ]
        assert {"/query", "/api/chat"} <= {line["path"] for line in requests}
        assert all(line["request_id"] for line in requests)

    @pytest.mark.nightly
    def test_who_goes_stops_the_model_and_who_stays_is_answered(
        self, url: str, server: FakeOpenAI, services: Services
    ) -> None:
        for path in ("/query", "/api/chat", "/mcp", "/mcp?progress"):
            model = stalls("plan")
            server.always(CHAT, model)
            connection = posted(url, path)
            server.wait_until(lambda model=model: model.stages == ["plan"], PATIENCE)
            planning = server.received(CHAT)[-1]
            assert not planning.finished.wait(0.5), "nobody has gone yet"
            connection.close()
            assert planning.finished.wait(10.0)
            assert planning.disconnected_at is not None
        assert services.storage.database["messages"].count({}) == 0

        server.always(CHAT, ScriptedModel())
        connection = posted(url, "/api/chat")
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 200, text
        assert json.loads(text.rpartition("data: ")[2])["response"].startswith(
            "The reports say so [1]"
        )
        for _ in range(4):  # whichever worker is asked
            assert (
                'report_chat_answers_total{mode="deep",outcome="answered"} 1.0'
                in get(f"{url}/metrics")[1]
            )


def posted(url: str, path: str) -> http.client.HTTPConnection:
    """A question that has been sent; nothing of the response is read."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    body: dict[str, object] = {"query": ASKED, "mode": "deep"}
    if path.startswith("/mcp"):
        call = {"name": "ask", "arguments": {"question": ASKED, "mode": "deep"}}
        call |= {"_meta": {"progressToken": 1}} if "progress" in path else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    connection.request(
        "POST", path, json.dumps(body), {"Content-Type": "application/json"}
    )
    return connection
