"""Names of knowledge collections: how a setting writes them, and which are valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

OWN = frozenset({
    "audit", "batch_items", "batches", "cache", "conversations", "counters", "documents", "feedback", "file_pieces",
    "files", "ingestion_items", "ingestions", "keys", "message_events", "messages", "meta", "usage",
})  # fmt: skip
"""The program's own collections, which cannot hold passages."""
LONGEST = 120


def read_collections(value: object) -> object:
    """Read ``name: description; name: description`` or a mapping as pairs; pydantic refuses anything else."""
    if isinstance(value, str):
        entries = (entry.partition(":") for entry in value.split(";") if entry.strip())
        return tuple((name.strip(), " ".join(description.split())) for name, _, description in entries)
    return tuple(value.items()) if isinstance(value, Mapping) else value


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError: naming the wrong name and what would be right.

    No two names may differ in capital letters only: SQLite does not distinguish them.
    """
    by_lower: dict[str, str] = {}
    for name in names:
        _check_name(name)
        if (other := by_lower.setdefault(name.casefold(), name)) != name:
            raise ValueError(f"the collections {other!r} and {name!r} differ in capital letters only")


def _check_name(name: str) -> None:
    what = f"{name!r} cannot be the name of a collection of passages"
    if name.casefold() in OWN:
        raise ValueError(f"{what}: the program keeps its own {name.casefold()} there. Taken: {', '.join(sorted(OWN))}")
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > LONGEST:
        raise ValueError(f"{what}: it must have 1 to {LONGEST} characters, without spaces around them")
    if "$" in name or ".." in name or name.startswith(("system.", ".")) or name.endswith("."):
        raise ValueError(
            f"{what}: MongoDB takes none with a $, with two dots or one at an end, or with system. in front"
        )
    if name.casefold().startswith("sqlite_"):
        raise ValueError(f"{what}: SQLite takes none with sqlite_ in front")
