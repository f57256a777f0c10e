"""COLLECTIONS: how it is written, and which names there cannot be."""

import re
from pathlib import Path

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain.errors import SettingsError
from tests.data import cases

MONGODB = {"MONGODB_URI": "mongodb://localhost"}
STANDARD = ("chatbot_data", "report_chatting")


def test_names_and_descriptions_from_the_environment() -> None:
    assert (Settings().collections, Settings().chunk_collections) == ((), STANDARD)
    text = " news: Daily  news: 2020 on ; laws ;; report_chatting:The reports.; "
    settings = Settings.from_env({"COLLECTIONS": text})
    assert settings.collections == (
        ("news", "Daily news: 2020 on"),
        ("laws", ""),
        ("report_chatting", "The reports."),
    )
    assert settings.chunk_collections == (*STANDARD, "news", "laws")


def test_a_mapping_in_python_means_the_same() -> None:
    settings = Settings(collections={"news": "Daily; and more.", "laws": ""})
    assert settings.collections == (("news", "Daily; and more."), ("laws", ""))
    assert settings.override(top_k=3).collections == settings.collections
    assert settings.fingerprint != Settings().fingerprint


CASES = cases(__file__)


@pytest.mark.parametrize("of_the_database", [{}, MONGODB], ids=["embedded", "mongodb"])
@pytest.mark.parametrize(("value", "part"), CASES["wrong"].values(), ids=CASES["wrong"])
def test_a_name_that_cannot_be_stops_the_start(
    value: str, part: str, of_the_database: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match=re.escape(part)):
        Settings.from_env({"COLLECTIONS": value, **of_the_database})


@pytest.mark.parametrize(
    "name",
    [
        "news",
        "Laws_2020",
        "a-b",
        "a b",
        "2020",
        "üb",
        "select",
        "my_files",
        'a"',
        "a'[]",
    ],
)
def test_what_is_accepted_works_in_the_embedded_database(
    name: str, tmp_path: Path
) -> None:
    settings = Settings.from_env({"COLLECTIONS": name, "DATA_DIR": str(tmp_path)})
    database = open_database(settings)
    rows = database[name]
    rows.create_index([("document_id", 1), ("ordinal", 1)])
    rows.replace_many([{"_id": "1", "document_id": "d", "x": 1}])
    rows.update_one({"_id": "1"}, {"$set": {"x": 2}})
    assert [row["x"] for row in rows.find({"document_id": "d"})] == [2]
    database.close()


def test_the_standard_ones_are_checked_too_and_may_be_the_same() -> None:
    for name in ("MONGODB_COLLECTION", "REPORT_COLLECTION"):
        with pytest.raises(SettingsError, match="keeps its own meta there"):
            Settings.from_env({name: "meta"})
    assert Settings(report_collection="chatbot_data").chunk_collections == (
        "chatbot_data",
        "chatbot_data",
    )
