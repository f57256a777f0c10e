"""A small real web server on loopback that answers what a test tells it to.

    with WebServer() as server:
        server.pages["/report"] = Page(b"<p>Kenya</p>")
        server.pages["/old"] = redirect("/report")
        ... server.url("/report") ...
        assert [request.path for request in server.requests] == ["/report"]

With ``certificate`` (see `certificate_for`) it speaks TLS. What has no page is 404."""

import datetime
import ipaddress
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.fakes.loopback import Loopback

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Page:
    """An answer. ``body`` may be pieces, also without end: they are sent one by one,
    ``pause`` seconds apart.

    ``content_type`` None = no such header. ``length`` is what Content-Length claims:
    None = the truth, for pieces no header at all. ``raw`` is sent instead of everything
    else.
    """

    body: bytes | Iterable[bytes] = b""
    content_type: str | None = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    pause: float = 0.0
    raw: bytes | None = None


def redirect(location: str, status: int = 302) -> Page:
    return Page(status=status, headers={"Location": location})


@dataclass(frozen=True)
class Received:
    """A request as it came; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class WebServer(Loopback):
    """Use as a context manager. ``address`` is any of 127.0.0.0/8; ``silent``: takes
    connections, says nothing.
    """

    def __init__(
        self,
        *,
        address: str = "127.0.0.1",
        certificate: Path | None = None,
        silent: bool = False,
    ) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[Received] = []
        self.connections = 0
        self.silent = silent
        self.scheme = "https" if certificate else "http"
        self.tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(certificate)
        super().__init__(_Handler, address)

    def url(self, path: str = "/", *, host: str | None = None) -> str:
        return f"{self.scheme}://{host or self.host}:{self.port}{path}"

    def serve(self, request: Any, client_address: Any) -> None:
        """The handshake too, so that a client that breaks it off stops nobody else."""
        self.connections += 1
        if self.silent:
            self.stopping.wait()
        elif self.tls is None:
            super().serve(request, client_address)
        else:
            with self.tls.wrap_socket(request.dup(), server_side=True) as secured:
                super().serve(secured, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the requests are the log."""

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        web: WebServer = self.server.fake
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers_sent = {name.lower(): value for name, value in self.headers.items()}
        web.requests.append(Received(self.path, headers_sent, body))
        page = web.pages.get(self.path, Page(b"no such page", status=404))
        self.close_connection = True
        if page.raw is not None:
            self.wfile.write(page.raw)
            return
        self.send_response(page.status)
        headers = dict(page.headers)
        if page.content_type is not None:
            headers.setdefault("Content-Type", page.content_type)
        pieces = [page.body] if isinstance(page.body, bytes) else page.body
        length = (
            len(page.body)
            if page.length is None and isinstance(page.body, bytes)
            else page.length
        )
        if length is not None:
            headers.setdefault("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            if page.pause and web.stopping.wait(page.pause):
                return


def certificate_for(folder: Path, *names: str) -> Path:
    """A file with a key and a self-signed certificate for host names or addresses;
    trust it by this same file.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fake web server")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(each))
        if each[0].isdigit()
        else x509.DNSName(each)
        for each in names
    ]
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder(
            subject_name=name, issuer_name=name, public_key=key.public_key()
        )
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(identifier, critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
