"""The measures by which the layout of a page is read, from `layout.toml`."""

from ....domain.errors import read_table

_TABLE = read_table(__package__, "layout")


def read_measure(name: str) -> float:
    """Return the measure of a name such as "words.space". Raises KeyError."""
    module, _, key = name.partition(".")
    return float(_TABLE[module][key]["value"])
