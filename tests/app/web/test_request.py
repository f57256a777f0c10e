"""What a form may hold: everything wrong is refused by name, before anything is stored.
How a table is sent back.
"""

import json

import pytest
from flask.testing import FlaskClient

from chatbot.app.web.files import LONGEST_NAME, MAX_FILES, csv_text, safe_name
from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION, error_of, fields_of
from tests.app.web.knowledge import (
    KENYA,
    MALI_CSV,
    added,
    ended,
    post_form,
    rows,
    upload,
)
from tests.conftest import KENYA_2023
from tests.data import cases

CASES = cases(__file__)


def test_a_name_is_made_safe_and_stays_readable() -> None:
    for given, expected in CASES["names"]:
        assert safe_name(given) == expected


def test_a_long_name_is_cut_for_every_disk_and_keeps_its_suffix() -> None:
    for letter in ["a", "é", "中", "𝔘", "folder/"]:
        name = safe_name(letter * 400 + "x.md")
        assert 100 < len(name.encode()) <= LONGEST_NAME
        assert name.endswith("x.md")


def test_long_names_that_end_alike_stay_apart() -> None:
    """They are the identity of their documents: one must not replace the other."""
    assert safe_name("a/" + "x" * 400 + ".md") != safe_name("b/" + "x" * 400 + ".md")


def test_every_name_can_be_stored_read_and_given_back(client: FlaskClient) -> None:
    for name in [
        "../../x.md",
        "..\\y.md",
        "z" * 300 + ".md",
        "𝔘" * 118 + ".md",
        "ü 中.md",
        "semi;colon.md",
    ]:
        (document_id,) = added(client, (name, KENYA_2023))
        response = client.get(f"/api/documents/{document_id}/file")
        assert response.data == KENYA_2023.encode()
        disposition = response.headers["Content-Disposition"]
        assert disposition.startswith("attachment; filename")
        assert "\n" not in disposition


def test_a_name_cannot_write_headers(client: FlaskClient) -> None:
    """As raw bytes: clients that behave do not send such names."""
    body = (
        b'--b\r\nContent-Disposition: form-data; name="files"; filename="a\\"; x=y '
        b'%0D%0AX-Evil: 1.md"\r\n'
        b"\r\n" + KENYA_2023.encode() + b"\r\n--b--\r\n"
    )
    started = client.post(
        "/api/documents", data=body, content_type="multipart/form-data; boundary=b"
    )
    (file,) = ended(client, started)["files"]
    response = client.get(f"/api/documents/{file['document_id']}/file")
    assert (
        response.headers["Content-Disposition"]
        == 'attachment; filename="a_; x=y %0D%0AX-Evil_ 1.md"'
    )
    assert "X-Evil" not in response.headers


KEPT = (KENYA, KENYA_2023)
WRONG = {
    "no file": ([], {"labels": "a"}, "files"),
    "nothing at all": ([], {}, "files"),
    "a file without a name": ([("", KENYA_2023)], {}, "files"),
    "an unknown suffix": ([KEPT, ("x.exe", b"MZ")], {}, "files"),
    "no suffix": ([("readme", "text")], {}, "files"),
    "a suffix alone": ([(".md", "text")], {}, "files"),
    "the same name twice": ([KEPT, ("./" + KENYA, "other")], {}, "files"),
    "too many files": ([(f"{n}.md", "x") for n in range(MAX_FILES + 1)], {}, "files"),
    "a title for two": ([KEPT, ("b.md", "text")], {"title": "T"}, "title"),
    "a title too long": ([KEPT], {"title": "T" * 301}, "title"),
    "an unknown field": ([KEPT], {"contry": "Kenya"}, "contry"),
    "an address beside files": ([KEPT], {"url": "https://example.org"}, "url"),
    "no country": ([KEPT], {"country_name": "Narnia"}, "country_name"),
    "no year": ([KEPT], {"year": "soon"}, "year"),
    "another strategy": ([KEPT], {"chunk_strategy": "magic"}, "chunk_strategy"),
    "a size too small": ([KEPT], {"chunk_size": "5"}, "chunk_size"),
    "a size that is no number": ([KEPT], {"chunk_size": "1e3"}, "chunk_size"),
    "a negative overlap": ([KEPT], {"chunk_overlap": "-1"}, "chunk_overlap"),
    "an overlap as large as the passage": (
        [KEPT],
        {
            "chunk_strategy": "sliding_window",
            "chunk_size": "200",
            "chunk_overlap": "200",
        },
        "chunk_overlap",
    ),
    "a collection that no question searches": (
        [KEPT],
        {"collection": "elsewhere"},
        "collection",
    ),
}


