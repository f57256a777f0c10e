"""Several organisations in one database: a field of each passage says whose it is, and
each organisation's keys are held to it (docs/tasks/tenants.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.config.settings import Settings
from chatbot.stores.atlas.indexes import index_plans
from tests.app.web.knowledge import added, ended
from tests.app.web.live import application
from tests.conftest import KENYA_2023

pytestmark = pytest.mark.extras("operator")
FIELDS = "tenant_id,country_name,year,document_name,type"
QUESTION = {"query": "What is the population growth rate of Kenya?"}


@dataclass
class Tenants:
    """Two organisations that uploaded a file of the same name, and who runs it all."""

    app: Flask
    acme: FlaskClient
    globex: FlaskClient
    owner: FlaskClient
    of_acme: str
    of_globex: str


@pytest.fixture
def tenants(settings: Settings) -> Iterator[Tenants]:
    with application(settings.override(access="keys", filter_fields=FIELDS)) as app:
        keys = app.extensions["services"].storage.keys
        owner = client_with_secret(app, keys.create("owner", "admin")[1])
        acme, globex = client_of(app, owner, "acme"), client_of(app, owner, "globex")
        (of_acme,) = added(acme, ("kenya.md", KENYA_2023))
        (of_globex,) = added(globex, ("kenya.md", KENYA_2023.replace("2.09", "2.19")))
        yield Tenants(app, acme, globex, owner, of_acme, of_globex)


def client_of(app: Flask, owner: FlaskClient, tenant: str) -> FlaskClient:
    """Return a client with a key of an organisation that may have no report yet."""
    limit = {"tenant_id": [tenant]}
    body = {"name": tenant, "role": "admin", "filters": limit}
    created = owner.post("/api/keys", json=body)
    assert created.status_code < 300, created.text
    return client_with_secret(app, created.get_json()["secret"])


def client_with_secret(app: Flask, secret: str) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {secret}"
    return client


def reports(client: FlaskClient) -> list[str]:
    listed = client.get("/api/reports").get_json()["reports"]
    return sorted(report["document_id"] for report in listed)


def test_files_of_one_name_are_reports_of_two_organisations(tenants: Tenants) -> None:
    assert reports(tenants.acme) == [tenants.of_acme]
    assert reports(tenants.globex) == [tenants.of_globex]
    assert reports(tenants.owner) == sorted([tenants.of_acme, tenants.of_globex])


def test_an_answer_quotes_the_reports_of_the_callers_organisation(
    tenants: Tenants,
) -> None:
    answer = tenants.acme.post("/query", json=QUESTION).get_json()
    assert {cited["document_id"] for cited in answer["citations"]} == {tenants.of_acme}
    assert "2.09%" in str(answer["citations"])
    other = {**QUESTION, "filters": {"tenant_id": ["globex"]}}
    refused = tenants.acme.post("/query", json=other)
    assert refused.status_code == 400
    assert refused.get_json()["error"]["details"][0]["valid_values"] == ["acme"]


def test_a_report_stays_with_its_organisation_when_it_is_edited_and_read_again(
    tenants: Tenants,
) -> None:
    path = f"/api/documents/{tenants.of_acme}"
    body = {"title": "Kenya, as we see it", "country_name": None}
    assert tenants.acme.patch(path, json=body).status_code == 200
    ended(tenants.acme, tenants.acme.post(f"{path}/reingest", json={}))
    assert reports(tenants.acme) == [tenants.of_acme]
    assert tenants.globex.get(path).status_code == 404
    assert tenants.globex.delete(path).status_code == 404


def test_the_index_is_filtered_by_the_organisation_and_has_no_graph() -> None:
    """mongodb.com/docs/atlas/atlas-vector-search/multi-tenant-architecture: one
    collection, a filter, and (2026-04-07) flat indexes for many small tenants.
    """
    options = '{"indexingMethod": "flat"}'
    settings = Settings(filter_fields=FIELDS, index_options=options)
    fields: list[Any] = index_plans(settings, {"": 4})[0].definition["fields"]
    assert fields[0]["indexingMethod"] == "flat"
    assert {"type": "filter", "path": "tenant_id"} in fields


def test_a_key_for_another_organisation_is_not_created(tenants: Tenants) -> None:
    body = {"name": "spy", "filters": {"tenant_id": ["acme"]}}
    assert tenants.globex.post("/api/keys", json=body).status_code == 400
    misspelt = {"name": "office", "filters": {"country_name": ["Keniya"]}}
    assert tenants.owner.post("/api/keys", json=misspelt).status_code == 400
