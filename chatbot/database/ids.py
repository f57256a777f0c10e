"""Ids as they may be stored: strings here, ObjectIds in collections that an older system wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bson import ObjectId


def id_forms(ids: Iterable[str], *, embedded: bool = False) -> list[Any]:
    """Every id as a string, and as the ObjectId it may stand for: what a lookup by ``_id`` has to try.

    The embedded database has no ObjectIds, and refuses to be asked for one.
    """
    if embedded:
        return list(ids)
    forms: list[Any] = []
    for id in ids:
        forms.append(id)
        if ObjectId.is_valid(id):
            forms.append(ObjectId(id))
    return forms
