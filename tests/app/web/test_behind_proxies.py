"""nginx and Caddy with the configuration of docs/examples/proxies, in front of the application: over TLS, with a
certificate of our own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from flask import Flask

from chatbot.config.settings import Settings
from tests.app.web.conftest import QUESTION
from tests.app.web.live import served
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "proxies"
HOST = "reports.example.org"
CLIENT = "127.0.0.2"
"""Another address than the proxy's, of the same machine."""
AROUND_NGINX = """daemon off; pid {0}/pid; error_log {0}/error; events {{}}
http {{ access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/f;
uwsgi_temp_path {0}/u; scgi_temp_path {0}/s; {1} }}"""


@pytest.fixture
def settings(settings: Settings, server: FakeOpenAI) -> Settings:
    return settings.override(
        **server.as_settings, model_timeout=120.0, trusted_proxies=["127.0.0.1"], allowed_hosts=[HOST],
        requests_per_minute=50,
    )  # fmt: skip


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the key and the certificate of HOST."""
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    name = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", *name]
    made = subprocess.run([*command, "-keyout", "-"], check=True, capture_output=True).stdout
    path.write_bytes(made)
    return path


@pytest.fixture(params=["nginx.conf", "Caddyfile"])
def port(request: pytest.FixtureRequest, app: Flask, tmp_path: Path, certificate: Path) -> Iterator[int]:
    """The proxy's."""
    program = {"nginx.conf": "nginx", "Caddyfile": "caddy"}[request.param]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    with served(app) as behind:
        text = (EXAMPLES / request.param).read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
        tls = f"listen {own} ssl; ssl_certificate {certificate}; ssl_certificate_key {certificate};"
        text = text.replace("listen 8080;", tls)
        text = text.replace(f"http://{HOST}:8080 {{", f"https://{HOST}:{own} {{\n\ttls {certificate} {certificate}")
        path = tmp_path / "configuration"
        alone = "{\nadmin off\nauto_https disable_redirects\n}\n"
        path.write_text(AROUND_NGINX.format(tmp_path, text) if program == "nginx" else alone + text)
        command = {
            "nginx": ["nginx", "-p", str(tmp_path), "-c", str(path)],
            "caddy": ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)],
        }[program]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(tmp_path)}
        ) as proxy:
            try:
                wait_for(own)
                yield own
            finally:
                proxy.terminate()


def wait_for(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
        else:
            return
    pytest.fail("the proxy does not listen")


def send(port: int, certificate: Path, path: str, body: object = None, **headers: str) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    plain = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(CLIENT, 0))
    connection.sock = ssl.create_default_context(cafile=str(certificate)).wrap_socket(plain, server_hostname=HOST)
    sent = {"Host": f"{HOST}:{port}", "Connection": "close", "Content-Type": "application/json", **headers}
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, sent)
    return connection.getresponse()


def test_the_page_and_what_it_loads_lie_below_the_path(port: int, certificate: Path) -> None:
    response = send(port, certificate, "/ask/")
    cookie, page = response.getheader("Set-Cookie", ""), response.read().decode()
    assert ("Secure" in cookie, "Path=/ask/" in cookie) == (True, True), cookie
    assert 'data-root="/ask"' in page
    assert 'href="/ask/documents"' in page
    for path in ("/ask/static/js/chat/chat.js", "/ask/documents", "/ask/health"):
        assert send(port, certificate, path).status == 200
    assert send(port, certificate, "/ask").getheader("Location", "").endswith("/ask/")


def test_a_client_is_counted_by_its_own_address(port: int, certificate: Path) -> None:
    """What it says itself of where it comes from is not believed."""
    first, second = (
        send(port, certificate, "/ask/api/reports", **{"X-Forwarded-For": f"203.0.113.{number}"}) for number in (1, 2)
    )
    assert [int(one.getheader("RateLimit-Remaining", "")) for one in (first, second)] == [49, 48]


@pytest.mark.usefixtures("kenya")
def test_a_stream_comes_as_it_is_written_and_ends_with_its_reader(
    port: int, certificate: Path, server: FakeOpenAI
) -> None:
    server.chat(Reply(["half"], silent_after=60.0))
    stream = send(port, certificate, "/ask/api/chat", {"query": QUESTION})
    assert any(line == b"event: token\n" for line in iter(stream.readline, b""))
    stream.close()
    assert server.wait_for(CHAT, 1).finished.wait(15.0)
