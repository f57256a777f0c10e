"""What changed when a report arrived: in the API, the feed and the page, and for
whom.
"""

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.library.pipeline import Ingested
from tests.app.web.conftest import error_of
from tests.app.web.live import application

REPORT = """# {country}: Country Report {edition}

## Economy

### Inflation rate

{inflation}

### Area

{area} sq km
"""
OLD, NEW = (
    "6.11% (2021 est.)\n\n5.4% (2020 est.)",
    "7.7% (2023 est.)\n\n6.1% (2021 est.)",
)
ATOM = "{http://www.w3.org/2005/Atom}"
Add = Callable[..., Ingested]


def add(
    add_report: Add,
    country: str,
    edition: int,
    inflation: str,
    area: int | str = 580_367,
) -> None:
    text = REPORT.format(
        country=country, edition=edition, inflation=inflation, area=area
    )
    add_report(
        text,
        f"{country}-{edition}",
        country_name=country,
        year=edition,
        type="country_report",
    )


@pytest.fixture
def editions(add_report: Add) -> None:
    for country in ("Kenya", "Mali"):
        add(add_report, country, 2023, OLD)
        add(add_report, country, 2025, NEW)


def sides(figures: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            one["indicator"],
            *(
                (side["text"], side["year"]) if side else None
                for side in (one["old"], one["new"])
            ),
        )
        for one in figures
    ]


@pytest.mark.usefixtures("editions")
def test_a_new_edition_is_held_against_the_one_before_by_api_feed_and_page(
    client: FlaskClient,
) -> None:
    body = client.get("/api/changes?country_name=Kenya").get_json()
    # A first edition is no change.
    assert (body["total"], body["next"]) == (1, None)
    (newest,) = body["changes"]
    assert newest["former"]["year"] == 2023
    assert sides(newest["figures"]) == [
        ("Inflation rate", ("6.11%", 2021), ("7.7%", 2023)),
        ("Inflation rate", ("6.11%", 2021), ("6.1%", 2021)),
    ]
    assert (newest["corrected"], newest["text"]["total"]) == ([], 0)
    assert client.get("/api/changes?limit=1").get_json()["next"] == "1"
    assert client.get("/api/changes?since=2100-01-01").get_json()["total"] == 0
    assert (
        error_of(client.get("/api/changes?since=soon"), 400)["details"][0]["field"]
        == "since"
    )
    response = client.get("/api/changes.atom?country_name=Kenya")
    assert response.mimetype == "application/atom+xml"
    entries = fromstring(response.get_data(as_text=True)).findall(f"{ATOM}entry")
    (title,) = [str(entry.findtext(f"{ATOM}title")) for entry in entries]
    assert title.endswith("2025: 2 figures changed since Kenya: Country Report 2023")
    assert any(
        "<td>7.7% (2023)</td>" in str(entry.findtext(f"{ATOM}content"))
        for entry in entries
    )
    tag = {"If-None-Match": response.headers["ETag"]}
    assert (
        client.get("/api/changes.atom?country_name=Kenya", headers=tag).status_code
        == 304
    )
    page = client.get("/changes?country_name=Kenya").get_data(as_text=True)
    assert "<td>6.11% (2021)</td><td>7.7% (2023)</td>" in page
    assert "Mali: Country Report" not in page


@pytest.mark.usefixtures("editions")
def test_a_replaced_report_is_held_against_its_former_version(
    client: FlaskClient, add_report: Add
) -> None:
    add(add_report, "Kenya", 2025, NEW, area=569_140)
    newest = client.get("/api/changes?country_name=Kenya").get_json()["changes"][0]
    assert sides(newest["corrected"]) == [
        ("Area", ("580367 sq km", None), ("569140 sq km", None))
    ]


def test_the_same_amount_written_otherwise_is_no_change(
    client: FlaskClient, add_report: Add
) -> None:
    add(add_report, "Peru", 2023, OLD, area="580367")
    add(add_report, "Peru", 2025, OLD, area="580,367")
    add(add_report, "Peru", 2025, OLD, area="580367.0")
    (newest,) = client.get("/api/changes?country_name=Peru").get_json()["changes"]
    assert (newest["figures"], newest["corrected"]) == ([], [])


BOREHOLES = (
    "# Turkana Water\n\n## Supply\n\nThe town has {number} boreholes. Donors pay."
)


def test_a_replaced_text_without_figures_is_compared_sentence_by_sentence(
    client: FlaskClient, add_report: Add
) -> None:
    added = add_report(BOREHOLES.format(number="forty"), "turkana")
    assert client.get("/api/changes").get_json()["changes"] == []
    add_report(BOREHOLES.format(number="fifty"), "turkana")
    path = f"/api/changes?document_id={added.document_id}"
    (change,) = client.get(path).get_json()["changes"]
    assert change["text"]["total"] == 1
    (passage,) = change["text"]["passages"]
    assert [(piece["kind"], piece["text"]) for piece in passage["pieces"]] == [
        ("same", "The town has"),
        ("removed", "forty"),
        ("added", "fifty"),
        ("same", "boreholes."),
    ]
    page = client.get("/changes").get_data(as_text=True)
    assert "<del>forty</del> <ins>fifty</ins>" in page
    feed = client.get("/api/changes.atom").get_data(as_text=True)
    assert "1 passage changed in this version" in feed
    # A new title is no change of what the report says.
    edit = {"title": "Water of Turkana"}
    client.patch(f"/api/documents/{added.document_id}", json=edit)
    (change,) = client.get(path).get_json()["changes"]
    assert change["text"]["total"] == 1


class TestLimits:
    @pytest.fixture
    def closed(
        self, settings: Settings, services: Services, editions: None
    ) -> Iterator[Flask]:
        with application(settings.override(access="keys")) as made:
            yield made

    def test_a_limited_key_and_its_feed_see_nothing_of_others(
        self, closed: Flask, services: Services
    ) -> None:
        keys, client = services.storage.keys, closed.test_client()
        key, secret = keys.create(
            "Nairobi", "read", filters={"country_name": ["Kenya"]}
        )
        bearer = {"Authorization": f"Bearer {secret}"}
        shown = client.get("/api/changes", headers=bearer).get_data(as_text=True)
        assert "Kenya" in shown
        assert "Mali" not in shown
        assert client.get("/api/changes.atom").status_code == 401
        assert "Sign in to see" in client.get("/changes").get_data(as_text=True)
        assert error_of(
            client.get(f"/api/changes.atom?token={secret}"), 401, "unauthorized"
        )
        former, address = (
            client.post("/api/feeds", headers=bearer).get_json()["address"]
            for _ in range(2)
        )
        feed = client.get(address)
        assert feed.status_code == 200
        assert "Kenya" in feed.get_data(as_text=True)
        assert "Mali" not in feed.get_data(as_text=True)
        assert client.get(former).status_code == 401
        token = {"Authorization": f"Bearer {address.partition('token=')[2]}"}
        assert client.get("/api/changes", headers=token).status_code == 403
        keys.revoke(key.id)
        assert client.get(address).status_code == 401
