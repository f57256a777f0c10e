"""Rows of an older system, stored in the present form when asked."""

from chatbot.app.services import Services
from chatbot.database.changes import PASSAGES
from chatbot.database.rows import decode_vector
from chatbot.domain.scope import NO_VALUE
from chatbot.extras.migration.mending import Mended, Mender
from tests.app.test_older_rows import DIMENSIONS, ask, listed, services
from tests.rows import outside

__all__ = ("services",)
MENDED = Mended(years=3, vectors=4, unregistered=4, reports=3, valueless=4)


def mend(services: Services, *, dry_run: bool = False) -> Mended:
    settings, database = services.settings, services.storage.database
    mender = Mender(
        database, settings.chunk_collections, settings.filter_fields, dry_run=dry_run
    )
    return mender.run(lambda rows: None)


def test_mending_changes_the_form_and_nothing_else(services: Services) -> None:
    collection = services.storage.database["report_chatting"]
    before, answer = (
        listed(services),
        ask(services, "Nairobi capital", year=[2023]).answer,
    )
    unmended = list(collection.find({}))
    assert mend(services, dry_run=True) == MENDED
    assert list(collection.find({})) == unmended
    assert services.storage.database["documents"].count({}) == 0
    assert mend(services) == MENDED
    assert listed(services) == before
    assert services.storage.database["documents"].count({}) == 3
    rows = list(collection.find({}))
    assert {row["year"] for row in rows} == {2022, 2023}
    assert {row["type"] for row in rows} == {NO_VALUE}
    assert services.storage.documents.values("type") == []
    assert {row["document_id"] for row in rows} == set(before)
    assert {type(row["data_embedding"]) is list for row in rows} == {False}
    assert {len(decode_vector(row["data_embedding"])) for row in rows} == {DIMENSIONS}
    mended = ask(services, "Nairobi capital", year=[2023]).answer
    assert [hit.chunk for hit in mended.trace.hits] == [
        hit.chunk for hit in answer.trace.hits
    ]
    assert not mend(services)


def test_an_interrupted_mend_goes_on(services: Services) -> None:
    """Killed after the registrations and one row."""
    before = listed(services)
    (kenya,) = (id for id, values in before.items() if values[0] == "Kenya 2023")
    record = services.storage.documents.get(kenya)
    assert record is not None
    services.storage.documents.put(record)
    row = services.storage.database["report_chatting"].find_one(
        {"document_name": "Kenya 2023"}
    )
    assert row is not None
    outside(services.storage.database, "report_chatting").update_each(
        [(row["_id"], {"$set": {"document_id": kenya}})]
    )
    services.storage.changes.announce([kenya], PASSAGES)
    assert listed(services) == before
    mend(services)
    assert listed(services) == before
