"""gunicorn.conf.py: what `gunicorn app:app` begins with."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from ssl import create_default_context

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from tests.app.cli.processes import address, call
from tests.fakes.nx_server import wait_until
from tests.fakes.openai_server import EMBEDDINGS, FakeOpenAI, Reply

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="gunicorn does not run on Windows"
)
CORES = (
    len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)


@pytest.mark.parametrize(
    ("environment", "arguments", "workers", "bind"),
    [
        ({"HOST": "127.0.0.1"}, [], min(CORES, 4), "127.0.0.1:8000"),
        # Every day two workers are set below, in a file.
        pytest.param(
            {"HOST": "::1", "WEB_CONCURRENCY": "3"},
            [],
            3,
            "[::1]:8000",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            {"HOST": "[::]", "WEB_CONCURRENCY": "3"},
            ["--workers", "5"],
            5,
            "[::]:8000",
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["a worker for each core", "as set", "as an argument says"],
)
def test_workers_and_addresses(
    tmp_path: Path,
    environment: dict[str, str],
    arguments: list[str],
    workers: int,
    bind: str,
) -> None:
    configuration = configured(tmp_path, environment, *arguments)
    assert configuration["workers"] == str(workers)
    assert configuration["bind"] == f"['{bind}']"


@pytest.mark.nightly
def test_a_reload_reads_the_settings_anew(tmp_path: Path) -> None:
    """What an administrator does after changing `.env`, WEB_CONCURRENCY in it too."""
    said = (
        "EMBEDDING_PROVIDER=hashing\nCHAT_MODEL=echo\nSAMPLE_DATA=off\n"
        "WEB_CONCURRENCY=2\nALLOWED_HOSTS="
    )
    (tmp_path / ".env").write_text(f"{said}before.example")
    with served(tmp_path) as (process, port):
        wait_until(
            lambda: status(port, "before.example") == 200, "it does not answer", 60
        )
        assert status(port, "after.example") == 403
        (tmp_path / ".env").write_text(f"{said}after.example")
        process.send_signal(signal.SIGHUP)
        wait_until(
            lambda: status(port, "before.example") == 403,
            "it goes by the old settings",
            60,
        )
        assert status(port, "after.example") == 200
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if children.exists():
            wait_until(
                lambda: len(children.read_text().split()) == 2,
                "there are not two workers",
                60,
            )
        assert len(list(tmp_path.glob("report-chat-metrics-*"))) == 1
    assert not list(tmp_path.glob("report-chat-metrics-*"))


@pytest.mark.nightly
def test_a_stop_puts_back_what_is_being_read(tmp_path: Path) -> None:
    """Left as it is it would count as a crash, of which three fail the file, and wait
    for its lease to end.
    """
    with FakeOpenAI() as server:
        server.always(EMBEDDINGS, Reply(status=500))
        said = {
            **server.as_environment,
            "EMBEDDING_PROVIDER": "openai",
            "EMBEDDING_MODEL": "text-embedding-3-small",
        }
        said |= {
            "SAMPLE_DATA": "off",
            "WEB_CONCURRENCY": "1",
            "MODEL_RETRIES": "0",
            "DATA_DIR": str(tmp_path),
        }
        with served(tmp_path, **said) as (_, port):
            url = f"http://127.0.0.1:{port}"
            form = (
                '--x\r\nContent-Disposition: form-data; name="files"; '
                'filename="a.md"\r\n\r\n# A\n\nTea.\r\n--x--\r\n'
            )
            call(url, "POST", "/api/documents", form, "multipart/form-data; boundary=x")
            server.wait_for(EMBEDDINGS)
    with build(Settings(data_dir=tmp_path, embedding_provider="hashing")) as services:
        [[file]] = [job.files for job in services.storage.ingestions.latest(1)]
        assert (file.state, file.detail, file.tries) == (
            "waiting",
            "The server was stopped.",
            0,
        )


@pytest.mark.nightly
def test_a_certificate_of_gunicorn_is_used(tmp_path: Path) -> None:
    (key, certificate) = (
        str(tmp_path / name) for name in ("key.pem", "certificate.pem")
    )
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        certificate,
    ]
    made = [*make, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(made, check=True, capture_output=True)
    (tmp_path / ".env").write_text(
        "EMBEDDING_PROVIDER=hashing\nCHAT_MODEL=echo\nSAMPLE_DATA=off\n"
        "WEB_CONCURRENCY=1"
    )
    with served(
        tmp_path, GUNICORN_CMD_ARGS=f"--certfile {certificate} --keyfile {key}"
    ) as (_, port):
        connection = HTTPSConnection(
            "127.0.0.1",
            port,
            timeout=30,
            context=create_default_context(cafile=certificate),
        )
        connection.request("GET", "/")
        with closing(connection), connection.getresponse() as response:
            assert "Secure" in response.headers["Set-Cookie"]


@contextmanager
def served(folder: Path, **said: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """gunicorn, started in this folder, and its port; stopped at the end as an init
    system does.
    """
    unwanted = ("WEB_CONCURRENCY", "PYTHON_DOTENV_DISABLED")
    environment = {
        name: value for name, value in os.environ.items() if name not in unwanted
    }
    environment |= {"TMPDIR": str(folder), "PYTHONPATH": str(ROOT), **said}
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "-c",
        str(ROOT / "gunicorn.conf.py"),
        "--bind",
        "127.0.0.1:0",
    ]
    with subprocess.Popen(
        [*command, "chatbot.app.factory:create_app()"],
        cwd=folder,
        env=environment,
        text=True,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            port = int(address(process.stderr).rpartition(":")[2])
            threading.Thread(target=process.stderr.read, daemon=True).start()  # type: ignore[union-attr]
            yield process, port
        finally:
            process.terminate()


def status(port: int, host: str) -> int:
    """Of a request that names this host; 0 where nobody answers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/api/facets", headers={"Host": host})
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def configured(folder: Path, said: dict[str, str], *arguments: str) -> dict[str, str]:
    """The configuration as gunicorn prints it."""
    environment = {
        name: value for name, value in os.environ.items() if name != "WEB_CONCURRENCY"
    }
    environment |= {"TMPDIR": str(folder), "DATA_DIR": str(folder), **said}
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--print-config",
        *arguments,
        "app:app",
    ]
    shown = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    ).stdout
    values = dict(line.split("=", 1) for line in shown.splitlines() if " = " in line)
    return {name.strip(): value.strip() for name, value in values.items()}
