"""The knowledge base over HTTP (R-E7): list, look inside, change, delete, read
again.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from openpyxl import Workbook

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import DocumentRecord
from chatbot.library.chunkers import CHUNKERS
from chatbot.library.loaders import suffixes
from chatbot.library.pipeline import Ingested
from chatbot.library.sources import Source
from tests.app.web.conftest import error_of, fields_of
from tests.app.web.contract import DOCUMENT
from tests.app.web.knowledge import (
    KENYA,
    MALI_CSV,
    added,
    ended,
    found_texts,
    rows,
    upload,
)
from tests.conftest import KENYA_2023, write_report
from tests.data import cases
from tests.library.loaders.damage import zipped
from tests.rows import outside

CASES = cases(__file__)
LONG_VALUES: dict[str, Any] = {
    "title": "x" * 301,
    "labels": ["x"] * 31,
    "description": "x" * 2001,
    "publisher": "x" * 301,
    "authors": ["x"] * 51,
    "source_url": "https://example.org/" + "x" * 2000,
}
TOO_MUCH = [({name: value}, name) for name, value in LONG_VALUES.items()]
TOO_LONG = [({name: "9" * 5000}, name) for name in ("limit", "cursor", "year")]

LONG = "# Ghana: Country Report 2022\n\n## Cocoa\n\n" + " ".join(
    f"Sentence number {number} speaks of cocoa and of its price."
    for number in range(60)
)


@pytest.fixture
def uploaded(client: FlaskClient) -> str:
    """The id of Kenya 2023, uploaded as a file."""
    (document_id,) = added(
        client, (KENYA, KENYA_2023), labels="people, land", description="A test."
    )
    return document_id


def get(client: FlaskClient, document_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/documents/{document_id}").get_json()
    return found


def figures(client: FlaskClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/figures").get_json()["figures"]
    return listed


def in_the_bin(client: FlaskClient) -> list[dict[str, Any]]:
    response = client.get("/api/documents?status=deleted")
    listed: list[dict[str, Any]] = response.get_json()["documents"]
    return listed


def titles(client: FlaskClient, **asked: Any) -> list[str]:
    response = client.get("/api/documents", query_string=asked)
    assert response.status_code == 200, response.get_data(as_text=True)
    return [document["title"] for document in response.get_json()["documents"]]


class TestList:
    @pytest.fixture(autouse=True)
    def reports(self, kenya: Ingested, mali: Ingested, services: Services) -> None:
        services.storage.documents.put(
            DocumentRecord(
                "b" * 20,
                "Chad",
                "Chad",
                "/srv/reports/chad.pdf",
                "chatbot_data",
                "failed",
                "1",
                {},
                error="No.",
            )
        )

    def test_documents_have_all_their_fields_pages_and_coverage(
        self, client: FlaskClient, kenya: Ingested
    ) -> None:
        document = get(client, kenya.document_id)
        assert set(document) == DOCUMENT
        assert document["document_id"] == kenya.document_id
        assert (document["country_name"], document["year"], document["type"]) == (
            "Kenya",
            2023,
            "country_report",
        )
        assert (document["status"], document["chunks"], document["parts"]) == (
            "ready",
            3,
            1,
        )
        chunking = {
            "strategy": "sections",
            "size": 900,
            "used": 900,
            "unit": "characters",
            "overlap": 0,
        }
        assert document["chunking"] == chunking
        pages = [
            client.get(f"/api/documents?limit=2&cursor={offset}").get_json()
            for offset in (0, 2, 4)
        ]
        listed = [document for page in pages for document in page["documents"]]
        assert [document["title"].partition(":")[0] for document in listed] == [
            "Chad",
            "Kenya",
            "Mali",
        ]
        assert [len(page["documents"]) for page in pages] == [2, 1, 0]
        assert {page["total"] for page in pages} == {3}
        assert (listed[0]["error"], listed[0]["source"]) == ("No.", "chad.pdf")
        kenya = {"country_name": "Kenya", "year": 2023, "documents": 1}
        found = client.get("/api/coverage").get_json()["cells"]
        assert kenya in found
        cells = {("Kenya", 2023), ("Mali", 2021), (None, None)}
        assert {(cell["country_name"], cell["year"]) for cell in found} == cells
        assert (
            client.get("/api/coverage?country_name=Mali").get_json()["cells"][0][
                "country_name"
            ]
            == "Mali"
        )

    def test_documents_are_filtered_by_each_field(self, client: FlaskClient) -> None:
        for asked, countries in CASES["filters"]:
            assert [
                title.partition(":")[0] for title in titles(client, **asked)
            ] == countries

    def test_they_are_sorted_by_each_field_and_those_without_a_value_come_last(
        self, client: FlaskClient
    ) -> None:
        by_title = titles(client)
        assert titles(client, sort="-title") == by_title[::-1]
        assert titles(client, sort="-updated_at")[0] == "Chad"
        assert titles(client, sort="country_name")[-1] == "Chad"
        assert titles(client, sort="-country_name")[-1] == "Chad"
        assert titles(client, sort="-year")[-1] == "Chad"
        assert client.get("/api/documents?sort=colour").status_code == 400

    def test_what_is_wrong_is_named(self, client: FlaskClient) -> None:
        for asked, field in [*CASES["what_is_wrong_is_named"], *TOO_LONG]:
            assert fields_of(client.get("/api/documents", query_string=asked)) == [
                field
            ]

    def test_an_unknown_id_is_not_found(self, client: FlaskClient) -> None:
        for path in ["", "/chunks", "/file"]:
            for document_id in ["nope", "a" * 20, "a" * 65, "$ne", "%00", "..%2Fx"]:
                error_of(
                    client.get(f"/api/documents/{document_id}{path}"), 404, "not_found"
                )


class TestTable:
    """R-B1: each row of a table is scoped by its own country and year."""

    @pytest.fixture
    def table(self, client: FlaskClient) -> str:
        (document_id,) = added(client, ("prices.csv", MALI_CSV))
        return document_id

    def test_it_is_one_document_whose_rows_are_scoped_by_their_own_country_and_year(
        self, client: FlaskClient, table: str
    ) -> None:
        document = get(client, table)
        assert (document["country_name"], document["year"], document["parts"]) == (
            None,
            None,
            2,
        )
        facets = client.get("/api/facets").get_json()
        assert [each["value"] for each in facets["country_name"]] == ["Kenya", "Mali"]
        assert [each["value"] for each in facets["year"]] == [2021, 2023]
        assert titles(client, country_name="Mali", year="2021") == ["prices"]
        assert titles(client, country_name="Mali", year="2023") == []
        (text,) = found_texts(
            client, "inflation", filters={"country_name": "Mali", "year": 2021}
        )
        assert "4.1 percent" in text


class TestPreview:
    def test_the_passages_in_reading_order_page_by_page(
        self, client: FlaskClient
    ) -> None:
        (document_id,) = added(client, ("ghana.md", LONG), chunk_size="200")
        whole = client.get(f"/api/documents/{document_id}/chunks?limit=100").get_json()
        assert (
            whole["total"]
            == get(client, document_id)["chunks"]
            == len(whole["chunks"])
            > 10
        )
        numbers = [
            text
            for chunk in whole["chunks"]
            for text in chunk["text"].split()
            if text.isdigit()
        ]
        assert numbers == [str(number) for number in range(60)]
        page = f"/api/documents/{document_id}/chunks?limit=7&cursor="
        pages = [
            client.get(f"{page}{offset}").get_json()["chunks"]
            for offset in range(0, whole["total"] + 7, 7)
        ]
        assert [chunk for chunks in pages for chunk in chunks] == whole["chunks"]

    def test_wrong_numbers_are_refused(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        for asked in ["limit=0", "limit=101", "cursor=x"]:
            assert fields_of(
                client.get(f"/api/documents/{uploaded}/chunks?{asked}")
            ) == [asked.partition("=")[0]]

    class TestWithSummary:
        @pytest.fixture
        def settings(self, settings: Settings) -> Settings:
            return settings.override(summaries="extractive")

        def test_the_summary_is_one_of_the_passages(
            self, client: FlaskClient, uploaded: str
        ) -> None:
            """R-D7."""
            page = client.get(f"/api/documents/{uploaded}/chunks").get_json()
            assert page["total"] == len(page["chunks"]) == 4
            assert [chunk["section"] for chunk in page["chunks"]][-1] == "Summary"
            last = client.get(
                f"/api/documents/{uploaded}/chunks?limit=2&cursor=2"
            ).get_json()["chunks"]
            assert [chunk["section"].rpartition(" ")[2] for chunk in last] == [
                "Location",
                "Summary",
            ]


class TestEdit:
    def edit(
        self, client: FlaskClient, document_id: str, **fields: Any
    ) -> dict[str, Any]:
        response = client.patch(f"/api/documents/{document_id}", json=fields)
        assert response.status_code == 200, response.get_data(as_text=True)
        found: dict[str, Any] = response.get_json()
        assert get(client, document_id) == found
        return found

    def test_each_field_of_a_document_can_be_edited(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        for field, value, stored in CASES["each_field"]:
            before = get(client, uploaded)
            after = self.edit(client, uploaded, **{field: value})
            assert after[field] == stored
            assert field not in {one["field"] for one in after["proposed"]}
            same = DOCUMENT - {
                field,
                "updated_at",
                "proposed",
                "document_name" if field == "title" else "",
            }
            assert {name: after[name] for name in same} == {
                name: before[name] for name in same
            }
            self.edit(client, uploaded, **{field: before[field]})

    def test_the_passages_and_the_time_of_the_change_follow(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        services = client.application.extensions["services"]
        rows = outside(services.storage.database, "documents")
        rows.update_one(
            {"_id": uploaded}, {"$set": {"updated_at": "2020-01-01T00:00:00+00:00"}}
        )
        found = self.edit(client, uploaded, country_name="Mali", year=2020)
        assert found["updated_at"] > "2020-01-02"
        self.edit(client, uploaded, title="Renamed", country_name="Mali", year=2020)
        hits = client.post(
            "/api/search", json={"query": "population", "filters": {"year": 2020}}
        ).get_json()["hits"]
        assert {(hit["title"], hit["country_name"], hit["year"]) for hit in hits} == {
            ("Renamed", "Mali", 2020)
        }
        assert fields_of(client.get("/api/documents?country_name=Kenya")) == [
            "country_name"
        ]

    def test_an_edit_of_the_publication_writes_no_passage_and_holds(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        def passages() -> list[str]:
            answer = client.get(f"/api/documents/{uploaded}/chunks").get_json()
            return [chunk["chunk_id"] for chunk in answer["chunks"]]

        before = passages()
        self.edit(client, uploaded, publisher="Office of Tables", authors="Lo, Ada")
        assert passages() == before
        added(
            client, (KENYA, KENYA_2023 + "\n\n## More\n\nNew."), on_conflict="replace"
        )
        after = get(client, uploaded)
        assert after["publisher"] == "Office of Tables"
        assert after["authors"] == ["Lo, Ada"]

    def test_proposed_values_are_confirmed_and_the_collection_follows(
        self, client: FlaskClient
    ) -> None:
        (document_id,) = added(
            client,
            (
                "note.md",
                "# Prices\n\n2019 and 2020 were dry. So was 2019 in the north.\n",
            ),
        )
        proposed = {one["field"]: one for one in get(client, document_id)["proposed"]}
        assert proposed["year"] == {
            "field": "year",
            "value": 2019,
            "origin": "first pages",
            "taken": False,
            "words": "2019 and 2020 were dry. So was 2019 in the north.",
        }
        assert (
            get(client, document_id)["year"],
            get(client, document_id)["collection"],
        ) == (None, "chatbot_data")
        edited = self.edit(client, document_id, year=2019)
        assert (edited["year"], edited["type"], edited["collection"]) == (
            2019,
            None,
            "report_chatting",
        )
        assert "year" not in {one["field"] for one in edited["proposed"]}

    def test_what_was_left_out_of_a_file_is_said_by_its_job_and_its_document(
        self, client: FlaskClient
    ) -> None:
        book, stored = Workbook(), BytesIO()
        for row in (["Wells", "Depth", "Sum"], ["Kitui", 3, "=1+1"]):
            book.worksheets[0].append(row)
        book.save(stored)
        job = ended(client, upload(client, ("wells.xlsx", stored.getvalue())))
        notes = [
            (
                "Formulas without a stored result: 1. Open the file in a spreadsheet "
                "program, save it and add it again."
            )
        ]
        assert [
            job["files"][0]["notes"],
            get(client, job["files"][0]["document_id"])["notes"],
        ] == [notes, notes]

    def test_each_file_of_an_archive_is_a_document(self, client: FlaskClient) -> None:
        parts = {
            "deep/mali.md": b"# Mali\n\nDry.\n",
            "mali.md": b"# Chad\n\nWet.\n",
            "a.zip": zipped({"a": b""}),
        }
        job = ended(client, upload(client, ("all.zip", zipped(parts))))
        assert (job["state"], [file["state"] for file in job["files"]]) == (
            "done",
            ["done", "done", "failed"],
        )
        assert job["files"][2]["error"].startswith(
            "a.zip is a ZIP archive, not a document."
        )
        assert {
            get(client, file["document_id"])["source"] for file in job["files"][:2]
        } == {
            "all.zip/deep/mali.md",
            "all.zip/mali.md",
        }
        assert upload(client, ("bad.zip", zipped({"../a.md": b"x"}))).status_code == 422

    def test_a_report_of_a_year_and_no_country_is_a_yearly_review(
        self, client: FlaskClient
    ) -> None:
        (uploaded,) = added(client, ("world.md", "# Planet\n\nThe population grew.\n"))
        assert (
            self.edit(client, uploaded, country_name=None, year=2020, title="World")[
                "type"
            ]
            == "year_in_review"
        )
        body = {
            "query": "population",
            "report_context": {"type": "year_in_review", "value": 2020},
        }
        assert {
            hit["title"]
            for hit in client.post("/api/search", json=body).get_json()["hits"]
        } == {"World"}
        assert self.edit(client, uploaded, country_name="Mali")["type"] is None
        assert self.edit(client, uploaded, country_name=None, type=None)["type"] is None

    def test_an_edit_holds_when_the_same_file_comes_again(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        self.edit(client, uploaded, title="Mine", year=None)
        added(
            client,
            (KENYA, KENYA_2023 + "\n\n## More\n\nNew text.\n"),
            on_conflict="replace",
        )
        assert (get(client, uploaded)["title"], get(client, uploaded)["year"]) == (
            "Mine",
            None,
        )
        assert found_texts(client, "New text")[0].endswith("New text.")

    def test_a_wrong_edit_is_named_and_changes_nothing(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        for body, field in [
            *CASES["what_is_wrong_is_named_and_changes_nothing"],
            *TOO_MUCH,
        ]:
            before = get(client, uploaded)
            assert fields_of(client.patch(f"/api/documents/{uploaded}", json=body)) == [
                field
            ]
            assert get(client, uploaded) == before

    def test_a_body_that_is_no_object_of_texts(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        for data in [b"[]", b"x", b"", b'{"title": "\\ud800"}', b'{"a":' * 100_000]:
            path = f"/api/documents/{uploaded}"
            error_of(
                client.patch(path, data=data, content_type="application/json"), 400
            )
            error_of(
                client.patch(path, data=b'{"title": "x"}', content_type="text/plain"),
                400,
            )
            assert get(client, uploaded)["title"] == "Kenya: Country Report 2023"
            error_of(
                client.patch(f"/api/documents/{'a' * 20}", json={"title": "x"}),
                404,
                "not_found",
            )


class TestDelete:
    def test_it_is_gone_at_once_and_the_bin_gives_it_back(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        chunk_id = get(client, f"{uploaded}/chunks")["chunks"][0]["chunk_id"]
        before = get(client, uploaded)
        response = client.delete(f"/api/documents/{uploaded}")
        assert (response.status_code, response.data) == (204, b"")
        assert found_texts(client, "growth rate") == []
        assert titles(client) == []
        for path in ("", "/chunks", "/file", "/text"):
            error_of(client.get(f"/api/documents/{uploaded}{path}"), 404, "not_found")
        error_of(client.get(f"/api/chunks/{chunk_id}"), 404, "not_found")
        assert figures(client) == []
        error_of(client.delete(f"/api/documents/{uploaded}"), 404, "not_found")
        (in_bin,) = in_the_bin(client)
        assert (in_bin["document_id"], in_bin["title"]) == (uploaded, before["title"])
        assert in_bin["deleted_at"]
        restored = client.post(f"/api/documents/{uploaded}/restore")
        assert restored.get_json() == before
        assert found_texts(client, "growth rate")
        assert figures(client)
        error_of(client.post(f"/api/documents/{uploaded}/restore"), 404, "not_found")

    @pytest.mark.parametrize("in_bin", [False, True])
    def test_the_conversations_that_quote_a_report_are_counted(
        self, client: FlaskClient, uploaded: str, in_bin: bool
    ) -> None:
        def counted() -> object:
            return get(client, f"{uploaded}/quotations")["conversations"]

        assert counted() == 0
        for _ in range(2):
            asked = {"query": "What is the population growth rate of Kenya?"}
            answer = client.post("/query", json=asked).get_json()
            assert answer["citations"]
        if in_bin:
            client.delete(f"/api/documents/{uploaded}")
        assert counted() == 2

    @pytest.mark.parametrize("in_bin", [False, True])
    def test_deleted_for_good_only_a_tombstone_is_left_and_an_upload_lifts_it(
        self,
        client: FlaskClient,
        services: Services,
        uploaded: str,
        settings: Settings,
        in_bin: bool,
    ) -> None:
        before = rows(settings)
        if in_bin:
            client.delete(f"/api/documents/{uploaded}")
        response = client.delete(f"/api/documents/{uploaded}?permanent=true")
        assert response.status_code == 204
        after = rows(settings)
        assert before["documents"] == after["documents"] == 1
        for table in before:
            if table.startswith(("report_chatting", "chatbot_data", "file", "figure")):
                assert after.get(table, 0) == 0, table
        row = services.storage.database["documents"].find_one({"_id": uploaded})
        assert row is not None
        assert "growth" not in str(row)
        assert "Kenya: Country Report" not in str(row)
        assert in_the_bin(client) == []
        error_of(client.post(f"/api/documents/{uploaded}/restore"), 404, "not_found")
        assert added(client, (KENYA, KENYA_2023)) == [uploaded]
        assert found_texts(client, "growth rate")
        job = client.get("/api/ingestions").get_json()["ingestions"][0]
        assert "A person had deleted this report on 20" in str(job["files"][0]["notes"])

    def test_an_upload_takes_a_report_out_of_the_bin(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        client.delete(f"/api/documents/{uploaded}")
        assert added(client, (KENYA, KENYA_2023)) == [uploaded]
        assert in_the_bin(client) == []
        assert found_texts(client, "growth rate")

    def test_a_damaged_upload_leaves_it_in_the_bin(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        client.delete(f"/api/documents/{uploaded}")
        job = ended(client, upload(client, (KENYA, b"\xff\xfe\x00")))
        assert job["state"] == "failed"
        assert titles(client) == []
        assert client.post(f"/api/documents/{uploaded}/restore").status_code == 200
        assert found_texts(client, "growth rate")


class TestReingest:
    def test_cut_in_another_way(self, client: FlaskClient) -> None:
        (document_id,) = added(client, ("ghana.md", LONG), labels="cocoa")
        before = get(client, document_id)
        cut = {
            "chunk_strategy": "sliding_window",
            "chunk_size": 200,
            "chunk_overlap": 40,
        }
        started = client.post(f"/api/documents/{document_id}/reingest", json=cut)
        job = ended(client, started)
        assert started.headers["Location"] == f"/api/ingestions/{job['ingestion_id']}"
        assert [(file["name"], file["outcome"]) for file in job["files"]] == [
            ("ghana.md", "replaced")
        ]
        after = get(client, document_id)
        chunking = {
            "strategy": "sliding_window",
            "size": 200,
            "used": 200,
            "unit": "characters",
            "overlap": 40,
        }
        assert after["chunking"] == chunking
        assert after["chunks"] > before["chunks"]
        assert (after["labels"], after["title"]) == (["cocoa"], before["title"])
        page = client.get(f"/api/documents/{document_id}/chunks?limit=100").get_json()
        assert max(len(chunk["text"]) for chunk in page["chunks"]) <= 200

    def test_as_before_changes_nothing(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        for body in [{"json": {}}, {}]:
            job = ended(
                client, client.post(f"/api/documents/{uploaded}/reingest", **body)
            )
            assert [file["outcome"] for file in job["files"]] == ["unchanged"]

    def test_what_is_wrong_is_named(
        self, client: FlaskClient, uploaded: str, settings: Settings
    ) -> None:
        for body, field in CASES["what is wrong is named"]:
            before = rows(settings)["ingestions"]
            response = client.post(f"/api/documents/{uploaded}/reingest", json=body)
            code = "unknown_name" if field == "chunk_strategy" else "invalid_request"
            assert [
                detail["field"] for detail in error_of(response, 400, code)["details"]
            ] == [field]
            assert rows(settings)["ingestions"] == before

    def test_a_local_file_is_read_where_it_was_and_not_found_once_it_is_gone(
        self, client: FlaskClient, services: Services, tmp_path: Path
    ) -> None:
        path = write_report(tmp_path / "local", KENYA_2023, "kenya-2023")
        found = services.ingesting.service.ingest(Source(path, path.as_posix()))
        path.write_text(KENYA_2023 + "\n\n## Added\n\nSince then.\n", encoding="utf-8")
        job = ended(
            client, client.post(f"/api/documents/{found.document_id}/reingest", json={})
        )
        assert [file["outcome"] for file in job["files"]] == ["replaced"]
        assert found_texts(client, "Since then")
        path.unlink()
        assert get(client, found.document_id)["can_reingest"] is False
        for document_id in (found.document_id, "nope"):
            error_of(
                client.post(f"/api/documents/{document_id}/reingest", json={}),
                404,
                "not_found",
            )


def test_formats_say_what_can_be_added(client: FlaskClient, kenya: Ingested) -> None:
    body = client.get("/api/formats").get_json()
    assert body["suffixes"] == [*suffixes(), ".zip"]
    assert {".pdf", ".md"} <= set(body["suffixes"])
    assert body["max_bytes"] == 50 * 1024 * 1024
    assert body["chunk_strategies"] == CHUNKERS.names()
    assert (body["chunk_size"], body["chunk_overlap"]) == (900, 0)
    assert body["types"] == ["country_report"]
