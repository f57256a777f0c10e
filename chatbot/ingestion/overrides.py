"""What a person says of a report, in a form, an edit or a flag: the types that check it and describe it in the API.

It has the last word over what the file, its name and its manifest say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from ..chunkers import CHUNKERS
from ..countries import resolve_country
from ..errors import InvalidRequestError
from ..presets import CHUNKING
from ..schema import Value
from ..validation import NOT_BLANK

FIRST_YEAR, LAST_YEAR = 1000, 3000
LONGEST_LABEL = 60
MOST_LABELS = 30
NEEDED = ("title", "collection", *CHUNKING)
"""Fields that no report is without: null means what the file or the settings say."""
_WHOLE = re.compile(r"-?\d{1,6}")


def _on_one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("not_printable", "must not hold control characters.")
    return text


def _number(value: Any) -> Any:
    """The number that a text consists of, as forms send it; anything else as it is."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) else value


def _year(value: Any) -> Any:
    year = _number(value)
    if not isinstance(year, int) or not FIRST_YEAR <= year <= LAST_YEAR:
        raise PydanticCustomError("year", f"must be a year from {FIRST_YEAR} to {LAST_YEAR}, like 2023.")
    return year


def _labels(given: list[str]) -> list[str]:
    labels = list(dict.fromkeys(filter(None, map(_on_one_line, given))))
    if any(len(_printable(label)) > LONGEST_LABEL for label in labels):
        raise PydanticCustomError("label", "must have at most {longest} characters each.", {"longest": LONGEST_LABEL})
    return labels


_ON_ONE_LINE, _PRINTABLE, _NUMBER = BeforeValidator(_on_one_line), AfterValidator(_printable), BeforeValidator(_number)
Text = Annotated[StrictStr, Field(pattern=NOT_BLANK, max_length=300), _ON_ONE_LINE, _PRINTABLE]
Kind = Annotated[StrictStr, Field(pattern=NOT_BLANK, max_length=60), _ON_ONE_LINE, _PRINTABLE]
Description = Annotated[StrictStr, Field(pattern=NOT_BLANK, max_length=2000), _ON_ONE_LINE, _PRINTABLE]
Year = Annotated[StrictInt, Field(ge=FIRST_YEAR, le=LAST_YEAR), BeforeValidator(_year)]
Labels = Annotated[
    list[StrictStr],
    Field(max_length=MOST_LABELS),
    AfterValidator(_labels),
    BeforeValidator(
        lambda value: value.split(",") if isinstance(value, str) else value,
        json_schema_input_type=Annotated[
            list[Annotated[str, Field(max_length=LONGEST_LABEL)]], Field(max_length=MOST_LABELS)
        ]
        | str,
    ),
]
"""A list, or a text with commas between."""
Size = Annotated[StrictInt, Field(ge=100, le=999_999), _NUMBER]
Overlap = Annotated[StrictInt, Field(ge=0, le=999_999), _NUMBER]


class About(BaseModel):
    """What is said of a report; null: it has none."""

    model_config = ConfigDict(extra="forbid")

    title: Text | None = None
    country_name: Text | None = None
    year: Year | None = None
    type: Kind | None = None
    labels: Labels | None = None
    description: Description | None = None


class Cutting(BaseModel):
    """How a report is cut into passages; null: as the settings have it."""

    model_config = ConfigDict(extra="forbid")

    chunk_strategy: StrictStr | None = Field(None, json_schema_extra={"enum": [*CHUNKERS.names(), None]})
    chunk_size: Size | None = None
    chunk_overlap: Overlap | None = None


class Overrides(About, Cutting):
    """All that can be said of a report."""

    collection: Text | None = None


def check_overrides(said: About | Cutting, *, countries: Sequence[Value]) -> dict[str, Any]:
    """The fields that were given, as they are stored: a country as the data spells it. None = the report has none.

    ``countries``: those in the data.

    Raises:
        InvalidRequestError, UnknownNameError: there is no such country or chunk strategy; names similar or valid ones.
    """
    given = said.model_dump(include=set(Overrides.model_fields), exclude_unset=True)
    checked = {name: value for name, value in given.items() if value is not None or name not in NEEDED}
    if country := checked.get("country_name"):
        checked["country_name"] = check_country(country, countries)
    if strategy := checked.get("chunk_strategy"):
        CHUNKERS.check(strategy, field="chunk_strategy")
    return checked


def check_country(name: str, countries: Sequence[Value]) -> str:
    """The country as the data spells it, else by its usual name. Raises InvalidRequestError."""
    if name in countries:
        return name
    found, similar = resolve_country(name, [str(country) for country in countries])
    if found is None:
        hint = f" Did you mean {similar[0]}?" if similar else ""
        message = f"{name!r} is not a country name or ISO code.{hint} For regions use labels."
        raise InvalidRequestError.for_field("country_name", message, similar)
    return found


def check_collection(name: str | None, searched: Sequence[str]) -> None:
    """Raises InvalidRequestError: no question searches it, so nobody would find what is put there."""
    if name is not None and name not in searched:
        valid = list(dict.fromkeys(searched))
        message = f"{name!r} is not searched. Valid: {', '.join(valid)}."
        raise InvalidRequestError.for_field("collection", message, valid)
