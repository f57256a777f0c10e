"""What strangers, other keys and other users of the machine can do to a server that runs as a person starts it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app.cli.processes import address, started
from tests.app.web.knowledge import FINISHED, form
from tests.data import cases

CASES = cases(__file__)
QUESTION = {"query": "What is the population of Kenya?"}


@dataclass
class Server:
    url: str
    environment: dict[str, str]
    keys: dict[str, str] = field(default_factory=dict)
    """Of each role; that of the writer is limited to Kenya."""

    def send(self, method: str, path: str, body: Any = None, key: str = "", **headers: str) -> tuple[int, Any]:
        """A dict is sent as JSON, files as a form. Returns the status and the JSON of the response."""
        content, kind = body if isinstance(body, tuple) else (json.dumps(body) if body is not None else None, None)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Content-Type": kind or "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=90)
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text[:1] in {b"{", b"["} else text
        finally:
            connection.close()

    def run(self, *command: str) -> str:
        full = [sys.executable, "-m", "chatbot", *command]
        return subprocess.run(full, env=self.environment, check=True, capture_output=True, text=True).stdout

    def key(self, *options: str) -> str:
        return next(word for word in self.run("keys", "create", "K", *options).split() if word.startswith("rck_"))

    def take_in(self, key: str, name: str, text: str) -> dict[str, Any]:
        status, job = self.send("POST", "/api/documents", form((name, text)), key)
        assert status == 202, job
        while (found := self.send("GET", f"/api/ingestions/{job['ingestion_id']}", key=key)[1])[
            "state"
        ] not in FINISHED:
            time.sleep(0.1)
        return dict(found["files"][0])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("strangers") / "data"
    environment = {
        "DATA_DIR": str(folder), "SAMPLE_DATA": "off", "SUMMARIES": "off", "CHAT_MODEL": "extractive", "PORT": "0",
        "EMBEDDING_PROVIDER": "hashing", "ACCESS": "read", "QUESTIONS": "10", "PATH": os.defpath,
        "PYTHON_DOTENV_DISABLED": "1", "PYTHONUNBUFFERED": "1", "TRUSTED_PROXIES": "127.0.0.1",
        "REQUESTS_PER_MINUTE": "0",
    }  # fmt: skip
    with started(environment, "app.py", stderr=None) as process:
        running = Server(address(process.stdout), environment)
        running.keys["admin"] = running.key("--role", "admin")
        running.take_in(running.keys["admin"], "known.csv", "Text,country_name\nplugh,Kenya\nplugh,Somalia\n")
        running.keys |= {
            "read": running.key(),
            "write": running.key("--role", "write", "--filter", "country_name=Kenya"),
        }
        yield running


def pdf_of(operators: bytes, pages: int) -> bytes:
    """A small file: its pages draw the same, compressed, content."""
    content = zlib.compress(operators)
    kids = b" ".join(b"%d 0 R" % (4 + n) for n in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%b]>>" % (pages, kids),
        b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(content), content),
        *[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R>>"] * pages,
    ]  # fmt: skip
    body, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return body + tail % (len(objects) + 1, table, len(objects) + 1, len(body))


def test_ten_strangers_with_the_worst_pdf_leave_the_others_their_questions(server: Server) -> None:
    attack = form(("a.pdf", pdf_of(b"0 0 m 1 1 l S " * 300_000, 9)), request=json.dumps(QUESTION))
    sockets = [http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=90) for _ in range(10)]
    for connection in sockets:
        connection.request("POST", "/query", attack[0], {"Content-Type": attack[1]})
    time.sleep(2)
    took = []
    for _ in range(5):
        began = time.monotonic()
        assert server.send("POST", "/query", QUESTION, server.keys["read"])[0] == 200
        took.append(time.monotonic() - began)
    for connection in sockets:
        connection.close()
    assert max(took) < 3.0, took


@pytest.mark.parametrize("operators", [b"q " * 5_000_000, b"0 0 m 1 1 l S " * 2_000_000], ids=["q", "lines"])
def test_a_small_pdf_with_millions_of_operators_is_refused(server: Server, operators: bytes) -> None:
    began = time.monotonic()
    status, answer = server.send("POST", "/query", form(("a.pdf", pdf_of(operators, 1)), request=json.dumps(QUESTION)))
    assert (status, "drawing operators" in answer["error"]["message"]) == (422, True)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(("name", "text", "row"), CASES["outside"].values(), ids=CASES["outside"])
def test_a_limited_key_adds_no_row_outside_of_its_limit(server: Server, name: str, text: str, row: str) -> None:
    file = server.take_in(server.keys["write"], name, text)
    assert (file["state"], row in file["error"]) == ("failed", True), file
    _, found = server.send("POST", "/api/search", {"query": "xyzzy", "retrieval_method": "bm25"}, server.keys["read"])
    assert "xyzzy" not in json.dumps(found["hits"])


def test_a_limited_key_adds_rows_inside_of_its_limit(server: Server) -> None:
    assert server.take_in(server.keys["write"], "k.csv", "Text,country_name\nplugh row,Kenya\n")["state"] == "done"


def test_a_link_shows_what_was_shared_and_the_operator_can_revoke_it(server: Server) -> None:
    key = server.key()
    attached = {**QUESTION, "attachments": [{"name": "salary-list.txt", "text": "Ann earns 5."}]}
    conversation = server.send("POST", "/query", attached, key)[1]["conversation_id"]
    path = f"/api/conversations/{conversation}"
    link = f"/api/shared/{server.send('POST', f'{path}/share', key=key)[1]['share']}"
    server.send("POST", "/query", {"query": "Later?", "conversation_id": conversation}, key)
    shown = json.dumps(server.send("GET", link)[1])
    assert ("salary" in shown, "Later?" in shown, QUESTION["query"] in shown) == (False, False, True)
    server.send("POST", f"{path}/share", {"later": True}, key)
    assert "Later?" in json.dumps(server.send("GET", link)[1])
    assert conversation in server.run("conversations", "links")
    assert "1 shared link still work" in server.run("keys", "revoke", key[:12])
    assert server.send("GET", link)[0] == 200
    server.run("conversations", "unshare", conversation)
    assert server.send("GET", link)[0] == 404


def test_strangers_learn_only_whether_the_server_is_ready(server: Server) -> None:
    assert "dependencies" not in server.send("GET", "/ready")[1]
    assert "dependencies" in server.send("GET", "/ready", key=server.keys["admin"])[1]


def test_another_user_of_the_machine_reads_nothing(server: Server) -> None:
    folder = Path(server.environment["DATA_DIR"])
    paths = [folder, *folder.glob("*.sqlite*"), *folder.glob("index*")]
    private = [path for path in paths if path.suffix != ".lock"]
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode) & 0o077) for path in private} == dict.fromkeys(
        [path.name for path in private], "0o0"
    )


@pytest.mark.parametrize(("headers", "secure", "path"), CASES["proxies"])
def test_what_proxies_say_is_read_as_they_write_it(
    server: Server, headers: dict[str, str], secure: bool, path: str
) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", "/", headers=headers)
    with contextlib.closing(connection), connection.getresponse() as response:
        cookie = response.headers["Set-Cookie"]
    assert ("Secure" in cookie, f"Path={path};" in cookie) == (secure, True), cookie


def test_reads_do_not_wait_for_another_program_that_writes(server: Server) -> None:
    (file,) = Path(server.environment["DATA_DIR"]).glob("*.sqlite")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    try:
        answers = [server.send("GET", path, key=server.keys["read"])[0] for path in ("/api/facets", "/api/documents")]
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert (answers, time.monotonic() - began < 3.0) == ([200, 200], True)
