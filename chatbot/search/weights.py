"""The weights of this room, from `weights.toml`."""

from ..domain.errors import read_table

_TABLE = read_table(__package__, "weights")


def read_weight(name: str) -> float:
    """Return the weight of a name such as "order.older". Raises KeyError."""
    group, _, key = name.partition(".")
    return float(_TABLE[group][key]["value"])
