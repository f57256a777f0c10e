"""Another site's page changes nothing: a form with a file needs no preflight, so the
server itself has to refuse.
"""

import pytest
from flask.testing import FlaskClient

from chatbot.app.web.middleware import bare
from chatbot.config.settings import Settings
from tests.app.web.conftest import error_of
from tests.app.web.knowledge import KENYA, form, rows
from tests.conftest import KENYA_2023
from tests.data import cases

CASES = cases(__file__)
HERE = "http://localhost"  # what the test client asks
FRIEND = "https://app.example.com"


def test_an_upload_of_another_site_is_refused_and_nothing_is_stored(
    client: FlaskClient, settings: Settings
) -> None:
    for headers in CASES["foreign"]:
        body, content_type = form((KENYA, KENYA_2023))
        response = client.post(
            "/api/documents", data=body, content_type=content_type, headers=headers
        )
        error = error_of(response, 403, "forbidden_origin")
        assert "CORS_ORIGINS" in error["message"]
        assert (headers.get("Origin") or "another site") in error["message"]
        assert rows(settings).get("ingestions", 0) == 0
        assert "Access-Control-Allow-Origin" not in response.headers


def test_the_own_page_and_programs_may(client: FlaskClient) -> None:
    for headers in CASES["own"]:
        body, content_type = form((KENYA, KENYA_2023))
        response = client.post(
            "/api/documents", data=body, content_type=content_type, headers=headers
        )
        assert response.status_code == 202


def test_every_way_to_change_something_is_closed(client: FlaskClient) -> None:
    for method, path in CASES["every_way_to_change_something_is_closed"]:
        response = client.open(
            path, method=method, json={}, headers={"Origin": "https://evil.example"}
        )
        error_of(response, 403, "forbidden_origin")


def test_reading_is_the_browsers_business(client: FlaskClient) -> None:
    for headers in CASES["foreign"]:
        for path in ["/", "/documents", "/api/documents", "/api/reports", "/health"]:
            assert client.get(path, headers=headers).status_code == 200
            assert client.head(path, headers=headers).status_code == 200


OWN_NAMES = [
    "localhost",
    "LOCALHOST:8000",
    "localhost.",
    "127.0.0.1",
    "192.168.3.4:80",
    "[::1]:8000",
    "[fe80::1]",
]
FOREIGN_NAMES = [
    "evil.example",
    "localhost.evil.example",
    "evil.example:8000",
    "127.0.0.1.nip.io",
    "0x7f000001",
]
NO_NAMES = ["[::1", "a@b"]
ANY_ROUTE = [
    ("GET", "/"),
    ("GET", "/api/documents"),
    ("POST", "/query"),
    ("GET", "/static/js/x.js"),
    ("GET", "/no"),
]


def test_nothing_between_keeps_what_is_somebodys(client: FlaskClient) -> None:
    """Also what is not there: caches keep a 404 for a while that nothing is said of,
    and a job is there soon after.
    """
    for path in ("/api/conversations", "/api/ingestions/none", "/"):
        assert client.get(path).headers["Cache-Control"] == "private, no-cache"


def test_the_server_answers_to_its_own_names_only(client: FlaskClient) -> None:
    """A page whose name leads here gets nothing."""
    statuses = {
        host: client.get("/api/reports", headers={"Host": host}).status_code
        for host in OWN_NAMES
    }
    assert statuses == dict.fromkeys(OWN_NAMES, 200)
    for host in (*FOREIGN_NAMES, *NO_NAMES):
        for method, path in ANY_ROUTE:
            body = {"query": "x"} if method == "POST" else None
            response = client.open(
                path, method=method, headers={"Host": host}, json=body
            )
            assert response.status_code in {400, 403}, (host, path)
            assert "Set-Cookie" not in response.headers
            if host in FOREIGN_NAMES:
                assert (
                    "ALLOWED_HOSTS"
                    in error_of(response, 403, "forbidden_host")["message"]
                )
        assert client.get("/health", headers={"Host": host}).status_code == 200


def test_a_browser_by_a_name_that_is_none_is_told_so(client: FlaskClient) -> None:
    """A page could not build its addresses then (found by 10,000 requests)."""
    response = client.get("/no", headers={"Host": "a" * 3000, "Accept": "text/html"})
    assert "ALLOWED_HOSTS" in error_of(response, 403, "forbidden_host")["message"]


class TestNames:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(
            host="0.0.0.0",
            allowed_hosts=("reports.example.org", "*.example.net"),
            trusted_proxies=("10.0.0.0/8",),
        )

    def test_the_names_of_the_setting(self, client: FlaskClient) -> None:
        expected = {
            "reports.example.org": 200,
            "REPORTS.example.org:443": 200,
            "example.org": 403,
            "a.reports.example.org": 403,
            "a.b.example.net": 200,
            "example.net": 403,
        }
        found = {
            host: client.get("/api/reports", headers={"Host": host}).status_code
            for host in expected
        }
        assert found == expected
        assert client.get("/api/session").get_json()["may"] == [
            "feed",
            "read",
        ]  # strangers may not write

    def test_a_proxy_is_believed_where_it_is_ours(self, client: FlaskClient) -> None:
        """Whom a request is counted to, and whether its cookie is for TLS only."""
        said = "198.51.100.9, 198.51.100.8, 10.9.9.9"
        for peer, scheme, secure, left in CASES["a proxy is believed where it is ours"]:
            options = {
                "headers": {
                    "X-Forwarded-Proto": scheme,
                    "X-Forwarded-For": said,
                    "X-Forwarded-Prefix": "/ask",
                }
            }
            response = client.get("/", environ_base={"REMOTE_ADDR": peer}, **options)
            assert ("Secure" in response.headers["Set-Cookie"]) == secure, peer
            assert (
                f"Path={'/' if peer == '192.0.2.7' else '/ask/'};"
                in f"{response.headers['Set-Cookie']};"
            ), peer
            counted = client.get(
                "/api/reports", environ_base={"REMOTE_ADDR": peer}, **options
            )
            assert counted.headers["RateLimit-Remaining"] == left, peer


class TestAllowed:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.override(cors_origins=(FRIEND,))

    def test_an_origin_of_the_setting_may_and_another_still_not(
        self, client: FlaskClient
    ) -> None:
        body, content_type = form((KENYA, KENYA_2023))
        headers = {"Origin": FRIEND, "Sec-Fetch-Site": "cross-site"}
        response = client.post(
            "/api/documents", data=body, content_type=content_type, headers=headers
        )
        assert response.status_code == 202
        assert response.headers["Access-Control-Allow-Origin"] == FRIEND
        for origin in (
            "http://app.example.com",
            f"{FRIEND}.evil.example",
            f"{FRIEND}:444",
        ):
            response = client.post(
                "/query", json={"query": "x"}, headers={"Origin": origin}
            )
            error_of(response, 403, "forbidden_origin")


def test_a_forwarded_address_may_have_a_port() -> None:
    for said, address in CASES["a forwarded address may have a port"]:
        assert bare(said) == address


def test_every_answer_tells_a_browser_what_it_may_do(client: FlaskClient) -> None:
    for path in ("/", "/api/reports", "/nowhere"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in headers["Permissions-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "Strict-Transport-Security" not in headers


def test_a_browser_that_came_by_https_stays_there(client: FlaskClient) -> None:
    answer = client.get("/", base_url="https://localhost")
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
