"""Passages in PostgreSQL, searched there by pgvector (VECTOR_SEARCH=pgvector)."""

from .. import Extra

STORES = {"pgvector": "chatbot.extras.pgvector.store:PgvectorStore"}


def build() -> Extra:
    return Extra(
        name="pgvector",
        settings=("postgres_uri",),
        adapters={"stores": STORES},
    )
