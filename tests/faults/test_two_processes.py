"""Two servers, as on two machines: processes of their own, with data folders of their
own, over one MongoDB.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.database.core import Database
from tests.app.cli.processes import address, call, started
from tests.app.web.knowledge import FINISHED, form
from tests.conftest import KENYA_2023
from tests.fakes.nx_server import NxThread, wait_until
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

LIMIT = 100_000
"""Tokens of a day: far from what these tests use but for the one that uses them up."""
FILES = 8


class Pair:
    """``first`` and ``second`` are addresses."""

    def __init__(
        self, first: str, second: str, model: FakeOpenAI, database: Database
    ) -> None:
        self.first, self.second, self.model, self.database = (
            first,
            second,
            model,
            database,
        )

    def ask(self, url: str, question: str) -> dict[str, Any]:
        return call(
            url, "POST", "/query", json.dumps({"query": question}), "application/json"
        )

    def upload(self, url: str, *files: tuple[str, str]) -> str:
        body, content_type = form(
            *files,
            country_name="Kenya",
            year="2023",
            type="country_report",
            on_conflict="replace",
        )
        return str(
            call(url, "POST", "/api/documents", body, content_type)["ingestion_id"]
        )

    def finished(self, url: str, job: str) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def ended() -> bool:
            found.update(call(url, "GET", f"/api/ingestions/{job}"))
            return found["state"] in FINISHED

        wait_until(ended, f"the job {job} does not end", 60)
        return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with ExitStack() as stack:
        model = stack.enter_context(FakeOpenAI())
        server = stack.enter_context(NxThread(tmp_path_factory.mktemp("nx")))
        environment = {
            **os.environ,
            **model.as_environment,
            "MONGODB_URI": server.uri,
            "VECTOR_SEARCH": "faiss",
            "EMBEDDING_PROVIDER": "hashing",
            "SAMPLE_DATA": "off",
            "SUMMARIES": "off",
            "DAILY_TOKEN_LIMIT": str(LIMIT),
            "PYTHONUNBUFFERED": "1",
        }
        processes = [
            stack.enter_context(
                started(
                    {**environment, "DATA_DIR": str(tmp_path_factory.mktemp(name))},
                    "-m",
                    "chatbot",
                    "serve",
                    "--port",
                    "0",
                    stderr=None,
                )
            )
            for name in ("first", "second")
        ]
        first, second = (address(process.stdout) for process in processes)
        database = open_database(
            Settings.from_env(
                {"MONGODB_URI": server.uri, "DATA_DIR": str(Path(os.devnull))}
            )
        )
        stack.callback(database.close)
        both = Pair(first, second, model, database)
        assert (
            both.finished(first, both.upload(first, ("kenya.md", KENYA_2023)))["state"]
            == "done"
        )
        yield both


def test_an_answer_of_one_is_given_by_the_other_until_a_report_changes(
    pair: Pair,
) -> None:
    question = "How high is the inflation in Kenya?"
    first = pair.ask(pair.first, question)
    asked = pair.model.calls(CHAT)
    assert pair.ask(pair.second, question)["response"] == first["response"]
    assert pair.model.calls(CHAT) == asked
    job = pair.finished(
        pair.second,
        pair.upload(
            pair.second, ("prices.md", "# Prices\n\nInflation in Kenya was 9.9.")
        ),
    )
    assert job["state"] == "done"
    again = pair.ask(pair.first, question)
    assert pair.model.calls(CHAT) > asked
    assert "9.9" in json.dumps(again["trace"]["hits"]), (
        "the other's report is not found"
    )


def test_each_file_is_taken_by_one(pair: Pair) -> None:
    """Both work on both jobs: an upload sets the worker of its process going."""
    texts = {
        f"{place}{n}.md": f"# Part {place}{n}\n\nIt says {place}{n}."
        for place in "ab"
        for n in range(FILES)
    }
    jobs = [
        pair.upload(
            url,
            *((name, text) for name, text in texts.items() if name.startswith(place)),
        )
        for url, place in ((pair.first, "a"), (pair.second, "b"))
    ]
    for job in jobs:
        assert (found := pair.finished(pair.first, job))["state"] == "done", [
            f["error"] for f in found["files"]
        ]
    rows = list(pair.database["ingestion_items"].find({"ingestion_id": {"$in": jobs}}))
    assert [row["tries"] for row in rows] == [1] * 2 * FILES
    assert {row["outcome"] for row in rows} == {"added"}


def test_a_stream_of_one_keeps_its_version_while_the_other_replaces_the_report(
    pair: Pair,
) -> None:
    begun = threading.Event()
    slow = Reply([f"Word {n} [1]. " for n in range(20)], pause=0.1)

    def answer(request: Any) -> Reply:
        begun.set()
        return slow

    events: list[tuple[str, Any]] = []
    pair.model.always(CHAT, answer)
    asking = threading.Thread(
        target=lambda: events.extend(
            stream(pair.first, "What is the population of Kenya?")
        )
    )
    asking.start()
    assert begun.wait(60)
    changed = KENYA_2023.replace("52,428,290", "53,000,001")
    job = pair.finished(pair.second, pair.upload(pair.second, ("kenya.md", changed)))
    assert [file["outcome"] for file in job["files"]] == ["replaced"]
    asking.join(60)
    pair.model.default.clear()
    assert events[-1][0] == "done", events[-1]
    shown = {hit["text"] for hit in events[-1][1]["trace"]["hits"]}
    assert "52,428,290 (2023 est.)" in shown
    assert "53,000,001 (2023 est.)" not in shown
    found = call(
        pair.first,
        "POST",
        "/api/search",
        json.dumps({"query": "population"}),
        "application/json",
    )
    assert "53,000,001 (2023 est.)" in {hit["text"] for hit in found["hits"]}


def hits(pair: Pair, text: str) -> str:
    body = json.dumps({"query": text, "retrieval_method": "bm25"})
    return json.dumps(
        call(pair.first, "POST", "/api/search", body, "application/json")["hits"]
    )


def test_the_newest_of_several_uploads_is_served_whoever_reads_them(pair: Pair) -> None:
    large = "# Order\n\n" + "".join(
        f"## Part {n}\n\nVersion zero, number {n}.\n\n" for n in range(600)
    )
    texts = [
        large,
        *(f"# Order\n\nVersion {word} is here.\n" for word in ("one", "two", "three")),
    ]
    urls = [pair.first, pair.second, pair.first, pair.second]
    jobs = [
        pair.upload(url, ("order.md", text))
        for url, text in zip(urls, texts, strict=True)
    ]
    ends = [pair.finished(pair.second, job) for job in jobs]
    assert [job["state"] for job in ends] == ["done"] * 4
    found = hits(pair, "version")
    assert "Version three is here." in found
    assert not any(word in found for word in ("zero", "Version one", "Version two"))


def test_a_report_that_is_deleted_while_replacements_wait_stays_deleted(
    pair: Pair,
) -> None:
    (file,) = pair.finished(
        pair.first, pair.upload(pair.first, ("gone.md", "# Gone\n\nThe quagga lives."))
    )["files"]
    large = "# Gone\n\n" + "".join(
        f"## Part {n}\n\nThe quagga, number {n}.\n\n" for n in range(600)
    )
    urls = (pair.first, pair.second, pair.first)
    jobs = [pair.upload(url, ("gone.md", large + str(n))) for n, url in enumerate(urls)]
    call(pair.second, "DELETE", f"/api/documents/{file['document_id']}")
    ends = [pair.finished(pair.first, job)["state"] for job in jobs]
    assert set(ends[1:]) == {"cancelled"}
    (row,) = pair.database["documents"].find({"_id": file["document_id"]})
    assert row["status"] == "deleted"
    assert "quagga" not in hits(pair, "quagga")


def test_what_one_used_of_the_day_the_other_may_not_use_again(pair: Pair) -> None:
    pair.model.chat(Reply(prompt_tokens=LIMIT + 1))
    assert "response" in pair.ask(pair.first, "What is the capital of Kenya?")
    refused = pair.ask(pair.second, "Which languages are spoken in Kenya?")
    assert refused["error"]["code"] == "budget_exhausted"


def stream(url: str, question: str) -> Iterator[tuple[str, Any]]:
    """The events of an answer, each with its data."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request(
        "POST",
        "/api/chat",
        json.dumps({"query": question}),
        {"Content-Type": "application/json"},
    )
    for block in connection.getresponse().read().decode().split("\n\n"):
        lines = dict(
            line.split(": ", 1)
            for line in block.splitlines()
            if ": " in line and not line.startswith(":")
        )
        if "event" in lines:
            yield lines["event"], json.loads(lines["data"])
    connection.close()
