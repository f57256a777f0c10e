"""Ages in the words of a question and in the names of figures: "under 15", "0-14
years".
"""

from dataclasses import dataclass

from .english import number_of, pattern

_AGES = pattern("{ages}")
_OF_LABEL = pattern(r"^\W*(?:(?:ages?|aged)\W+)?{age_range}\W*$")


@dataclass(frozen=True, slots=True)
class Ages:
    """A range of ages, both ends included; None = it has no end. ``start`` and ``end``:
    where its words stand in their text.
    """

    lowest: int
    highest: int | None
    start: int = 0
    end: int = 0


def read_ages(text: str) -> Ages | None:
    """Return the range of ages that a question names; None without one."""
    match = _AGES.search(text)
    if match is None:
        return None
    ends = (match.start(), match.end())
    if match["under"]:
        return Ages(0, number_of(match["under"]) - 1, *ends)
    # "Over 65" is how people say "65 and over".
    lowest = match["over"] or match["least"]
    if lowest:
        return Ages(number_of(lowest), None, *ends)
    return Ages(number_of(match["from"]), number_of(match["to"]), *ends)


def ages_of_label(label: str) -> Ages | None:
    """Return the range of ages that the name of a figure is; None of other names."""
    match = _OF_LABEL.match(label)
    if match is None:
        return None
    if match["open"]:
        return Ages(number_of(match["open"]), None)
    return Ages(number_of(match["first"]), number_of(match["last"]))
