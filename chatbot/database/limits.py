"""Rows of lists (jobs, questions, feedback, usage) carry the limit of the caller who
made them.
"""

from ..domain import Scope
from ..domain.callers import limit_key, limit_of_key
from .core import Collection, Json

WITHIN = "within"
"""The field of a row with the limit of its maker, as text; rows of callers without a
limit, and those of older releases, lack it.
"""


def made_by(limit: Scope) -> Json:
    """Return the fields of a row that a caller with this limit makes."""
    if not limit:
        return {}
    return {WITHIN: limit_key(limit)}


def made_within(collection: Collection, limit: Scope) -> Json:
    """Return the condition on the rows that a caller with this limit may list: those of
    callers who see nothing outside of it.
    """
    if not limit:
        return {}
    keys = collection.distinct(WITHIN, {WITHIN: {"$gt": ""}})
    covered_keys = sorted(key for key in keys if limit.covers(limit_of_key(key)))
    return {WITHIN: {"$in": covered_keys}}