def test_what_is_wrong_is_named_and_nothing_is_stored(
    client: FlaskClient, settings: Settings
) -> None:
    for case, (files, fields, named) in WRONG.items():
        before = rows(settings)
        response = upload(client, *files, **fields)
        code = "unknown_name" if case == "another strategy" else "invalid_request"
        assert error_of(response, 400, code)["details"][0]["field"] == named
        after = rows(settings)
        for table in (
            "documents",
            "ingestions",
            "ingestion_items",
            "files",
            "file_pieces",
            "report_chatting",
        ):
            assert after.get(table, 0) == before.get(table, 0) == 0, table


def test_the_valid_values_are_listed(client: FlaskClient) -> None:
    for fields, some in CASES["the_valid_values_are_listed"]:
        response = upload(client, KEPT, **fields)
        code = response.get_json()["error"]["code"]
        (detail,) = error_of(response, 400, code)["details"]
        assert some in detail["valid_values"]


def test_a_file_in_another_field_is_not_lost_in_silence(
    client: FlaskClient, settings: Settings
) -> None:
    response = post_form(client, "/api/documents", KEPT, field="file")
    assert fields_of(response) == ["file"]
    assert rows(settings).get("ingestions", 0) == 0


class TestSize:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(max_upload_mb=1)

    def test_a_file_of_just_that_size_is_taken(self, client: FlaskClient) -> None:
        text = ("# T\n\n" + "word " * 300_000)[: 1024 * 1024]
        assert upload(client, ("large.md", text)).status_code == 202

    def test_one_byte_more_is_refused_by_name_and_takes_the_others_with_it(
        self, client: FlaskClient, settings: Settings
    ) -> None:
        response = upload(client, KEPT, ("large.md", b"x" * (1024 * 1024 + 1)))
        error = error_of(response, 413, "too_large")
        assert error["message"] == "large.md is larger than 1 MB, the limit."
        assert (
            rows(settings).get("ingestions", 0) == rows(settings).get("files", 0) == 0
        )

    def test_a_form_that_is_larger_than_all_its_files_may_be(
        self, client: FlaskClient
    ) -> None:
        question = json.dumps({"query": QUESTION})
        response = post_form(
            client, "/query", ("large.md", b"x" * 7 * 1024 * 1024), request=question
        )
        error_of(response, 413, "too_large")


def test_an_empty_field_counts_as_not_given_and_an_upper_case_suffix_is_read(
    client: FlaskClient,
) -> None:
    (document_id,) = added(client, KEPT, title=" ", year="", labels=" ,, ")
    document = client.get(f"/api/documents/{document_id}").get_json()
    assert (document["title"], document["year"], document["labels"]) == (
        "Kenya: Country Report 2023",
        2023,
        [],
    )
    assert ended(client, upload(client, ("PRICES.CSV", MALI_CSV)))["state"] == "done"


def test_a_text_that_begins_like_a_formula_is_a_text_in_a_spreadsheet() -> None:
    rows = [
        {"name": "=HYPERLINK(1)", "value": -2.5},
        {"name": 'said "so", and', "value": None},
    ]
    assert csv_text(rows, ("name", "value")).splitlines() == [
        "name,value",
        "'=HYPERLINK(1),-2.5",
        '"said ""so"", and",',
    ]
