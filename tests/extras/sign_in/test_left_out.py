"""Without this extra no door is open that it would close."""

from pathlib import Path
from typing import Any

import pytest

from chatbot.app.factory import close_app, create_app
from chatbot.config.settings import Settings
from chatbot.domain.errors import SettingsError
from tests.app.web.conftest import error_of
from tests.app.web.test_access import Person
from tests.extras.sign_in.test_sign_in import person

HEADERS = ("Remote-User", "Remote-Groups")
GIVEN: dict[str, dict[str, Any]] = {
    "SIGN_IN_GROUPS": {},
    "SIGN_IN_HEADERS": {"sign_in_headers": HEADERS, "trusted_proxies": ["10.0.0.0/8"]},
    "OIDC_ISSUER": {
        "oidc_issuer": "https://login.example.org",
        "oidc_client_id": "reports",
    },
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "groups.toml"
    path.write_text('["*"]\nrole = "read"\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("extras", ["none", "changes"])
def test_a_setting_of_it_stops_the_start(
    settings: Settings, table: Path, extras: str, name: str
) -> None:
    given = settings.override(extras=extras, sign_in_groups=table, **GIVEN[name])
    with pytest.raises(SettingsError, match=rf"{name}.*'sign_in'"):
        create_app(given)


def test_nobody_signs_in(settings: Settings) -> None:
    """Neither by headers of a trusted proxy, nor at addresses of the extra."""
    app = create_app(
        settings.override(extras="none", access="keys", trusted_proxies=["10.0.0.0/8"])
    )
    ann = person(app, "ann", "writers")
    assert ann.send("GET", "/api/session").get_json()["person"] is None
    error_of(ann.send("GET", "/api/reports"), 401, "unauthorized")
    error_of(ann.send("GET", "/sign-in"), 404, "not_found")
    token = Person(ann.client, {**ann.headers, "Authorization": "Bearer eyJhbGciOi"})
    error_of(token.send("GET", "/api/reports"), 401, "unauthorized")
    close_app(app)


def test_the_feed_of_a_person_is_closed(settings: Settings, table: Path) -> None:
    with_people = settings.override(
        extras="sign_in,changes",
        sign_in_groups=table,
        sign_in_headers=HEADERS,
        trusted_proxies=["10.0.0.0/8"],
    )
    app = create_app(with_people)
    feed = person(app, "ann", "readers").send("POST", "/api/feeds").get_json()
    path = feed["address"].removeprefix("http://localhost")
    assert app.test_client().get(path).status_code == 200
    close_app(app)
    later = create_app(settings.override(extras="changes", access="keys"))
    error_of(later.test_client().get(path), 401, "unauthorized")
    close_app(later)
