"""`$group` by the values at several paths, as MongoDB defines it
(mongodb.com/docs/manual/reference/operator/aggregation/group): `_id` is an expression,
of which a missing field is left out; `$first` is null where the first row has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatbot.extras.rows_of_others.layouts import value_at

Row = dict[str, Any]


def is_grouping(pipeline: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether it is `$match` and `$group` by several paths."""
    stages = [name for stage in pipeline for name in stage]
    return stages == ["$match", "$group"] and isinstance(
        pipeline[1]["$group"]["_id"], dict
    )


def grouped(rows: Iterable[Row], stage: Mapping[str, Any]) -> list[Row]:
    """Return a row of each group."""
    groups: dict[str, tuple[Row, list[Row]]] = {}
    for row in rows:
        values = {
            name: value_at(row, path.removeprefix("$"))
            for name, path in stage["_id"].items()
        }
        id = {name: value for name, value in values.items() if value is not None}
        groups.setdefault(repr(id), (id, []))[1].append(row)
    return [
        {"_id": id, **{name: _accumulated(of, stage[name]) for name in names(stage)}}
        for id, of in groups.values()
    ]


def names(stage: Mapping[str, Any]) -> list[str]:
    return [name for name in stage if name != "_id"]


def _accumulated(rows: Sequence[Row], accumulator: Mapping[str, Any]) -> Any:
    ((operator, expression),) = accumulator.items()
    if operator == "$sum":
        assert expression == 1
        return len(rows)
    values = [value_at(row, expression.removeprefix("$")) for row in rows]
    if operator == "$first":
        return values[0]
    assert operator == "$min"
    return min(values, key=lambda value: (type(value).__name__, value))
