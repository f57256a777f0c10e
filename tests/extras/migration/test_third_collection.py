"""A third collection is embedded anew and copied as the others are."""

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
