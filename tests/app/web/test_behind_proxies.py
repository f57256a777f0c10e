"""nginx and Caddy with the configuration of docs/examples/proxies, in front of the
application: over TLS, with a certificate of our own.
"""

import json
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from flask import Flask

from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION
from tests.app.web.live import served
from tests.fakes.nx_server import wait_until
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "proxies"
HOST = "reports.example.org"
Send = Callable[..., HTTPResponse]
CLIENT = "127.0.0.2"
"""Another address than the proxy's, of the same machine."""
AROUND_NGINX = """daemon off; pid {0}/pid; error_log {0}/error; events {{}}
http {{ access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/f;
uwsgi_temp_path {0}/u; scgi_temp_path {0}/s; {1} }}"""  # noqa: E501


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(
        **server.as_settings,
        model_timeout=120.0,
        trusted_proxies=["127.0.0.1"],
        allowed_hosts=[HOST],
        requests_per_minute=50,
    )


@pytest.fixture(params=["nginx.conf", "Caddyfile"])
def send(request: pytest.FixtureRequest, app: Flask, tmp_path: Path) -> Iterator[Send]:
    """Send a request to the proxy."""
    program = {"nginx.conf": "nginx", "Caddyfile": "caddy"}[request.param]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    certificate = tmp_path / "both.pem"
    name = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-nodes",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        *name,
    ]
    certificate.write_bytes(
        subprocess.run(
            [*command, "-keyout", "-"], check=True, capture_output=True
        ).stdout
    )
    with served(app) as behind:
        text = (EXAMPLES / request.param).read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
        tls = (
            f"listen {own} ssl; ssl_certificate {certificate}; ssl_certificate_key "
            f"{certificate};"
        )
        text = text.replace("listen 8080;", tls)
        text = text.replace(
            f"http://{HOST}:8080 {{",
            f"https://{HOST}:{own} {{\n\ttls {certificate} {certificate}",
        )
        path = tmp_path / "configuration"
        alone = "{\nadmin off\nauto_https disable_redirects\n}\n"
        path.write_text(
            AROUND_NGINX.format(tmp_path, text) if program == "nginx" else alone + text
        )
        command = {
            "nginx": ["nginx", "-p", str(tmp_path), "-c", str(path)],
            "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)],
        }[program]
        with subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(tmp_path)},
        ) as proxy:
            try:
                wait_until(lambda: listens(own), "the proxy does not listen", 30)
                yield partial(send_to, own, certificate)
            finally:
                proxy.terminate()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def send_to(
    port: int, certificate: Path, path: str, body: object = None, **headers: str
) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    plain = socket.create_connection(
        ("127.0.0.1", port), timeout=60, source_address=(CLIENT, 0)
    )
    connection.sock = ssl.create_default_context(cafile=str(certificate)).wrap_socket(
        plain, server_hostname=HOST
    )
    sent = {
        "Host": f"{HOST}:{port}",
        "Connection": "close",
        "Content-Type": "application/json",
        **headers,
    }
    connection.request(
        "POST" if body else "GET", path, json.dumps(body) if body else None, sent
    )
    return connection.getresponse()


def test_the_page_and_what_it_loads_lie_below_the_path(send: Send) -> None:
    response = send("/ask/")
    cookie, page = response.getheader("Set-Cookie", ""), response.read().decode()
    assert ("Secure" in cookie, "Path=/ask/" in cookie) == (True, True), cookie
    assert 'data-root="/ask"' in page
    assert 'href="/ask/documents"' in page
    for path in ("/ask/static/js/chat/chat.js", "/ask/documents", "/ask/health"):
        assert send(path).status == 200
    assert send("/ask").getheader("Location", "").endswith("/ask/")


def test_a_client_is_counted_by_its_own_address(send: Send) -> None:
    """What it says itself of where it comes from is not believed."""
    first, second = (
        send("/ask/api/reports", **{"X-Forwarded-For": f"203.0.113.{number}"})
        for number in (1, 2)
    )
    assert [
        int(one.getheader("RateLimit-Remaining", "")) for one in (first, second)
    ] == [49, 48]


@pytest.mark.usefixtures("kenya")
def test_a_stream_comes_as_it_is_written_and_ends_with_its_reader(
    send: Send, server: FakeOpenAI
) -> None:
    server.chat(Reply(["half"], silent_after=60.0))
    stream = send("/ask/api/chat", {"query": QUESTION})
    assert any(line == b"event: token\n" for line in iter(stream.readline, b""))
    stream.close()
    assert server.wait_for(CHAT, 1).finished.wait(15.0)
