"""What strangers, other keys and other users of the machine can do to a server that runs as a person starts it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.black_box import Server, pdf_of
from tests.app.cli.processes import address, started
from tests.app.web.knowledge import form
from tests.data import cases

CASES = cases(__file__)
QUESTION = {"query": "What is the population of Kenya?"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = str(tmp_path_factory.mktemp("strangers") / "data")
    environment = {**CASES["environment"], "DATA_DIR": folder, "PATH": os.defpath}
    with started(environment, "app.py", stderr=None) as process:
        running = Server(address(process.stdout), environment)
        running.keys["admin"] = running.key("--role", "admin")
        running.take_in(running.keys["admin"], form(("known.csv", "Text,country_name\nplugh,Kenya\nplugh,Somalia\n")))
        running.keys["read"] = running.key()
        running.keys["write"] = running.key("--role", "write", "--filter", "country_name=Kenya")
        yield running


def test_ten_strangers_with_the_worst_pdf_leave_others_their_questions(
    server: Server, request: pytest.FixtureRequest
) -> None:
    attack = form(("a.pdf", pdf_of(b"1 0 0 1 0 0 cm " * 900_000, 9)), request=json.dumps(QUESTION))
    for _ in range(10):
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=90)
        request.addfinalizer(connection.close)
        connection.request("POST", "/query", attack[0], {"Content-Type": attack[1]})
    time.sleep(2)
    took = []
    for _ in range(5):
        began = time.monotonic()
        assert server.send("POST", "/query", QUESTION, server.keys["read"])[0] == 200
        took.append(time.monotonic() - began)
    assert max(took) < 3.0, took


@pytest.mark.parametrize("operators", [b"q " * 5_000_000, b"0 0 m 1 1 l S " * 2_000_000], ids=["q", "lines"])
def test_a_small_pdf_with_millions_of_operators_is_refused(server: Server, operators: bytes) -> None:
    status, answer = server.send("POST", "/query", form(("a.pdf", pdf_of(operators, 1)), request=json.dumps(QUESTION)))
    assert (status, "drawing operators" in answer["error"]["message"]) == (422, True)


@pytest.mark.parametrize(("name", "text", "row"), CASES["outside"].values(), ids=CASES["outside"])
def test_a_limited_key_adds_rows_inside_of_its_limit_only(server: Server, name: str, text: str, row: str) -> None:
    file = server.take_in(server.keys["write"], form((name, text)))
    assert (file["state"], row in file["error"]) == ("failed" if row else "done", True), file
    _, found = server.send("POST", "/api/search", {"query": "xyzzy", "retrieval_method": "bm25"}, server.keys["read"])
    assert "xyzzy" not in json.dumps(found["hits"])


def test_a_link_shows_what_was_shared_and_the_operator_can_revoke_it(server: Server) -> None:
    key = server.key()
    conversation = server.send("POST", "/query", {**QUESTION, **CASES["attached"]}, key)[1]["conversation_id"]
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
    paths = [folder := Path(server.environment["DATA_DIR"]), *folder.glob("*.sqlite*"), *folder.glob("index*")]
    shown = [path for path in paths if path.suffix != ".lock" and stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert (len(paths) > 2, shown) == (True, [])


@pytest.mark.parametrize(("headers", "secure", "path"), CASES["proxies"])
def test_proxies_are_understood(server: Server, headers: dict[str, str], secure: bool, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", "/", headers=headers)
    with contextlib.closing(connection), connection.getresponse() as response:
        cookie = response.headers["Set-Cookie"]
    assert ("Secure" in cookie, f"Path={path};" in cookie) == (secure, True), cookie


def test_reads_do_not_wait_for_another_program_that_writes(server: Server) -> None:
    (file,) = Path(server.environment["DATA_DIR"]).glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        answers = [server.send("GET", path, key=server.keys["read"])[0] for path in ("/api/facets", "/api/documents")]
    assert (answers, time.monotonic() - began < 3.0) == ([200, 200], True)
