"""A third collection is embedded anew, copied and mended as the others are."""

from pathlib import Path

from tests.app.cli.conftest import Run
from tests.app.cli.test_collections import environment, loaded
from tests.extras.migration.conftest import opened
from tests.fakes.nx_server import NxThread

__all__ = ("environment", "loaded")


def test_a_collection_is_embedded_anew_with_the_others(
    loaded: Run, environment: dict[str, str]
) -> None:
    done = loaded("reembed", "--provider", "hashing", "--model", "128", "--grace", "0")
    assert done.status == 0, done.err
    database = opened(environment["DATA_DIR"])
    fields = {
        name
        for row in database["news"].find({})
        for name in row
        if name.startswith("data_embedding")
    }
    database.close()
    assert fields == {"data_embedding_b"}


def test_a_collection_is_copied_with_the_others(
    loaded: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    with NxThread(tmp_path / "nx") as server:
        target = f"{server.uri}/copied"
        done = loaded("copy", "--from", environment["DATA_DIR"], "--to", target)
        assert done.status == 0, done.err
        assert done.out.splitlines()[2].split()[:2] == ["news", "1"]
        database = opened(target)
        assert database["news"].count({}) == 1
        database.close()


def test_what_an_older_system_left_there_is_mended(
    loaded: Run, environment: dict[str, str]
) -> None:
    database = opened(environment["DATA_DIR"])
    row = {
        "_id": "old",
        "document_name": "Old",
        "year": "2020",
        "data": "text",
        "data_embedding": [0.0] * 63 + [1.0],
    }
    database["news"].insert_one(row)
    database.close()
    assert "years stored as text:       1 rows" in loaded("migrate").out
    database = opened(environment["DATA_DIR"])
    mended = database["news"].find_one({"_id": "old"})
    database.close()
    assert mended is not None
    assert mended["year"] == 2020
