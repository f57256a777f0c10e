"""What a person does with the knowledge base, over Flask's own client; and what is
stored, counted on disk.
"""

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.test import TestResponse, encode_multipart

from chatbot.config.settings import Settings
from chatbot.library.derived import default_glossary

Named = tuple[str, str | bytes]
KENYA = "kenya-2023.md"
MALI_CSV = (
    "Text,Title,country,year\n"
    "Inflation was 7.7 percent,Prices in Kenya,Kenya,2023\n"
    "Inflation was 4.1 percent,Prices in Mali,Mali,2021\n"
)
BROKEN_PDF = b"%PDF-1.4\nthis is no PDF"
FINISHED = {"done", "failed", "cancelled", "superseded"}


def form(*files: Named, field: str = "files", **fields: str) -> tuple[bytes, str]:
    """A multipart body and its content type."""
    sent = [FileStorage(BytesIO(_bytes(content)), name) for name, content in files]
    values = MultiDict([*fields.items(), *((field, file) for file in sent)])
    boundary, body = encode_multipart(
        values
    )  # the client's own encoding leaves a file open where it is large
    return body, f"multipart/form-data; boundary={boundary}"


def post_form(
    client: FlaskClient, path: str, *files: Named, **fields: str
) -> TestResponse:
    body, content_type = form(*files, **fields)
    return client.post(path, data=body, content_type=content_type)


def upload(client: FlaskClient, *files: Named, **fields: str) -> TestResponse:
    return post_form(client, "/api/documents", *files, **fields)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def add_countries(app: Flask, texts: Mapping[str, str]) -> None:
    """Add a report of 2025 on each country, and the glossary that is shipped."""
    app.extensions["services"].storage.glossary.put("", default_glossary())
    for country, text in texts.items():
        file = (f"{country.lower()}-2025.md", text)
        added(app.test_client(), file, country_name=country, year="2025")


def ended(
    client: FlaskClient, started: TestResponse, seconds: float = 60.0
) -> dict[str, Any]:
    """The job that a response started, when it has ended."""
    assert started.status_code == 202, started.get_data(as_text=True)
    deadline = time.monotonic() + seconds
    while (job := job_of(client, started))["state"] not in FINISHED:
        assert time.monotonic() < deadline, job
        time.sleep(0.02)
    return job


def job_of(client: FlaskClient, started: TestResponse) -> dict[str, Any]:
    """How it is doing now."""
    found: dict[str, Any] = client.get(
        f"/api/ingestions/{started.get_json()['ingestion_id']}"
    ).get_json()
    return found


def added(client: FlaskClient, *files: Named, **fields: str) -> list[str]:
    """Upload, and wait until all is searchable: the documents' ids."""
    job = ended(client, upload(client, *files, **fields))
    assert job["state"] == "done", job
    return [file["document_id"] for file in job["files"]]


def found_texts(client: FlaskClient, query: str, **fields: Any) -> list[str]:
    """The passages that a search finds."""
    body = {"query": query, "retrieval_method": "bm25", **fields}
    hits = client.post("/api/search", json=body).get_json()["hits"]
    return [hit["text"] for hit in hits]


def rows(settings: Settings) -> dict[str, int]:
    """How many rows every table of the embedded database has, whatever its name."""
    return {
        name: count
        for path in Path(settings.data_dir).glob("*.sqlite")
        for name, count in _count(path)
        if not name.startswith("sqlite_")
    }


def _count(path: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        names = [
            name
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
        ]
        return [
            (name, database.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0])
            for name in names
        ]
