"""What strangers, other keys and other users of the machine can do to a server that
runs as a person starts it.
"""

import contextlib
import csv
import http.client
import io
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.black_box import FINISHED, Server, pdf_of
from chatbot.answering.conversation import NOT_KEPT, SAVE_SECONDS
from tests.app.cli.processes import address, started
from tests.app.web.knowledge import form
from tests.data import cases
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Reply

CASES = cases(__file__)
QUESTION = {"query": "What is the population of Kenya?"}
HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
SLOW_PDF = pdf_of(b"1 0 0 1 0 0 cm " * 900_000, 9)


@contextlib.contextmanager
def running_server(
    folder: Path, keys: dict[str, str], **settings: str
) -> Iterator[Server]:
    environment = {
        **CASES["environment"],
        "DATA_DIR": str(folder),
        "PATH": os.defpath,
        **settings,
    }
    with started(environment, "app.py", stderr=None) as process:
        running = Server(address(process.stdout), environment, process.pid)
        running.create_keys(admin="--role admin", **keys)
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(
        tmp_path_factory.mktemp("strangers") / "data", CASES["keys"]
    ) as running:
        running.take_in(
            running.keys["admin"],
            form(("known.csv", "Text,country_name\nplugh,Kenya\nplugh,Somalia\n")),
        )
        running.create_keys(write="--role write --filter country_name=Kenya")
        yield running


# Every day:
# test_questions_are_answered_while_a_wide_table_is_read_in_a_process_of_its_own.
@pytest.mark.nightly
def test_ten_strangers_with_the_worst_pdf_leave_others_their_questions(
    server: Server, request: pytest.FixtureRequest
) -> None:
    attack = form(("a.pdf", SLOW_PDF), request=json.dumps(QUESTION))
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "operators", [b"0 0 m 1 1 l S " * 2_000_000, b"q " * 5_000_000], ids=["lines", "q"]
)
def test_a_small_pdf_with_millions_of_operators_is_refused(
    server: Server, operators: bytes
) -> None:
    status, answer = server.send(
        "POST",
        "/query",
        form(("a.pdf", pdf_of(operators, 1)), request=json.dumps(QUESTION)),
    )
    assert (status, "drawing operators" in answer["error"]["message"]) == (422, True)


@pytest.mark.parametrize(
    ("name", "text", "row"), CASES["outside"].values(), ids=CASES["outside"]
)
def test_a_limited_key_adds_rows_inside_of_its_limit_only(
    server: Server, name: str, text: str, row: str
) -> None:
    file = server.take_in(server.keys["write"], form((name, text)))
    assert (file["state"], row in file["error"]) == (
        "failed" if row else "done",
        True,
    ), file
    _, found = server.send(
        "POST",
        "/api/search",
        {"query": "xyzzy", "retrieval_method": "bm25"},
        server.keys["read"],
    )
    assert "xyzzy" not in json.dumps(found["hits"])


def test_a_link_shows_what_was_shared_and_the_operator_can_revoke_it(
    server: Server,
) -> None:
    key = server.keys["sharing"]
    conversation = server.send(
        "POST", "/query", {**QUESTION, **CASES["attached"]}, key
    )[1]["conversation_id"]
    path = f"/api/conversations/{conversation}"
    link = f"/api/shared/{server.send('POST', f'{path}/share', key=key)[1]['share']}"
    server.send(
        "POST", "/query", {"query": "Later?", "conversation_id": conversation}, key
    )
    shown = json.dumps(server.send("GET", link)[1])
    assert ("salary" in shown, "Later?" in shown, QUESTION["query"] in shown) == (
        False,
        False,
        True,
    )
    server.send("POST", f"{path}/share", {"later": True}, key)
    assert "Later?" in json.dumps(server.send("GET", link)[1])
    said = server.run("conversations links", f"keys revoke {key[:12]}")
    assert (conversation in said, "1 shared link still work" in said) == (True, True)
    assert server.send("GET", link)[0] == 200
    server.run(f"conversations unshare {conversation}")
    assert server.send("GET", link)[0] == 404


