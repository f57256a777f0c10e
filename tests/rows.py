"""Rows that another program writes, past the product and unannounced."""

from chatbot.database.core import Collection, Database


def outside(database: Database, name: str) -> Collection:
    """A collection as another program has it."""
    return Collection(name, database)
