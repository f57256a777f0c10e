"""PyMongo's exceptions in our words. What each of them means over HTTP is in
tests/faults.
"""

import pytest
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    CursorNotFound,
    ExecutionTimeout,
    InvalidOperation,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)

from chatbot.database.core import CommandError
from chatbot.database.failures import SOON
from chatbot.database.mongo import MongoDatabase, translate
from chatbot.domain.errors import MissingPackageError, SettingsError

LATER = 30


def refused(code: int | None, message: str = "no") -> OperationFailure:
    return OperationFailure(
        f"{message}, full error: {{'secret': 1}}", code, {"errmsg": message}
    )


def batch(**details: object) -> BulkWriteError:
    return BulkWriteError(dict(details))


KNOWN: dict[str, tuple[PyMongoError, str, int | None]] = {
    "nobody there": (
        ServerSelectionTimeoutError("127.0.0.1:1: Connection refused"),
        "away",
        SOON,
    ),
    "broken connection": (AutoReconnect("connection closed"), "away", SOON),
    "no answer in time": (NetworkTimeout("timed out"), "slow", SOON),
    "over its time limit": (
        ExecutionTimeout("operation exceeded time limit", 50),
        "slow",
        SOON,
    ),
    "over its time limit, another code": (refused(262), "slow", SOON),
    "not confirmed in time": (
        WTimeoutError("waiting for replication timed out", 64),
        "slow",
        SOON,
    ),
    "stepping down": (NotPrimaryError("not primary"), "wrong_role", SOON),
    "stepping down, as a refusal": (refused(189), "wrong_role", SOON),
    **{
        f"overload {code}": (refused(code), "throttled", SOON)
        for code in (433, 449, 450, 462, 473)
    },
    "overload by its label": (
        OperationFailure(
            "no", 1, {"errmsg": "no", "errorLabels": ["SystemOverloadedError"]}
        ),
        "throttled",
        SOON,
    ),
    "no free connection": (WaitQueueTimeoutError("timed out"), "throttled", SOON),
    "wrong password": (refused(18), "auth_refused", LATER),
    "wrong password on Atlas": (
        refused(8000, "bad auth : authentication failed"),
        "auth_refused",
        LATER,
    ),
    "no rights": (refused(13), "no_rights", LATER),
    "no rights on Atlas": (
        refused(8000, "user is not allowed to do action [find] on [x.y]"),
        "no_rights",
        LATER,
    ),
    "name not resolved": (
        ConfigurationError("The DNS query name does not exist"),
        "bad_address",
        LATER,
    ),
    "a full free tier": (
        refused(8000, "you are over your space quota, using 513 MB of 512 MB"),
        "full",
        60,
    ),
    "a full free tier, in a batch": (
        batch(writeErrors=[{"code": 8000, "errmsg": "you are over your space quota"}]),
        "full",
        60,
    ),
    "the collections of a free tier": (
        refused(8000, "cannot create a new collection -- already using 500 of 500"),
        "full",
        60,
    ),
    "a full disk": (refused(14031, "no disk space"), "full", 60),
    "writes blocked": (refused(371), "read_only", LATER),
    "mongos without a host to read from": (refused(133), "away", SOON),
    **{f"a lock {code}": (refused(code), "conflict", 2) for code in (24, 46, 112)},
    "a batch against a new secondary": (
        batch(writeErrors=[{"code": 10107, "errmsg": "x"}]),
        "wrong_role",
        SOON,
    ),
    "anything else": (InvalidOperation("Cannot use MongoClient after close"), "", SOON),
}


@pytest.mark.parametrize(("error", "reason", "retry_after"), KNOWN.values(), ids=KNOWN)
def test_each_failure_has_a_reason_and_says_when_to_try_again(
    error: PyMongoError, reason: str, retry_after: int | None
) -> None:
    found = translate(error, 5.0)
    assert (found.reason, found.retry_after) == (reason, retry_after)
    assert not isinstance(found, CommandError)


NOT_ALLOWED, ENGINE_DOWN = (
    "$vectorSearch is not allowed",
    "Error connecting to localhost:28000",
)
REFUSED: dict[str, tuple[OperationFailure, int | None, str, int | None]] = {
    "a wrong command": (refused(9, "unknown option"), 9, "unknown option", None),
    "a code that no list has": (refused(987_654), 987_654, "no", SOON),
    "a lost stream": (refused(286), 286, "no", SOON),
    "no change streams": (refused(40573), 40573, "no", None),
    "a stage the tier has not": (refused(8000, NOT_ALLOWED), 8000, NOT_ALLOWED, SOON),
    "an engine that is down": (refused(6, ENGINE_DOWN), 6, ENGINE_DOWN, SOON),
    "a lost cursor": (
        CursorNotFound("cursor id 1 not found", 43, {"errmsg": "gone"}),
        43,
        "gone",
        SOON,
    ),
    "without a code, as NX-27017": (
        refused(None, "not supported"),
        None,
        "not supported",
        SOON,
    ),
    "one of a batch": (
        batch(writeErrors=[{"code": 11000, "errmsg": "E11000", "op": {"a": 1}}]),
        11000,
        "E11000",
        None,
    ),
    "a batch without a word": (batch(), 65, "a batch of writes failed", SOON),
}


@pytest.mark.parametrize(
    ("error", "code", "message", "retry_after"), REFUSED.values(), ids=REFUSED
)
def test_a_refused_command_keeps_the_servers_words_for_the_store(
    error: OperationFailure, code: int | None, message: str, retry_after: int | None
) -> None:
    found = translate(error, 5.0)
    assert isinstance(found, CommandError)
    assert (found.server_code, found.server_message, found.retry_after) == (
        code,
        message,
        retry_after,
    )


def test_a_slow_command_is_not_called_a_silent_server() -> None:
    assert translate(
        ExecutionTimeout("operation exceeded time limit", 50), 7.5
    ).finding == ("MongoDB was too slow: it took longer than the 7.5 seconds allowed.")


def test_a_failed_handshake_points_to_the_access_list() -> None:
    error = ServerSelectionTimeoutError(
        "host:27017: [SSL: TLSV1_ALERT_INTERNAL_ERROR] tlsv1 alert internal error"
    )
    assert "Network Access" in translate(error, 5.0).remedy
    assert (
        "Network Access"
        not in translate(ServerSelectionTimeoutError("Connection refused"), 5.0).remedy
    )


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ("authMechanism=MONGODB-AWS", MissingPackageError, "pymongo-auth-aws"),
        (
            "tls=true&tlsCertificateKeyFile=/no/such.pem&authMechanism=MONGODB-X509",
            SettingsError,
            "certificate file",
        ),
        ("authMechanism=MONGODB-OIDC", SettingsError, "options after the"),
    ],
    ids=["AWS without its package", "X.509 without its file", "OIDC without options"],
)
def test_a_way_to_sign_in_says_at_the_start_what_it_lacks(
    options: str, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot.database.mongo.find_spec", lambda name: None)
    uri = f"mongodb://127.0.0.1:1/?{options}"
    with pytest.raises(error, match=words):
        MongoDatabase.connect(uri, "reports", seconds=1.0, threads=1)