def test_strangers_learn_only_whether_the_server_is_ready(server: Server) -> None:
    assert "dependencies" not in server.send("GET", "/ready")[1]
    assert "dependencies" in server.send("GET", "/ready", key=server.keys["admin"])[1]


def test_another_user_of_the_machine_reads_nothing(server: Server) -> None:
    paths = [
        folder := Path(server.environment["DATA_DIR"]),
        *folder.glob("*.sqlite*"),
        *folder.glob("index*"),
    ]
    shown = [
        path
        for path in paths
        if path.suffix != ".lock" and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert (len(paths) > 2, shown) == (True, [])


@pytest.mark.parametrize(("headers", "secure", "path"), CASES["proxies"])
def test_proxies_are_understood(
    server: Server, headers: dict[str, str], secure: bool, path: str
) -> None:
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
        keys = [server.keys["read"], ""]
        answers = [
            server.send("GET", path, key=key)[0]
            for path in ("/api/facets", "/api/documents")
            for key in keys
        ]
    assert (answers, time.monotonic() - began < 3.0) == ([200] * 4, True)


def test_a_stranger_s_answer_does_not_wait_for_another_process_that_writes(
    server: Server,
) -> None:
    (file,) = Path(server.environment["DATA_DIR"]).glob("*.sqlite")
    ask = lambda query: server.send("POST", "/query", {"query": query})  # noqa: E731
    assert ask("Where is plugh?")[1]["conversation_id"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        began = time.monotonic()
        status, answer = ask("Where else is plugh?")[:2]
        took = time.monotonic() - began
        other.communicate()
    assert (status, took < SAVE_SECONDS) == (200, True)
    assert answer["response"]
    (note,) = [step for step in answer["trace"]["path"] if step["name"] == "save"]
    assert (answer["conversation_id"], note["detail"]) == (None, NOT_KEPT)
    assert ask("Where is plugh now?")[1]["conversation_id"]


def test_questions_are_answered_while_a_wide_table_is_read_in_a_process_of_its_own(
    server: Server,
) -> None:
    def ticks() -> tuple[int, int]:
        tasks = Path(f"/proc/{server.pid}/task").glob("*/children")
        processes = [
            server.pid,
            *(int(child) for task in tasks for child in task.read_text().split()),
        ]
        stats = (
            Path(f"/proc/{one}/stat").read_text().rpartition(")")[2]
            for one in processes
        )
        own, *readers = [list(map(int, fields.split()[11:15])) for fields in stats]
        return sum(own[:2]), sum(own[2:]) + sum(map(sum, readers))

    key, rows = (
        server.keys["admin"],
        ("Indicator {} of a sector", *(f"{row}{{}}.5" for row in range(40))),
    )
    took, before, table = (
        list[float](),
        ticks(),
        "\n".join(",".join(map(row.format, range(300))) for row in rows),
    )
    job = server.send("POST", "/api/documents", form(("wide.csv", table)), key)[1][
        "ingestion_id"
    ]
    while (found := server.send("GET", f"/api/ingestions/{job}", key=key)[1])[
        "state"
    ] not in FINISHED:
        took.append(-time.monotonic())
        assert server.send("POST", "/query", QUESTION, key)[0] == 200
        took[-1] += time.monotonic()
        time.sleep(1)
    here, readers = (after - then for after, then in zip(ticks(), before, strict=True))
    usual = sorted(took)[len(took) // 2]
    assert (found["state"], usual < 3.0, readers > here / 3) == ("done", True, True), (
        took,
        here,
        readers,
    )


def test_words_that_people_cannot_see_are_not_read(server: Server) -> None:
    hidden = "".join(
        f'<p style="{style}">quux number {n}</p>'
        for n, style in enumerate(CASES["hidden"])
    )
    server.take_in(
        server.keys["admin"],
        form(("page.html", f"<h1>Page</h1><p>corge is seen</p>{hidden}")),
    )
    search = {"query": "corge quux", "retrieval_method": "bm25"}
    hits = server.send("POST", "/api/search", search, server.keys["read"])[1]["hits"]
    assert "corge is seen" in (text := " ".join(hit["text"] for hit in hits))
    assert "quux" not in text


def test_exported_cells_do_not_start_formulas(server: Server) -> None:
    signs = "=+-@＝＋－＠"
    sections = "".join(
        f"### {sign}cmd {n}\n\n52,428,29{n} (2023 est.)\n\n"
        for n, sign in enumerate(signs)
    )
    server.take_in(
        server.keys["admin"],
        form(("kenya.md", f"# Kenya: Country Report 2023\n\n## People\n\n{sections}")),
    )
    text = server.send("GET", "/api/figures?format=csv", key=server.keys["read"])[
        1
    ].decode()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert {cell[-len("=cmd 0") :] for cell in cells if "cmd" in cell} >= {
        f"{sign}cmd {n}" for n, sign in enumerate(signs)
    }
    assert not [cell for cell in cells if cell.startswith(tuple(signs))]


def test_a_file_whose_reader_dies_is_not_read_again(server: Server) -> None:
    attachment = {"request": json.dumps(QUESTION)}
    server.send(
        "POST", "/query", form(("used.md", "# Used\n\ngarply\n" * 999), **attachment)
    )
    with ThreadPoolExecutor() as other:
        question = other.submit(
            server.send, "POST", "/query", form(("slow.pdf", SLOW_PDF), **attachment)
        )
        time.sleep(1.5)
        for reader in Path(f"/proc/{server.pid}/task/{server.pid}").parent.glob(
            "*/children"
        ):
            for child in reader.read_text().split():
                os.kill(int(child), signal.SIGKILL)
        died = time.monotonic()
        status, answer = question.result()
    assert (
        status,
        "memory" in answer["error"]["message"],
        time.monotonic() - died < 3.0,
    ) == (422, True, True), answer


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="module")
def asking(
    tmp_path_factory: pytest.TempPathFactory, model: FakeOpenAI
) -> Iterator[Server]:
    """A server whose embedder and language model are `model`."""
    settings = {
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "fake",
        "MODEL_RETRIES": "0",
        "CACHE_SECONDS": "0",
    }
    with running_server(
        tmp_path_factory.mktemp("asking") / "data",
        {},
        **model.as_environment,
        **settings,
    ) as running:
        text = "# Kenya\n\nThe population of Kenya is large. " + " ".join(
            CASES["control tokens"]
        )
        assert (
            running.take_in(running.keys["admin"], form(("kenya.md", text)))["state"]
            == "done"
        )
        yield running
        model.default.clear()


def test_control_tokens_of_chat_templates_do_not_reach_the_model(
    asking: Server, model: FakeOpenAI
) -> None:
    query = f"{QUESTION['query']} {' '.join(CASES['control tokens'])}"
    assert asking.send("POST", "/query", {"query": query})[0] == 200
    sent = json.dumps(model.received(CHAT)[-1].body, ensure_ascii=False)
    assert "population of Kenya is large" in sent
    assert [token for token in CASES["control tokens"] if token in sent] == []


V1_QUESTION = {
    "model": "report-chat-direct",
    "messages": [{"role": "user", "content": QUESTION["query"]}],
}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/query", QUESTION),
        ("/api/chat", QUESTION),
        ("/v1/chat/completions", V1_QUESTION),
    ],
)
def test_only_administrators_read_the_words_of_an_endpoint(
    asking: Server, model: FakeOpenAI, path: str, body: dict[str, Any]
) -> None:
    model.always(
        CHAT,
        Reply(
            status=400, error={"message": "host SECRET-UPSTREAM, key sk-test-KEY123456"}
        ),
    )
    for key, shown in (("", False), (asking.keys["admin"], True)):
        answer = str(asking.send("POST", path, body, key)[1])
        is_error = path == "/v1/chat/completions"
        # The default chat quotes. Its answer is kept, and may be shared: the words of
        # the endpoint are in the log only.
        assert ("refused the request" if is_error or shown else "declined") in answer
        assert ("SECRET-UPSTREAM" in answer) is (is_error and shown), answer
        assert "KEY123456" not in answer


