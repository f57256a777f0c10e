"""What holds for every reply: nothing raises, everything is within its limits, JSON
survives its wrapping (R-C9).
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.models.replies import (
    Shape,
    choice,
    follow_up,
    numbers,
    prose,
    queries,
)
from tests.data import cases

NAMES = ("direct", "deep", "chain")


def one_line(text: object, longest: int) -> bool:
    return (
        isinstance(text, str)
        and 0 < len(text) <= longest
        and len(text.splitlines()) == 1
        and text == text.strip()
    )


def queries_hold(value: list[str]) -> bool:
    distinct = {query.casefold() for query in value}
    return (
        len(value) <= 4
        and len(distinct) == len(value)
        and all(one_line(query, 300) for query in value)
    )


SHAPES: dict[str, tuple[Shape[Any], Callable[[Any], bool]]] = {
    "queries": (queries(4), queries_hold),
    "numbers": (
        numbers(5),
        lambda value: len(set(value)) == len(value) and set(value) <= set(range(1, 6)),
    ),
    "choice": (
        choice(NAMES),
        lambda value: value in (1, 2, 3) and not isinstance(value, bool),
    ),
    "follow_up": (follow_up(), lambda value: value == "" or one_line(value, 300)),
    "prose": (prose(), lambda value: 0 < len(value) <= 20_000),
}
each_shape = pytest.mark.parametrize("name", SHAPES)

pieces = st.sampled_from(
    [
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "“",
        "”",
        ",",
        ":",
        "\\",
        "\n",
        " ",
        "```",
        "```json\n",
        "<think>",
        "</think>",
        "1",
        "2. ",
        "- ",
        "# ",
        "yes",
        "No",
        "deep",
        "queries",
        "question",
        "enough",
        "sections",
        "title",
        "true",
        "None",
        "?",
        "What is it?",
        "passage 3",
        " and 4",
        "\ud800",
        "\x00",
        "-",
        "9" * 30,
        "I'm sorry",
        "\u2028",
        "（",
        "۳",
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | pieces
keys = st.sampled_from(
    [
        "queries",
        "query",
        "numbers",
        "passage",
        "choice",
        "enough",
        "question",
        "sections",
        "title",
        "x",
    ]
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys | st.text(), inner, max_size=4)
    ),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """JSON with something cut out, put in, or cut off."""
    text = json.dumps(
        draw(documents),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 2])),
    )
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(pieces | st.just(""))
            + text[at + draw(st.integers(0, 3)) :]
        )
    return (
        text if draw(st.booleans()) else f"{draw(st.text())}\n{text}\n{draw(st.text())}"
    )


replies = st.text() | st.lists(pieces | st.text(max_size=5)).map("".join) | mutated()


@pytest.mark.sampled(3)
@each_shape
@given(reply=replies)
def test_whatever_is_read_is_within_its_limits_and_is_read_again(
    name: str, reply: str
) -> None:
    shape, holds = SHAPES[name]
    value = shape.read(reply)
    if value is None:
        return
    assert holds(value)
    if name == "prose":
        return
    if name == "follow_up":
        value_again: object = {"enough": not value, "question": value}
    else:
        value_again = asdict(value) if is_dataclass(value) else value  # type: ignore[arg-type]
    written = json.dumps(value_again)
    assert shape.read(written) == value


words = st.text("abcdefghij éß中?[]{}',.:-19", min_size=1, max_size=30).map(
    lambda text: f"Who {text}"
)
chatter = st.text("abc ÄÖ.,;:!?'\"-\n", max_size=80)
wrappings = st.sampled_from(
    [
        "{before}\n{json}\n{after}",
        "{before}\n```json\n{json}\n```\n{after}",
        "<think>{before}</think>{json}",
        "<think>[1]\n{before}\n</think>\n```\n{json}\n```",
        "{before}</think>\n\n{json}",
        "As [1] says: {before}\n{json}\nSee [2] {after}",
    ]
)


@each_shape
@given(
    listed=st.lists(words, min_size=1, max_size=5),
    chosen=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    wrapping=wrappings,
    before=chatter,
    after=chatter,
    indent=st.sampled_from([None, 2]),
)
def test_what_keeps_to_the_schema_survives_its_wrapping(
    name: str,
    listed: list[str],
    chosen: list[int],
    wrapping: str,
    before: str,
    after: str,
    indent: int | None,
) -> None:
    kept: dict[str, Any] = {
        "queries": {"queries": listed},
        "numbers": {"numbers": chosen},
        "choice": {"choice": NAMES[chosen[0] % 3]},
        "follow_up": {"enough": False, "question": listed[0]},
    }
    if name not in kept:
        return
    shape, _ = SHAPES[name]
    written = json.dumps(kept[name], indent=indent, ensure_ascii=False)
    plain = shape.read(written)
    assert plain is not None
    assert (
        shape.read(wrapping.format(json=written, before=before, after=after)) == plain
    )


BOMBS = {
    name: head + unit * times + tail
    for name, (head, unit, times, tail) in cases(__file__)["bombs"].items()
}
BOMBS["closed lists"] = "[" * 10_000 + "]" * 10_000


@pytest.mark.sampled(6)
@each_shape
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_no_reply_takes_long(name: str, bomb: str) -> None:
    """20 ms and less when measured, 60 under load; what grows with the square would
    take a minute.
    """
    shape, _ = SHAPES[name]
    started = time.process_time()
    shape.read(bomb)
    assert time.process_time() - started < 5


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "bomb", ["lists", "objects", "lists and objects", "quotes", "apostrophes", "digits"]
)
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "prose"])
def test_brackets_without_end_are_nothing(name: str, bomb: str) -> None:
    assert SHAPES[name][0].read(BOMBS[bomb]) is None


def strict(schema: Any) -> bool:
    """Within OpenAI's strict mode: objects are closed, and all of their fields
    required.
    """
    if schema.get("type") == "array":
        return strict(schema["items"])
    if schema.get("type") != "object":
        return True
    closed = schema["additionalProperties"] is False and schema["required"] == list(
        schema["properties"]
    )
    return closed and all(strict(field) for field in schema["properties"].values())


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "prose"])
def test_schemas_are_objects_of_strict_mode_and_bear_their_names(name: str) -> None:
    shape, _ = SHAPES[name]
    assert shape.schema is not None
    assert shape.schema["type"] == "object"
    assert shape.schema["title"] == name
    assert strict(shape.schema)
    json.dumps(shape.schema)
