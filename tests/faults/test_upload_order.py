"""kill -9 of a server while several uploads of one file wait, and after a report with
waiting uploads was deleted.
"""

import json
import signal
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from tests.app.cli.processes import address, call, started
from tests.app.web.knowledge import FINISHED, form
from tests.campaigns import times
from tests.fakes import postgres
from tests.fakes.nx_server import NxThread
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply
from tests.library.helpers import end_leases


def upload(url: str, name: str, word: str) -> str:
    body, content_type = form(
        (name, f"# Report\n\nThe {word} lives here."), on_conflict="replace"
    )
    return str(call(url, "POST", "/api/documents", body, content_type)["ingestion_id"])


def finished(url: str, job: str, seconds: float = 150.0) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while (found := call(url, "GET", f"/api/ingestions/{job}"))[
        "state"
    ] not in FINISHED:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    (file,) = found["files"]
    return dict(file)


def found_words(url: str) -> set[str]:
    body = json.dumps({"query": "lives here", "retrieval_method": "bm25"})
    hits = call(url, "POST", "/api/search", body, "application/json")["hits"]
    return {hit["text"].split()[1] for hit in hits}


@pytest.mark.parametrize(
    "database", ["embedded", "mongodb", "pgvector"][: times("ORDERS", 1)]
)
@pytest.mark.nightly
def test_a_killed_server_leaves_the_order_of_uploads_and_deletions(
    tmp_path: Path, database: str
) -> None:
    with FakeOpenAI() as model, ExitStack() as stack:
        where: dict[str, str] = {}
        if database == "mongodb":
            where = {
                "MONGODB_URI": stack.enter_context(NxThread(tmp_path / "nx")).uri,
                "VECTOR_SEARCH": "faiss",
            }
        elif database == "pgvector":
            where = {
                "POSTGRES_URI": postgres.empty_database(),
                "VECTOR_SEARCH": "pgvector",
            }
        environment = {
            **where,
            **model.as_environment,
            "DATA_DIR": str(tmp_path / "data"),
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
            "CHAT_MODEL": "echo",
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": "fake",
            "PORT": "0",
            "PYTHON_DOTENV_DISABLED": "1",
            "PYTHONUNBUFFERED": "1",
            "PATH": "/usr/bin:/bin",
        }
        with started(environment, "app.py", stderr=None) as first:
            url = address(first.stdout)
            finished(url, upload(url, "kept.md", "zebra"))
            gone = finished(url, upload(url, "gone.md", "quagga"))["document_id"]
            calls = model.calls(EMBEDDINGS)
            model.embed(Reply(silent_before=60.0), Reply(silent_before=60.0))
            kept_jobs, gone_jobs = (
                [upload(url, "kept.md", "lion")],
                [upload(url, "gone.md", "dodo")],
            )
            model.wait_for(
                EMBEDDINGS, calls + 2, 20
            )  # both workers of the server are in the middle of a file
            kept_jobs += [upload(url, "kept.md", word) for word in ("ant", "ibex")]
            gone_jobs += [upload(url, "gone.md", word) for word in ("moa", "auk")]
            call(url, "DELETE", f"/api/documents/{gone}")
            first.send_signal(signal.SIGKILL)
            first.wait()
        with closing(open_database(Settings.from_env(environment))) as opened:
            assert end_leases(opened) == 4
        with started(environment, "app.py", stderr=None) as second:
            url = address(second.stdout)
            assert [finished(url, job)["state"] for job in kept_jobs] == ["done"] * 3
            assert [finished(url, job)["state"] for job in gone_jobs] == [
                "cancelled"
            ] * 3
            assert [
                document["document_name"]
                for document in call(url, "GET", "/api/documents")["documents"]
            ] == ["Report"]
            assert found_words(url) == {"ibex"}
