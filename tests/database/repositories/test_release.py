"""A process of another release beside a serving one is refused."""

import threading
import time

import pytest

from chatbot.database.core import Database
from chatbot.database.repositories.release import RELEASE, ServingRelease
from chatbot.domain.errors import SettingsError

BEAT_SECONDS = 0.2


def release(database: Database, name: str) -> ServingRelease:
    return ServingRelease(database, name, beat_seconds=BEAT_SECONDS)


def test_another_release_is_refused_while_one_serves(database: Database) -> None:
    old, stop = release(database, "1.0"), threading.Event()
    old.require_alone()
    serving = threading.Thread(target=old.follow, args=(stop,))
    serving.start()
    try:
        with pytest.raises(SettingsError, match=r"report-chat 1\.0 serves .* is 1\.1"):
            release(database, "1.1").require_alone()
        release(database, "1.0").require_alone()
    finally:
        stop.set()
        serving.join()


def test_it_starts_once_the_other_one_is_stopped(database: Database) -> None:
    release(database, "1.0").require_alone()
    began = time.monotonic()
    release(database, "1.1").require_alone()
    assert time.monotonic() - began < 10
    row = database["meta"].find_one({"_id": RELEASE})
    assert row is not None
    assert row["release"] == "1.1"


def test_the_same_release_starts_at_once(database: Database) -> None:
    release(database, "1.0").require_alone()
    slow = ServingRelease(database, "1.0", beat_seconds=600)
    began = time.monotonic()
    slow.require_alone()
    assert time.monotonic() - began < 10