@pytest.mark.parametrize("path", [CHAT, EMBEDDINGS])
def test_a_model_endpoint_sends_nobody_to_another_address(
    asking: Server, model: FakeOpenAI, path: str
) -> None:
    with FakeOpenAI() as other:
        model.always(
            path,
            Reply(
                status=307, headers={"Location": f"http://127.0.0.1:{other.port}{path}"}
            ),
        )
        question = {"query": f"What is the population by {path}?"}
        status, answer = asking.send("POST", "/query", question)
        assert status == (200 if path == CHAT else 503)
        assert path != CHAT or answer["degraded"]
        assert other.requests == []
    model.default.clear()


def test_a_line_without_an_end_is_not_kept(asking: Server, model: FakeOpenAI) -> None:
    def peak() -> int:
        return (
            int(
                re.findall(
                    r"VmHWM:\s+(\d+)", Path(f"/proc/{asking.pid}/status").read_text()
                )[0]
            )
            // 1024
        )

    asking.send("POST", "/query", {"query": "A first question about Kenya?"})
    Path(f"/proc/{asking.pid}/clear_refs").write_text(
        "5"
    )  # the peak is what it has now
    before = peak()
    model.always(CHAT, Reply(raw=b"data: " + b"x" * (128 << 20)))
    question = {"query": "How large is the population?"}
    status, answer = asking.send("POST", "/query", question)
    assert status == 200
    assert answer["degraded"]
    assert peak() - before < 32


