"""Bodies are admitted by route, role and space before they are stored."""

import socket
import tempfile
from pathlib import Path

import pytest
from flask import Flask

from chatbot.app.services import Services
from chatbot.app.web import admission
from chatbot.app.web.admission import use_data_folder
from chatbot.config.settings import Settings
from chatbot.domain.documents import MEGABYTE

PIECE = b"x" * 65_536
SMALL_LIMIT = 200_000


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.override(host="0.0.0.0", **getattr(request, "param", {}))


@pytest.fixture(autouse=True)
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all strangers together store a tenth of a form."""
    names = (admission.STRANGERS, admission.OPEN)
    limits = admission._LIMITS | {key: {"value": SMALL_LIMIT} for key in names}
    monkeypatch.setattr(admission, "_LIMITS", limits)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes that the spool counted."""
    counts: list[int] = []
    take = admission.Spool.take

    def counting(self: admission.Spool, request: admission.Admission, n: int) -> None:
        take(self, request, n)
        counts.append(n)

    monkeypatch.setattr(admission.Spool, "take", counting)
    return counts


def flood(port: int, path: str, key: str = "", megabytes: int = 5) -> str:
    """Send a form in chunks until the server answers; return its status line."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        bearer = f"Authorization: Bearer {key}\r\n" if key else ""
        client.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{bearer}"
            "Content-Type: multipart/form-data; boundary=B\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        try:
            for _ in range(megabytes * MEGABYTE // len(PIECE)):
                client.sendall(b"10000\r\n" + PIECE + b"\r\n")
            client.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # the server has answered and closed
        try:
            return client.recv(1000).split(b"\r\n")[0].decode()
        except OSError:
            return "closed"


@pytest.mark.parametrize("settings", [{"access": "keys"}], indirect=True)
@pytest.mark.parametrize("path", ["/nope", "/api/documents", "/query", "/api/feeds"])
def test_nothing_of_a_stranger_without_rights_is_stored(
    port: int, stored: list[int], path: str
) -> None:
    status = flood(port, path)
    assert status == "closed" or status.split()[1] in {"401", "404"}
    assert not stored


@pytest.mark.parametrize(
    ("settings", "path"),
    [({"access": "read"}, "/query"), ({"access": "open"}, "/api/documents")],
    indirect=["settings"],
)
def test_all_strangers_share_one_budget(
    port: int, stored: list[int], path: str
) -> None:
    for _ in range(3):  # what one took is free again for the next one
        before = sum(stored)
        status = flood(port, path)
        assert status == "closed" or status.split()[1] == "429"
        assert 0 < sum(stored) - before <= SMALL_LIMIT


@pytest.mark.parametrize("settings", [{"access": "read"}], indirect=True)
def test_callers_with_write_rights_are_not_limited_by_strangers(
    port: int, services: Services, stored: list[int]
) -> None:
    _, key = services.storage.keys.create("desk", "write")
    status = flood(port, "/api/documents", key, megabytes=2)
    assert status.split()[1] == "413", "the form is read whole: a field is too long"
    assert sum(stored) > MEGABYTE


@pytest.mark.parametrize("settings", [{"access": "read"}], indirect=True)
def test_a_route_without_files_takes_one_megabyte(
    port: int, services: Services, stored: list[int]
) -> None:
    _, key = services.storage.keys.create("desk", "admin")
    status = flood(port, "/api/search", key)
    assert status.split()[1] in {"400", "413"}
    assert sum(stored) < 1.2 * MEGABYTE


@pytest.mark.parametrize("settings", [{"access": "read"}], indirect=True)
def test_a_full_disk_is_said_before_it_is_full(
    port: int, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = services.storage.keys.create("desk", "write")
    monkeypatch.setattr(admission, "MIN_FREE_MB", 10**12)
    status = flood(port, "/api/documents", key)
    assert status.split()[1] == "507"


@pytest.mark.parametrize(
    "settings", [{"access": "keys", "requests_per_minute": 2}], indirect=True
)
def test_an_admitted_request_counts_once(port: int, services: Services) -> None:
    _, key = services.storage.keys.create("desk", "write")
    statuses = [flood(port, "/api/documents", key, 2).split()[1] for _ in range(2)]
    assert statuses == ["413", "413"]
    status = flood(port, "/api/documents", key)
    assert status == "closed" or status.split()[1] == "429"


def test_temporary_files_are_below_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    left = tmp_path / "tmp" / "left"
    left.mkdir(parents=True)
    (left / "piece").write_text("of a killed process")
    limits = {**admission._LIMITS, "leftover_seconds": {"value": -1}}
    monkeypatch.setattr(admission, "_LIMITS", limits)
    use_data_folder(tmp_path)
    assert not left.exists()
    with tempfile.TemporaryDirectory() as folder:
        assert Path(folder).parent == tmp_path / "tmp"


def test_the_client_of_flask_asks_for_no_admission(app: Flask) -> None:
    response = app.test_client().post("/query", json={"query": "x" * 20_000})
    assert response.status_code == 400
