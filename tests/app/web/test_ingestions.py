"""Background ingestion over HTTP: several files as one job, each with its own end;
cancel, retry, web pages, a kill.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from pydantic import SecretStr
from werkzeug.test import TestResponse

from chatbot.config.settings import Settings
from tests.app.web.conftest import error_of, fields_of
from tests.app.web.contract import FILE, JOB
from tests.app.web.knowledge import (
    BROKEN_PDF,
    KENYA,
    MALI_CSV,
    added,
    ended,
    found_texts,
    job_of,
    post_form,
    rows,
    upload,
)
from tests.conftest import KENYA_2023
from tests.data import cases
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply
from tests.fakes.web_server import Page, WebServer, redirect

CASES = cases(__file__)
URL = "http://example.org/"
TOO_LONG = [
    ({"url": URL + "x" * 2000}, "url"),
    ({"urls": [f"{URL}{n}" for n in range(51)]}, "urls"),
]

LONG = "# Report of many passages\n\n" + "\n\n".join(
    f"## Part {n}\n\nText number {n}." for n in range(400)
)


def many_passages(client: FlaskClient) -> TestResponse:
    """400 of them, more than are embedded and stored at a time."""
    return upload(client, ("long.md", LONG), chunk_size="100", on_conflict="replace")


def test_nothing_sent_is_told_both_ways(client: FlaskClient) -> None:
    message = error_of(client.post("/api/documents"), 400)["message"]
    assert message.startswith(
        "Send a JSON object (application/json) with the ids of files (POST /api/files)"
    )


def test_a_preview_says_what_a_file_would_change_of_the_report_that_it_replaces(
    client: FlaskClient,
) -> None:
    text = (
        "# Wells\n\n## Supply\n\nThe town has {number} wells.\n\n"
        "## Area\n\n{area} sq km"
    )
    (document_id,) = added(client, ("wells.md", text.format(number="ten", area=900)))

    def previewed(number: str, area: int) -> Any:
        changed = text.format(number=number, area=area)
        file = ("wells.md", changed)
        response = post_form(client, "/api/documents/preview", file)
        return response.get_json()["files"][0]["replaces"]

    # The same file changes nothing.
    assert previewed("ten", 900) is None
    replaces = previewed("twelve", 950)
    assert replaces["document_id"] == document_id
    assert replaces["figures_total"] == 1
    (figure,) = replaces["figures"]
    assert (figure["old"]["text"], figure["new"]["text"]) == ("900 sq km", "950 sq km")
    assert replaces["text"]["total"] == 2
    pieces = replaces["text"]["passages"][0]["pieces"]
    assert [piece["text"] for piece in pieces if piece["kind"] != "same"] == [
        "ten",
        "twelve",
    ]
    document = client.get(f"/api/documents/{document_id}/chunks").get_json()
    assert "ten wells" in str(document)


def test_a_preview_says_what_each_file_says_of_itself_and_stores_nothing(
    client: FlaskClient, settings: Settings
) -> None:
    french = (
        "# Rapport annuel du Niger 2023\n\nLes pluies ont été bonnes et les récoltes "
        "de mil sont plus élevées."
    )
    sent = post_form(
        client, "/api/documents/preview", ("niger.md", french), ("bad.pdf", BROKEN_PDF)
    )
    niger, bad = sent.get_json()["files"]
    assert {
        one["field"]: (one["value"], one["origin"], one["taken"])
        for one in niger["proposed"]
    } == {
        "title": ("Rapport annuel du Niger 2023", "title", True),
        "country_name": ("Niger", "title", True),
        "year": (2023, "title", True),
        "language": ("french", "first pages", True),
        "type": ("annual_report", "title", True),
    }
    assert "many languages" in niger["notes"][0]
    assert bad["error"].startswith("bad.pdf cannot be read as a PDF")
    assert {
        rows(settings).get(name, 0) for name in ("ingestions", "documents", "files")
    } == {0}
    (file,) = ended(
        client, upload(client, ("niger.md", french), without="country_name")
    )["files"]
    assert "many languages" in file["notes"][0]
    document = client.get(f"/api/documents/{file['document_id']}").get_json()
    assert (document["country_name"], document["year"]) == (None, 2023)
    assert "many languages" in document["notes"][0]


class TestFiles:
    def test_several_files_are_one_job_and_a_damaged_one_fails_alone(
        self, client: FlaskClient
    ) -> None:
        started = upload(
            client,
            (KENYA, KENYA_2023),
            ("bad.pdf", BROKEN_PDF),
            ("prices.csv", MALI_CSV),
            type="mixed",
        )
        assert started.status_code == 202
        queued = started.get_json()
        assert (
            started.headers["Location"] == f"/api/ingestions/{queued['ingestion_id']}"
        )
        assert [file["name"] for file in queued["files"]] == [
            KENYA,
            "bad.pdf",
            "prices.csv",
        ]
        job = ended(client, started)
        assert (set(queued), job["state"], job["progress"]) == (JOB, "done", 1.0)
        kenya, bad, prices = job["files"]
        assert set(kenya) == FILE | {"pages", "pages_read"}
        assert (kenya["state"], kenya["outcome"], kenya["chunks"], kenya["error"]) == (
            "done",
            "added",
            3,
            "",
        )
        assert (bad["state"], bad["document_id"]) == ("failed", "")
        assert bad["error"].startswith("bad.pdf cannot be read as a PDF")
        assert (prices["state"], prices["chunks"]) == ("done", 2)
        listed = client.get("/api/documents").get_json()["documents"]
        assert {document["document_id"]: document["type"] for document in listed} == {
            kenya["document_id"]: "mixed",
            prices["document_id"]: "mixed",
        }
        assert found_texts(client, "inflation", filters={"country_name": "Kenya"})

    def test_the_same_again_is_unchanged_and_another_content_replaces(
        self, client: FlaskClient
    ) -> None:
        """R-E6."""
        (first,) = added(client, (KENYA, KENYA_2023))
        for content, outcome in (
            (KENYA_2023, "unchanged"),
            (KENYA_2023 + "\n\nNew words.\n", "replaced"),
        ):
            (file,) = ended(
                client, upload(client, (KENYA, content), on_conflict="replace")
            )["files"]
            assert (file["outcome"], file["document_id"]) == (outcome, first)
        assert client.get("/api/documents").get_json()["total"] == 1

    def test_files_of_one_name_in_two_folders_are_two_reports(
        self, client: FlaskClient
    ) -> None:
        ids = added(
            client, ("2022/report.md", "# A\n\none"), ("2023/report.md", "# B\n\ntwo")
        )
        assert len(set(ids)) == 2

    def test_jobs_are_listed_newest_first(self, client: FlaskClient) -> None:
        client.get("/")  # whose cookie says whose jobs they are
        ids = []
        for number in range(3):
            ids.append(
                ended(client, upload(client, (f"{number}.md", "text")))["ingestion_id"]
            )
            time.sleep(0.002)  # their order is by the millisecond
        listed = client.get("/api/ingestions?limit=2").get_json()["ingestions"]
        assert [job["ingestion_id"] for job in listed] == ids[:0:-1]
        for wrong in ("0", "101", "x", "9" * 5000):
            assert fields_of(client.get(f"/api/ingestions?limit={wrong}")) == ["limit"]

    def test_an_unknown_job(self, client: FlaskClient) -> None:
        for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/retry")]:
            for job in ["a" * 20, "nope", "%00", "a" * 300]:
                error_of(
                    client.open(f"/api/ingestions/{job}{path}", method=method),
                    404,
                    "not_found",
                )


class TestSlowModel:
    """A real embedding server that says nothing for a while, so that there is something
    to see and to stop.
    """

    @pytest.fixture
    def settings(self, settings: Settings, server: FakeOpenAI) -> Settings:
        return settings.override(
            embedding_provider="openai",
            embedding_model="fake",
            openai_api_key=SecretStr("sk-secret-4711"),
            openai_base_url=server.url,
            model_retries=0,
            model_timeout=60.0,
        )

    @pytest.fixture(autouse=True)
    def known(self, client: FlaskClient) -> None:
        """The first document asks for the model's dimensions: not what is counted
        here.
        """
        added(client, ("first.md", "text"))

    def slow(self, server: FakeOpenAI, seconds: float, requests: int = 1) -> None:
        """After the first 256 passages, which are one request."""
        server.embed(Reply(), *[Reply(silent_before=seconds)] * requests)

    def wait(
        self, client: FlaskClient, started: TestResponse, state: str
    ) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while (job := job_of(client, started))["files"][0]["state"] != state:
            assert time.monotonic() < deadline, job
            time.sleep(0.02)
        return job

    def test_progress_is_seen(self, client: FlaskClient, server: FakeOpenAI) -> None:
        self.slow(server, 5.0)
        before = server.calls(EMBEDDINGS)
        started = many_passages(client)
        assert self.wait(client, started, "embedding")["files"][0]["chunks"] == 400
        # The 256 are reported before the next are sent for: a search in between would
        # get the slow reply.
        server.wait_until(lambda: server.calls(EMBEDDINGS) > before + 1)
        (file,) = (job := job_of(client, started))["files"]
        assert (job["state"], file["done_chunks"], file["chunks"]) == (
            "running",
            256,
            400,
        )
        assert 0.5 < job["progress"] < 0.7
        assert found_texts(client, "number") == []
        assert ended(client, started)["progress"] == 1.0
        assert found_texts(client, "number")

    def test_a_cancelled_job_leaves_nothing_and_can_be_tried_again(
        self, client: FlaskClient, server: FakeOpenAI, settings: Settings
    ) -> None:
        before = rows(settings)
        self.slow(
            server, 2.0, requests=2
        )  # the next file is read while the first one waits, and waits too
        started = upload(
            client, ("long.md", LONG), ("next.md", "text"), chunk_size="100"
        )
        self.wait(client, started, "embedding")
        job_id = started.get_json()["ingestion_id"]
        response = client.delete(f"/api/ingestions/{job_id}")
        assert response.status_code == 202
        job = ended(client, started)
        assert (job["state"], [file["state"] for file in job["files"]]) == (
            "cancelled",
            ["cancelled"] * 2,
        )
        after = rows(settings)
        for table in ("documents", "chatbot_data", "report_chatting"):
            assert after.get(table, 0) == before.get(table, 0), table

        response = client.post(f"/api/ingestions/{job_id}/retry")
        assert response.status_code == 202
        job = ended(client, response)
        assert (job["state"], [file["outcome"] for file in job["files"]]) == (
            "done",
            ["added", "added"],
        )
        assert found_texts(client, "number")

    def test_cancelling_a_new_version_leaves_the_old_one(
        self, client: FlaskClient, server: FakeOpenAI
    ) -> None:
        added(client, ("long.md", "# Old\n\nThe old number."))
        self.slow(server, 2.0)
        started = many_passages(client)
        self.wait(client, started, "embedding")
        client.delete(f"/api/ingestions/{started.get_json()['ingestion_id']}")
        assert ended(client, started)["state"] == "cancelled"
        (text,) = found_texts(client, "number")
        assert text.endswith("The old number.")

    def test_what_is_finished_stays_finished(self, client: FlaskClient) -> None:
        started = upload(client, (KENYA, KENYA_2023))
        job = ended(client, started)
        for path, method in (("", "DELETE"), ("/retry", "POST")):
            response = client.open(
                f"/api/ingestions/{job['ingestion_id']}{path}", method=method
            )
            assert (response.status_code, response.get_json()) == (202, job)

    def test_a_file_that_failed_is_tried_again_and_the_others_are_not(
        self, client: FlaskClient, server: FakeOpenAI
    ) -> None:
        server.embed(Reply(), Reply(status=401))
        started = upload(client, (KENYA, KENYA_2023), ("b.md", "text of b"))
        job = ended(client, started)
        assert [file["state"] for file in job["files"]] == ["done", "failed"]
        assert "key" in job["files"][1]["error"]
        calls = server.calls(EMBEDDINGS)
        again = client.post(f"/api/ingestions/{job['ingestion_id']}/retry")
        assert [file["state"] for file in again.get_json()["files"]] == [
            "done",
            "queued",
        ]
        assert [file["state"] for file in ended(client, again)["files"]] == [
            "done",
            "done",
        ]
        assert server.calls(EMBEDDINGS) == calls + 1


TOGO = (
    b"<html><head><title>Togo 2022</title></head><body><h1>Togo 2022</h1><p>Phosphate "
    b"is mined.</p></body></html>"
)


class TestWebPages:
    @pytest.fixture
    def web(self) -> Iterator[WebServer]:
        with WebServer() as running:
            running.pages["/togo"] = Page(TOGO)
            yield running

    def add(self, client: FlaskClient, **body: Any) -> TestResponse:
        return client.post("/api/documents", json=body)

    def test_a_private_address_is_refused_and_the_job_says_why(
        self, client: FlaskClient, web: WebServer
    ) -> None:
        (file,) = ended(client, self.add(client, url=web.url("/togo")))["files"]
        assert file["state"] == "failed"
        assert web.url("/togo") in file["error"]
        assert "port" in file["error"]
        assert web.requests == []
        assert client.get("/api/documents").get_json()["total"] == 0

    def test_what_is_wrong_is_named_and_nothing_is_stored(
        self, client: FlaskClient, settings: Settings
    ) -> None:
        for body, field in [
            *CASES["what_is_wrong_is_named_and_nothing_is_stored"],
            *TOO_LONG,
        ]:
            assert fields_of(self.add(client, **body)) == [field]
            assert rows(settings).get("ingestions", 0) == 0

    class TestAllowed:
        @pytest.fixture
        def settings(self, settings: Settings) -> Settings:
            return settings.override(fetch_private_urls=True)

        def add(self, client: FlaskClient, **body: Any) -> dict[str, Any]:
            return ended(client, client.post("/api/documents", json=body))

        def test_a_page_becomes_a_document_with_its_original(
            self, client: FlaskClient, web: WebServer
        ) -> None:
            web.pages["/old"] = redirect("/togo")
            job = self.add(
                client, url=web.url("/old#part"), country_name="Togo", year=2022
            )
            assert job["state"] == "done", job
            (document,) = client.get("/api/documents").get_json()["documents"]
            assert (document["title"], document["country_name"], document["year"]) == (
                "Togo 2022",
                "Togo",
                2022,
            )
            assert document["source"] == web.url("/old")
            assert document["has_file"]
            assert (
                client.get(f"/api/documents/{document['document_id']}/file").data
                == TOGO
            )
            assert found_texts(client, "phosphate")

        def test_a_page_that_is_missing_or_too_large_fails_alone(
            self, client: FlaskClient, web: WebServer, settings: Settings
        ) -> None:
            web.pages["/large"] = Page(
                b"x" * (settings.max_upload_mb * 1024 * 1024 + 1)
            )
            job = self.add(
                client, urls=[web.url("/gone"), web.url("/togo"), web.url("/large")]
            )
            assert [file["state"] for file in job["files"]] == [
                "failed",
                "done",
                "failed",
            ]
            assert "404" in job["files"][0]["error"]
            assert web.url("/large") in job["files"][2]["error"]

        def test_reading_it_again_fetches_it_again(
            self, client: FlaskClient, web: WebServer
        ) -> None:
            (file,) = self.add(client, url=web.url("/togo"))["files"]
            web.pages["/togo"] = Page(TOGO.replace(b"Phosphate", b"Cotton"))
            again = ended(
                client,
                client.post(f"/api/documents/{file['document_id']}/reingest", json={}),
            )
            assert [file["outcome"] for file in again["files"]] == ["replaced"]
            assert found_texts(client, "cotton")
            assert found_texts(client, "phosphate") == []