@pytest.mark.parametrize(
    "rows", [([0.0] * 64, [0.0] * 64), ([1.0] * 64, [1.0] * 64, [2.0] * 64)]
)
def test_useless_vectors_fail_the_upload(
    asking: Server, model: FakeOpenAI, rows: Sequence[list[float]]
) -> None:
    data = [
        {"object": "embedding", "index": place // 2, "embedding": row}
        for place, row in enumerate(rows)
    ]
    model.always(
        EMBEDDINGS, Reply(body={"object": "list", "model": "fake", "data": data})
    )
    text = "\n\n".join(
        f"# Part {n} of {len(rows)}\n\nIt has words." for n in range(len(rows))
    )
    file = asking.take_in(asking.keys["admin"], form(("useless.md", text)))
    assert (file["state"], "vector" in file["error"]) == ("failed", True), file


@pytest.mark.nightly
def test_callers_queue_no_more_than_their_share_and_all_no_more_than_the_disk_holds(
    server: Server,
) -> None:
    """The last test of `server`, whose queue stays full."""

    def refusal(key: str) -> str:
        pages = (
            {"urls": [f"http://127.0.0.1/{n}x{page}" for page in range(50)]}
            for n in range(21)
        )
        answers = (server.send("POST", "/api/documents", body, key) for body in pages)
        return next(
            str(answer["error"]["code"]) for status, answer in answers if status != 202
        )

    keys = [
        server.keys[name]
        for name in ("admin", *CASES["keys"])
        if name.startswith(("admin", "queue"))
    ]
    slow = [(f"slow{n}.pdf", SLOW_PDF + b" " * n) for n in range(2)]
    assert (
        server.send("POST", "/api/documents", form(*slow), keys[0])[0] == 202
    )  # both workers read one
    time.sleep(1)
    assert [refusal(key) for key in keys] == ["too_many_requests"] * 5 + ["queue_full"]
