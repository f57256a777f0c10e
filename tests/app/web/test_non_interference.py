"""What a limited caller sees does not depend on what it may not see.

Every day an administrator makes all calls and the other roles one of each route, as
what a caller sees depends on its limit; the other engines and the rest take minutes:
`python -m pytest -m nightly tests/app/web/test_non_interference.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.app.web.limited import (
    CANARIES,
    ROLES,
    Call,
    Seen,
    World,
    build,
    calls_of,
    difference,
    distinct_times,
    first_of_each,
    run,
)
from tests.app.web.live import application
from tests.conftest import small_settings
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient

pytestmark = pytest.mark.extras("all")
OF_OTHERS = ("other ", "aaa-", "zzz-")
"""The beginnings of the names of what is not there in the world without others."""
DIMENSIONS = 384
Responses = dict[str, list[tuple[Call, Seen, Seen]]]
"""By role: each call with the response among others and alone."""


def _settings(folder: Path, **changes: Any) -> Settings:
    return small_settings(
        folder,
        access="keys",
        ingestion_workers=1,
        threads=2,
        requests_per_minute=0,
        **changes,
    )


@contextmanager
def _embedded(folder: Path) -> Iterator[Any]:
    with application(_settings(folder)) as app:
        yield app


@contextmanager
def _pgvector(folder: Path) -> Iterator[Any]:
    uri = postgres.empty_database()
    settings = _settings(folder, vector_search="pgvector", postgres_uri=uri)
    with application(settings) as app:
        yield app


@contextmanager
def _atlas(folder: Path) -> Iterator[Any]:
    """MongoDB with a search engine that weighs words over the whole index."""
    client = SearchClient()
    database = MongoDatabase(client, folder.name)
    settings = _settings(
        folder,
        vector_search="atlas",
        embedding_model=str(DIMENSIONS),
        indexes="never",
    )
    with application(settings, database=database) as app:
        services: Services = app.extensions["services"]
        for name in services.settings.chunk_collections:
            client[folder.name].create_collection(name)
        ensure_indexes(database, index_plans(services.settings, {"": DIMENSIONS}))
        yield app


def _compared(
    folder: Path, engine: Callable[[Path], Any], *, whole: bool
) -> tuple[Responses, Sequence[str]]:
    """Call everything in both worlds; also return which canaries their owner sees.
    ``whole``: by each role, not only by the one that may do everything.
    """
    seen: dict[bool, dict[str, list[tuple[Call, Seen]]]] = {}
    ids: dict[str, str] = {}
    present: Sequence[str] = ()
    for others in (True, False):
        place = folder / str(others) / "data"
        with distinct_times(), engine(place) as app:
            world = build(app, folder / f"files {others}", others=others)
            if others:
                ids = dict(world.ids)
                present = _canaries(world)
            else:
                world.ids |= {
                    name: value
                    for name, value in ids.items()
                    if name.removeprefix("version of ").startswith(OF_OTHERS)
                }
            calls = calls_of(app)
            seen[others] = {}
            for role in ROLES:
                is_whole = whole or role == "admin"
                made = calls if is_whole else first_of_each(calls)
                seen[others][role] = [(call, run(world, role, call)) for call in made]
    both = {
        role: [
            (call, among, alone)
            for (call, among), (_, alone) in zip(
                seen[True][role], seen[False][role], strict=True
            )
        ]
        for role in ROLES
    }
    return both, present


def _canaries(world: World) -> list[str]:
    owner = world.client("owner")
    text = owner.get(f"/api/documents/{world.ids['aaa-somalia']}/text").text.lower()
    return [word for word in CANARIES if word in text]


def _check(responses: Responses) -> None:
    for role, calls in responses.items():
        different = [
            f"{call}: {difference(alone, among)}"
            for call, among, alone in calls
            if among != alone
        ]
        counted = f"{len(different)} of {len(calls)} responses to {role} differ:"
        assert not different, "\n".join([counted, *different])
        failed = [str(call) for call, among, _ in calls if among.status >= 500]
        assert failed == []


def test_a_limited_caller_sees_nothing_of_others(tmp_path: Path) -> None:
    responses, present = _compared(tmp_path, _embedded, whole=False)
    assert len(present) > len(CANARIES) // 2
    _check(responses)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", [_embedded, _atlas, _pgvector])
def test_a_limited_caller_sees_nothing_of_others_in_any_engine(
    tmp_path: Path, engine: Callable[[Path], Any]
) -> None:
    responses, _ = _compared(tmp_path, engine, whole=True)
    _check(responses)
