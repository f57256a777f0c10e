"""Another program changes a passage in place: the server's change stream tells, and the
search in this process follows. The events are scripted in the vendor's form
(mongodb.com/docs/manual/reference/change-events/update: `_id` is the resume token,
`ns`, `documentKey`; /changeStreams: `postBatchResumeToken` of each batch,
`resumeAfter`).
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chatbot.database.core import Database
from chatbot.extras.operator.doctor import diagnose
from tests.fakes.nx_server import wait_until
from tests.fakes.wire_faults import Action, Answer, failure
from tests.fakes.wire_proxy import WireProxy
from tests.faults.conftest import QUESTION, NewSite, Site, add_kenya
from tests.rows import outside

STREAM, NAMESPACE = "$changeStream", "report_chat.$cmd.aggregate"
PATIENT = 20.0
"""MONGODB_TIMEOUT: no server is slow here, but the machine may be busy."""
NO_STREAMS = failure(
    40573, "Location40573", "The $changeStream stage is only supported on replica sets"
)
LOST = failure(
    286, "ChangeStreamHistoryLost", "the resume point may no longer be in the oplog"
)


def token(number: int) -> dict[str, str]:
    return {"_data": f"82{number:04d}"}


def batch(kind: str, number: int, *events: Mapping[str, Any]) -> Answer:
    cursor = {
        "id": 77,
        "ns": NAMESPACE,
        kind: list(events),
        "postBatchResumeToken": token(number),
    }
    return Answer({"ok": 1, "cursor": cursor})


def update(number: int, row: Any) -> dict[str, Any]:
    namespace = {"db": "report_chat", "coll": "report_chatting"}
    return {
        "_id": token(number),
        "operationType": "update",
        "ns": namespace,
        "documentKey": {"_id": row},
    }


@pytest.fixture
def scripted(proxy: WireProxy) -> WireProxy:
    proxy.always(STREAM, batch("firstBatch", 1))
    proxy.always("getMore", batch("nextBatch", 1))
    return proxy


@pytest.fixture
def watched(scripted: WireProxy, new_site: NewSite, tmp_path: Path) -> Site:
    """Serving, with one report that has been asked about, and nothing in store for the
    stream.
    """
    site = new_site(scripted.uri, mongodb_timeout=PATIENT)
    add_kenya(site.services, tmp_path)
    wait_until(lambda: bool(scripted.sent("getMore")), "the stream is not read", 10)
    assert not finds(site)
    return site


def finds(site: Site) -> bool:
    """By its words as they are now."""
    body = {"query": "Zanzibar", "retrieval_method": "bm25"}
    return bool(site.ask(body, "/api/search").body["hits"])


def change(database: Database) -> Any:
    """As another program does: the count stays, and our log is left alone."""
    row = next(database["report_chatting"].find({"data": {"$exists": True}}))
    outside(database, "report_chatting").update_one(
        {"_id": row["_id"]}, {"$set": {"data": f"{row['data']} Zanzibar"}}
    )
    return row["_id"]


def test_a_passage_changed_in_place_is_found_as_it_is_now(
    watched: Site, scripted: WireProxy
) -> None:
    row = change(watched.services.storage.database)
    assert not finds(watched)
    scripted.next("getMore", batch("nextBatch", 2, update(2, row)))
    wait_until(lambda: finds(watched), "the change is not seen", 10)
    (stage, *rest) = scripted.sent(STREAM)[0]["pipeline"]
    assert stage == {STREAM: {}}
    assert rest == [
        {
            "$match": {
                "ns.coll": {"$in": ["chatbot_data", "report_chatting"]},
                "operationType": {"$in": ["update", "replace"]},
            }
        },
        {"$project": {"ns": 1, "documentKey": 1}},
    ]


def test_an_answer_from_before_the_change_is_not_given_again(
    scripted: WireProxy, new_site: NewSite, tmp_path: Path
) -> None:
    site = new_site(scripted.uri, mongodb_timeout=PATIENT, cache_seconds=600)
    add_kenya(site.services, tmp_path)
    wait_until(lambda: bool(scripted.sent("getMore")), "the stream is not read", 10)
    assert [site.ask(QUESTION).body["trace"]["cached"] for _ in range(2)] == [
        False,
        True,
    ]
    row = change(site.services.storage.database)
    scripted.next("getMore", batch("nextBatch", 2, update(2, row)))
    wait_until(
        lambda: not site.ask(QUESTION).body["trace"]["cached"],
        "the old answer is given",
        10,
    )


def test_what_changed_while_nobody_served_is_noticed_at_the_next_start(
    watched: Site, scripted: WireProxy, new_site: NewSite
) -> None:
    row = change(watched.services.storage.database)
    watched.app.extensions["startup"].close()
    began = len(scripted.sent(STREAM))
    scripted.next("getMore", batch("nextBatch", 3, update(3, row)))
    scripted.always("getMore", batch("nextBatch", 3))
    site = new_site(scripted.uri, mongodb_timeout=PATIENT)
    wait_until(lambda: finds(site), "the change is not seen", 10)
    assert scripted.sent(STREAM)[began]["pipeline"][0] == {
        STREAM: {"resumeAfter": token(1)}
    }
    wait_until(lambda: place(site) == token(3), "the place is not kept", 10)


def place(site: Site) -> Any:
    return (
        site.services.storage.database["meta"].find_one({"_id": "change_stream"}) or {}
    ).get("token")


@pytest.mark.parametrize(
    "fault",
    [LOST, failure(260, "InvalidResumeToken", "cannot resume")],
    ids=["lost", "no token of this server"],
)
def test_a_lost_place_means_that_everything_may_have_changed(
    watched: Site, scripted: WireProxy, fault: Action
) -> None:
    change(watched.services.storage.database)
    began = len(scripted.sent(STREAM))
    scripted.next("getMore", fault)
    scripted.next(STREAM, fault)
    wait_until(lambda: finds(watched), "the change is not seen", 15)
    assert scripted.sent(STREAM)[-1]["pipeline"][0] == {STREAM: {}}
    assert len(scripted.sent(STREAM)) > began


def test_a_server_without_change_streams_serves_and_the_doctor_names_it(
    scripted: WireProxy, new_site: NewSite, tmp_path: Path
) -> None:
    scripted.always(STREAM, NO_STREAMS)
    site = new_site(scripted.uri, mongodb_timeout=PATIENT)
    add_kenya(site.services, tmp_path)
    assert site.ask(QUESTION).status == 200
    (found,) = [
        one for one in diagnose(site.services) if one.name == "changes_in_place_unseen"
    ]
    assert found.severity == "warning"
    assert "python -m chatbot migrate" in found.remedy
    assert not scripted.sent("getMore")


PASSING = {
    "no host to read from": failure(133, "FailedToSatisfyReadPreference", "no host"),
    "a lost cursor": failure(43, "CursorNotFound", "cursor id 77 not found"),
    "a member that is gone": failure(6, "HostUnreachable", "connection refused"),
    "an error of Atlas": failure(8000, "AtlasError", "something went wrong"),
    "a code that no list has": failure(987_654, "New", "what nobody has seen"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_the_stream_goes_on_after_a_failure_that_passes(
    watched: Site, scripted: WireProxy, fault: Action, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot.database.repositories.corpus.RETRY_SECONDS", 0.1)
    scripted.next(STREAM, fault)
    scripted.next("getMore", fault)
    wait_until(lambda: not scripted._next[STREAM], "the stream is not opened again", 15)
    row = change(watched.services.storage.database)
    scripted.next("getMore", batch("nextBatch", 2, update(2, row)))
    wait_until(lambda: finds(watched), "the change is not seen", 15)


def test_the_stream_ends_with_the_server(watched: Site, scripted: WireProxy) -> None:
    watched.app.extensions["startup"].close()
    sent = len(scripted.sent("getMore"))
    assert not [
        thread.name
        for thread in threading.enumerate()
        if thread.name == "foreign-changes"
    ]
    assert len(scripted.sent("getMore")) == sent
