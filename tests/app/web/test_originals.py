"""What a report was read from: its file, byte for byte or shown, and the text that was
read of it.
"""

from pathlib import Path
from urllib.request import urlopen

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.config import SAMPLE_DATA
from chatbot.config.settings import Settings
from chatbot.library.sources import Source
from tests.app.web.conftest import error_of
from tests.app.web.knowledge import KENYA, added
from tests.app.web.live import served
from tests.conftest import KENYA_2023, write_report
from tests.data import cases

CASES = cases(__file__)
PDF = (SAMPLE_DATA / "country_reports/kenya-2024.pdf").read_bytes()
LONG = "# Ghana: Country Report 2022\n\n" + "\n\n".join(
    f"## Part {part}\n\n"
    + " ".join(f"Sentence {part}-{number} speaks of cocoa." for number in range(60))
    for part in range(20)
)


@pytest.fixture
def uploaded(client: FlaskClient) -> str:
    """The id of Kenya 2023, uploaded as a file."""
    (document_id,) = added(client, (KENYA, KENYA_2023))
    return document_id


class TestOriginal:
    def test_byte_for_byte_with_its_name(self, client: FlaskClient) -> None:
        for content in [KENYA_2023.encode(), ("# T\n\n" + "größe " * 200_000).encode()]:
            (document_id,) = added(
                client,
                ("länder/kenya 1.md", content),
                chunk_size="100000",
                on_conflict="replace",
            )
            response = client.get(f"/api/documents/{document_id}/file")
            assert response.data == content
            assert (
                response.headers["Content-Disposition"]
                == 'attachment; filename="kenya 1.md"'
            )
            assert response.mimetype == "application/octet-stream"
            assert response.headers["X-Content-Type-Options"] == "nosniff"

    def test_a_name_in_another_script_over_a_real_socket(
        self, app: Flask, client: FlaskClient
    ) -> None:
        """WSGI headers are Latin-1, which Flask's client does not mind."""
        for name, disposition in CASES["a name in another script over a real socket"]:
            (document_id,) = added(client, (name, "# China\n\ntext"))
            with (
                served(app) as port,
                urlopen(
                    f"http://127.0.0.1:{port}/api/documents/{document_id}/file"
                ) as response,
            ):
                assert response.headers["Content-Disposition"] == disposition
                assert response.read() == b"# China\n\ntext"

    @pytest.mark.parametrize(
        "name", ["line\nbreak", "a\r\nX-Evil: 1", 'quo"te', "semi; filename=x"]
    )
    def test_the_name_of_a_local_file_cannot_write_headers(
        self, client: FlaskClient, services: Services, tmp_path: Path, name: str
    ) -> None:
        path = write_report(tmp_path / "local", KENYA_2023, name)
        found = services.ingesting.service.ingest(Source(path, path.as_posix()))
        response = client.get(f"/api/documents/{found.document_id}/file")
        assert response.status_code == 200
        assert response.data == KENYA_2023.encode()
        assert "X-Evil" not in response.headers
        assert response.headers["Content-Disposition"].isprintable()
        assert response.headers["Content-Disposition"].count('"') == 2

    class TestNotKept:
        @pytest.fixture
        def settings(self, settings: Settings) -> Settings:
            return settings.override(keep_files=False)

        def test_a_document_says_that_its_original_is_not_kept(
            self, client: FlaskClient, uploaded: str
        ) -> None:
            document = client.get(f"/api/documents/{uploaded}").get_json()
            assert (document["has_file"], document["can_reingest"]) == (False, False)
            error = error_of(
                client.get(f"/api/documents/{uploaded}/file"), 404, "not_found"
            )
            assert (
                error["message"]
                == "The original of 'Kenya: Country Report 2023' is not kept."
            )
            error = error_of(
                client.post(f"/api/documents/{uploaded}/reingest"), 404, "not_found"
            )
            assert "add the file again" in error["message"]


class TestShown:
    def test_a_pdf_in_a_sandbox(self, client: FlaskClient) -> None:
        (document_id,) = added(client, ("kenya-2024.pdf", PDF))
        response = client.get(f"/api/documents/{document_id}/file?disposition=inline")
        assert response.data == PDF
        assert response.mimetype == "application/pdf"
        assert (
            response.headers["Content-Disposition"]
            == 'inline; filename="kenya-2024.pdf"'
        )
        assert response.headers["Content-Security-Policy"].startswith(
            "sandbox; default-src 'none'"
        )
        assert (
            client.get(f"/api/documents/{document_id}/file").mimetype
            == "application/octet-stream"
        )
        (passage,) = client.get(
            f"/api/documents/{document_id}/chunks?limit=1"
        ).get_json()["chunks"]
        assert (
            client.get(f"/api/chunks/{passage['chunk_id']}").get_json()["file"]
            == "kenya-2024.pdf"
        )

    def test_a_page_with_scripts_is_never_shown_inline(
        self, client: FlaskClient
    ) -> None:
        for name in ["page.html", "page.pdf.html"]:
            (document_id,) = added(
                client, (name, "<h1>Mali</h1><p>Bamako.</p><script>alert(1)</script>")
            )
            response = client.get(
                f"/api/documents/{document_id}/file?disposition=inline"
            )
            assert response.mimetype == "application/octet-stream"
            assert response.headers["Content-Disposition"].startswith("attachment;")

    def test_an_unknown_way_is_named(self, client: FlaskClient, uploaded: str) -> None:
        error = error_of(
            client.get(f"/api/documents/{uploaded}/file?disposition=preview"),
            400,
            "invalid_request",
        )
        assert error["details"][0]["field"] == "disposition"
        assert error["details"][0]["valid_values"] == ["attachment", "inline"]


class TestText:
    def test_each_word_once_in_order(self, client: FlaskClient) -> None:
        cut = {
            "chunk_strategy": "recursive",
            "chunk_size": "400",
            "chunk_overlap": "100",
        }
        (document_id,) = added(client, ("ghana.md", LONG), **cut)
        said, offset = "", 0
        while parts := client.get(
            f"/api/documents/{document_id}/text?cursor={offset}&limit=7"
        ).get_json()["parts"]:
            said += " ".join(["", *(part["text"] for part in parts)])
            offset += len(parts)
        wanted = [f"{part}-{number}" for part in range(20) for number in range(60)]
        assert [word for word in said.split() if "-" in word] == wanted

    def test_around_a_passage_of_the_same_report(
        self, client: FlaskClient, uploaded: str
    ) -> None:
        (document_id,) = added(client, ("ghana.md", LONG), chunk_size="400")
        passage = client.get(
            f"/api/documents/{document_id}/chunks?cursor=30&limit=1"
        ).get_json()["chunks"][0]
        found = client.get(
            f"/api/documents/{document_id}/text?around={passage['chunk_id']}&limit=20"
        ).get_json()
        assert passage["chunk_id"] in [part["chunk_id"] for part in found["parts"]]
        assert 0 < found["offset"] < 30
        error_of(
            client.get(f"/api/documents/{uploaded}/text?around={passage['chunk_id']}"),
            404,
            "not_found",
        )
