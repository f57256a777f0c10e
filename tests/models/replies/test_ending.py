"""The last line of an answer, which says whether it answers and is never shown."""

import json

import pytest

from chatbot.models.replies.ending import Ending, EndingFilter, split_ending

TEXT = "It grows by 2.09% [1]."
LINE = '{"answered": false, "missing": ["And the capital?"]}'
CODE = 'As JSON:\n```json\n{"answer": 1}\n```'
SAID = Ending(False, ("And the capital?",))


def spoken(text: str, size: int) -> str:
    """What is shown of a text that comes in pieces of this size."""
    ending = EndingFilter()
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    return "".join([*map(ending.add, pieces), ending.rest()]).rstrip()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{TEXT}\n\n{LINE}", TEXT),
        (f"{TEXT} {LINE}", TEXT),
        (f"{TEXT}\n```json\n{LINE}\n```", TEXT),
        (f"{TEXT}\n{json.dumps(json.loads(LINE), indent=2)}\n", TEXT),
        (LINE, ""),
        (f'{TEXT}\n{{"answered": tr', TEXT),
        (f'{TEXT}\n{{"answ', TEXT),
        (TEXT, TEXT),
        ("A set {1, 2} [1].\n\n- one\n- two", "A set {1, 2} [1].\n\n- one\n- two"),
        (
            'As JSON:\n```json\n{"answer": 1}\n```',
            'As JSON:\n```json\n{"answer": 1}\n```',
        ),
        ("الجواب [1].\n" + LINE, "الجواب [1]."),
    ],
)
def test_it_is_never_shown_and_nothing_else_is_lost(
    text: str, shown: str, size: int
) -> None:
    assert spoken(text, size) == shown
    whole, _ = split_ending(text)
    if '{"answ' not in whole:
        assert whole.rstrip() == shown


@pytest.mark.parametrize(
    ("line", "ending"),
    [
        (LINE, SAID),
        ('{"answered": true}', Ending(True)),
        ('{"answered": true, "missing": "all"}', Ending(True)),
        ('{"answered": false, "missing": ["a", 1, "", "a"]}', Ending(False, ("a",))),
        ('{"answered": false, "missing": ["And the cap', Ending(False)),
        ('{"answered": "yes"}', None),
        ("{1}", None),
    ],
)
def test_what_it_says(line: str, ending: Ending | None) -> None:
    assert split_ending(f"{TEXT}\n{line}")[1] == ending


def test_what_is_missing_is_bounded() -> None:
    many = json.dumps({"answered": False, "missing": [*map(str, range(90)), "x" * 999]})
    _, ending = split_ending(many)
    assert ending is not None
    assert len(ending.missing) == 5


def test_a_long_block_of_code_is_not_held_back_for_ever() -> None:
    ending = EndingFilter()
    assert ending.add('{"answered": "' + "x" * 50_000)
