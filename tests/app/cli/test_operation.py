"""`serve`, as a process of its own: it answers, and it ends as it was asked to."""

import json
import re
import resource
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from chatbot.app.web.server import CONNECTIONS, connection_limit
from chatbot.models.embed import EMBEDDERS
from tests.app.cli.conftest import Run
from tests.app.cli.processes import PATIENCE, address, get, started

QUESTION = "What is the population growth rate?"


@pytest.mark.parametrize(
    ("command", "port", "how"),
    [
        (("-m", "chatbot", "serve", "--port", "0"), "1", signal.SIGINT),
        (("app.py",), "0", signal.SIGTERM),
    ],
)
@pytest.mark.nightly
def test_a_server_with_idle_connections_answers_and_ends_cleanly(
    process_environment: dict[str, str],
    command: tuple[str, ...],
    port: str,
    how: signal.Signals,
) -> None:
    """A browser keeps six idle connections for each of its profiles, and for minutes:
    they keep nobody out. Port 0 takes a free one and says which; that of the command
    line goes before the setting.
    """
    with (
        started({**process_environment, "PORT": port}, *command) as process,
        ExitStack() as opened,
    ):
        url = address(process.stdout)
        host, _, port = url.removeprefix("http://").partition(":")
        for _ in range(200):
            opened.enter_context(
                socket.create_connection((host, int(port)), timeout=60)
            )
        time.sleep(0.5)  # the server has accepted as many as it does
        status, body = get(f"{url}/health")
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        assert get(f"{url}/ready")[0] == 200
        opened.close()
        process.send_signal(how)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_a_busy_port_is_a_message(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", PORT=str(port))
    assert result.status == 1
    assert (
        f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use. Set "
        "HOST or PORT"
    ) in result.err


@pytest.mark.parametrize(
    ("files", "expected"),
    [((20_000, 20_000), CONNECTIONS), ((256, 256), 128), ((256, 1024), 512)],
)
def test_connections_leave_files_for_everything_else(
    monkeypatch: pytest.MonkeyPatch, files: tuple[int, int], expected: int
) -> None:
    """The limit that a process begins with is raised to the one it may have."""
    raised: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: files)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: raised.append(limits))
    assert connection_limit() == expected
    assert raised == [(files[1], files[1])] * (files[0] < files[1])


def test_a_wrong_setting_stops_the_start_with_a_message(run: Run) -> None:
    """Which names are checked: tests/config and tests/app/services."""
    result = run("serve", EMBEDDING_PROVIDER="magic", PORT="0")
    assert result.status in {1, 2}
    assert re.search(
        f"EMBEDDING_PROVIDER.*'magic'.*{', '.join(EMBEDDERS.names())}", result.err
    )


def test_help_of_a_command_makes_no_data_folder(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert run("documents", "list", "--help", DATA_DIR=str(folder)).status == 0
    assert not folder.exists()
