"""Keys and the signing secret, on every kind of database."""

import pytest

from chatbot.database.core import Database
from chatbot.database.ordinary_indexes import (
    create_missing,
    indexes_of_repositories,
)
from chatbot.database.repositories.access import KeyRepository
from chatbot.domain import Range
from chatbot.domain.errors import NotFoundError
from chatbot.domain.scope import Values


def test_a_key_is_found_by_its_secret_until_it_is_revoked(database: Database) -> None:
    keys = KeyRepository(database)
    create_missing(database, indexes_of_repositories())
    filters = {"country_name": ["Kenya", "Mali"], "year": {"gte": 2021}}
    key, secret = keys.create(
        "Nairobi", "write", filters=filters, collections=("news",), daily_tokens=5
    )
    assert secret.startswith(key.id)
    assert key.limit.collections == ("news",)
    assert dict(key.limit.conditions) == {
        "country_name": Values(("Kenya", "Mali")),
        "year": Range(2021),
    }
    found = keys.find(secret)
    assert found == key
    assert all(
        keys.find(wrong) is None for wrong in ("", key.id, f"{secret}x", secret[:-1])
    )
    keys._notes.shutdown()  # noted beside the request
    (listed,) = keys.all()
    assert listed.used_at
    assert keys.revoke(key.id).revoked_at
    assert keys.find(secret) is None
    with pytest.raises(NotFoundError):
        keys.revoke(key.id)


def test_all_workers_sign_with_one_secret(database: Database) -> None:
    secret = KeyRepository(database).signing_secret()
    assert len(secret) == 32
    assert KeyRepository(database).signing_secret() == secret
    assert KeyRepository(database).all() == []
