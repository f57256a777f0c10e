"""PyMongo's exceptions in our words: what happened, what helps, and when to try again. No message holds a secret."""

from __future__ import annotations

import re
from typing import Any

from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)

from ..errors import DatabaseError
from .core import CommandError

SOON = 5
LATER = 30
"""Seconds after which trying again may help: an election or a restart is over, a changed password is rolled out."""
NO_USER = {11, 18}
NO_RIGHTS = 13
ATLAS = 8000
"""Atlas's own code for many things; its message tells them apart."""
_ATLAS_NO_USER = re.compile(r"auth", re.IGNORECASE)
_ATLAS_NO_RIGHTS = re.compile(r"user is not allowed|not authorized", re.IGNORECASE)
_TLS = re.compile(r"\b(?:SSL|TLS)|certificate", re.IGNORECASE)
TOO_SLOW = {50, 202, 262}
ELECTION = {91, 189, 10058, 10107, 11600, 11602, 13435, 13436}
"""The server is shutting down, stepping down, or no primary (any more)."""
BROKEN_OFF = {6, 7, 43, 64, 89, 134, 237, 9001}
"""The server lost a connection, a cursor or a replica on the way."""


def translated_error(error: PyMongoError, seconds: float) -> DatabaseError:
    """``seconds`` is the time limit of one call."""
    if isinstance(error, OperationFailure) and not isinstance(error, (ExecutionTimeout, WTimeoutError)):
        return _refused(error, seconds)
    if isinstance(error, (NetworkTimeout, ExecutionTimeout, WTimeoutError)):
        return too_slow(seconds)
    if isinstance(error, NotPrimaryError):
        return _election()
    if isinstance(error, ConnectionFailure) and not isinstance(error, WaitQueueTimeoutError):
        # only a failed selection tells what the attempts to connect died of
        return no_answer(tls=isinstance(error, ServerSelectionTimeoutError) and bool(_TLS.search(str(error))))
    return _other(error)


def _other(error: PyMongoError) -> DatabaseError:
    if isinstance(error, WaitQueueTimeoutError):
        return DatabaseError(
            "All connections to MongoDB are in use.",
            remedy="Try again; if it stays so, look at the server's load.",
            retry_after=SOON,
            reason="overloaded",
        )
    if isinstance(error, ConfigurationError):
        return DatabaseError(
            "The address in MONGODB_URI cannot be resolved or used.",
            remedy="Check the host name in it, and this machine's name server.",
            retry_after=LATER,
            reason="bad_address",
        )
    return DatabaseError(f"MongoDB failed: {type(error).__name__}.", retry_after=SOON)


def no_answer(*, tls: bool = False) -> DatabaseError:
    if tls:
        remedy = (
            "TLS failed: on Atlas, allow this machine's address (Network Access); elsewhere check the certificates."
        )
    else:
        remedy = "Check that the server runs and MONGODB_URI is right."
    return DatabaseError("MongoDB does not answer.", remedy=remedy, retry_after=SOON, reason="unreachable")


def too_slow(seconds: float) -> DatabaseError:
    return DatabaseError(
        f"MongoDB was too slow: it took longer than the {seconds:g} seconds allowed.",
        remedy="Try again; if it stays so, look at the server's load and indexes, or raise MONGODB_TIMEOUT.",
        retry_after=SOON,
        reason="slow",
    )


def _election() -> DatabaseError:
    return DatabaseError(
        "MongoDB has no primary just now.",
        remedy="It is electing one: try again.",
        retry_after=SOON,
        reason="no_primary",
    )


def _refused(error: OperationFailure, seconds: float) -> DatabaseError:
    code, message = _cause(error)
    if code in NO_USER or (code == ATLAS and _ATLAS_NO_USER.search(message) and not _ATLAS_NO_RIGHTS.search(message)):
        return DatabaseError(
            "MongoDB refused the user or password.",
            remedy="Check the credentials in MONGODB_URI.",
            retry_after=LATER,
            reason="auth_refused",
        )
    if code == NO_RIGHTS or (code == ATLAS and _ATLAS_NO_RIGHTS.search(message)):
        return DatabaseError(
            "The MongoDB user lacks a right that is needed.",
            remedy="Give the user of MONGODB_URI the role readWrite on the database MONGODB_DB.",
            retry_after=LATER,
            reason="no_rights",
        )
    if code in TOO_SLOW:
        return too_slow(seconds)
    if code in ELECTION:
        return _election()
    again = code in BROKEN_OFF or error.has_error_label("RetryableWriteError")
    return CommandError(message, code, retry_after=SOON if again else None)


def _cause(error: OperationFailure) -> tuple[int | None, str]:
    """Code and message; of a batch those of its first failure (never the written document, which is there too)."""
    details: Any = error.details or {}
    if isinstance(error, BulkWriteError):
        failures = [*(details.get("writeErrors") or ()), *(details.get("writeConcernErrors") or ())]
        if failures:
            return failures[0].get("code"), str(failures[0].get("errmsg", "a write failed"))
        return error.code, "a batch of writes failed"
    return error.code, str(details.get("errmsg") or type(error).__name__)
