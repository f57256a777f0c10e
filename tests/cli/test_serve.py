"""`serve`, as a process of its own: it answers, and it ends as it was asked to."""

from __future__ import annotations

import json
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from chatbot.cli.serve import CONNECTIONS, connection_limit

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


@contextmanager
def started(environment: dict[str, str], *command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def get(url: str) -> tuple[int, str]:
    """Status and body, as soon as the server listens."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(url, timeout=10) as response:
                return response.status, response.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (URLError, ConnectionError) as error:
            if time.monotonic() > deadline:
                pytest.fail(f"{url} did not answer: {error}")
            time.sleep(0.1)


@pytest.mark.parametrize("command", [("-m", "chatbot", "serve"), ("app.py",)], ids=["serve", "app.py"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_it_answers_and_ends_cleanly(
    process_environment: dict[str, str], free_port: int, command: tuple[str, ...], how: signal.Signals
) -> None:
    with started({**process_environment, "PORT": str(free_port)}, *command) as process:
        status, body = get(f"http://127.0.0.1:{free_port}/health")
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        assert get(f"http://127.0.0.1:{free_port}/ready")[0] == 200
        process.send_signal(how)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert f"http://127.0.0.1:{free_port}" in out


def test_port_0_takes_a_free_one_and_says_which(process_environment: dict[str, str]) -> None:
    with started(process_environment, "-m", "chatbot", "serve", "--port", "0") as process:
        assert process.stdout is not None
        announced = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert announced is not None
        assert int(announced[1]) > 0
        assert get(f"{announced[0]}/health")[0] == 200


def test_a_busy_port_is_a_message_not_a_traceback(process_environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with started({**process_environment, "PORT": str(port)}, "app.py") as process:
            _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use. Set HOST or PORT" in err
    assert "Traceback" not in err


def test_idle_connections_keep_nobody_out(process_environment: dict[str, str], free_port: int) -> None:
    """A browser keeps six for each of its profiles, and for minutes."""
    with started({**process_environment, "PORT": str(free_port)}, "app.py"), ExitStack() as opened:
        assert get(f"http://127.0.0.1:{free_port}/health")[0] == 200
        for _ in range(200):
            opened.enter_context(socket.create_connection(("127.0.0.1", free_port), timeout=10))
        time.sleep(0.5)  # the server has accepted as many as it does
        with urlopen(f"http://127.0.0.1:{free_port}/health", timeout=10) as response:
            assert response.status == 200


@pytest.mark.parametrize(
    ("files", "expected"), [(1024, CONNECTIONS), (256, 128), (resource.RLIM_INFINITY, CONNECTIONS)]
)
def test_connections_leave_files_for_everything_else(
    monkeypatch: pytest.MonkeyPatch, files: int, expected: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert connection_limit() == expected


WRONG = {
    "EMBEDDING_PROVIDER": ("magic", "hashing, huggingface, minilm"),
    "RETRIEVAL_METHOD": ("magic", "bm25, hybrid, vector"),
    "CHAT_MODEL": ("magic:x", "echo, extractive, openai"),
    "VECTOR_SEARCH": ("magic", "atlas, auto, faiss, pgvector"),
    "LANGUAGE": ("klingon", "danish, dutch, english"),
    "ON_EMPTY": ("magic", "'abstain', 'relax' or 'general'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_stops_the_start_and_is_named_with_the_valid_ones(
    process_environment: dict[str, str], name: str
) -> None:
    """DESIGN.md, "Settings": with the name, the value and the valid ones."""
    value, valid = WRONG[name]
    with started({**process_environment, name: value, "PORT": "0"}, "app.py") as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in {1, 2}
    assert "Traceback" not in err
    assert name in err
    assert value.partition(":")[0] in err
    assert valid in err
