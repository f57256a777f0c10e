"""Numbers of passages out of whatever a model wrote (R-C9)."""

from __future__ import annotations

import pytest

from chatbot.model_output.shapes import numbers

REPLIES = {
    "the schema's object": ('{"numbers": [3, 1]}', [3, 1]),
    "a JSON list": ("[3, 1]", [3, 1]),
    "a fence": ("```json\n[3, 1]\n```", [3, 1]),
    "a fence after a reference": ("Passage [2] is close, so:\n```json\n[3, 1]\n```", [3, 1]),
    "a line of its own after a reference": ("Passage [2] gives the total.\n[3, 1]", [3, 1]),
    "an object": ('{"passages": [2, 4]}', [2, 4]),
    "words around it": ("The passages are [2,5], I think.", [2, 5]),
    "two groups": ("[5, 2] reason: document [1]", [5, 2]),
    "a comma too many": ("[3, 1,]", [3, 1]),
    "no commas": ("[3 1]", [3, 1]),
    "numbers as text": ('["2", "4"]', [2, 4]),
    "Python's quotes": ("['2', '4']", [2, 4]),
    "names of documents": ('["Document 3", "<Document 1>"]', [3, 1]),
    "deep-searcher 120": (r"['\Document 3', '[1]']", [3, 1]),
    "objects": ('[{"passage": 3, "why": "coffee"}, {"passage": 1}]', [3, 1]),
    "one object": ('{"passage": 3}', [3]),
    "bulleted lines": ("- 3\n- 1", [3, 1]),
    "numbered passages": ("Passage 3\nPassage [1].", [3, 1]),
    "passages in order": ("1. Passage 3\n2. Passage 1", [3, 1]),
    "numbers and nothing else": ("3, 1", [3, 1]),
    "references and nothing else": ("[3], [1]", [3, 1]),
    "one number": ("3", [3]),
    "prose": ("Passages 1 and 3 are relevant.", [1, 3]),
    "prose with a span": ("Documents 2-4 are relevant; so is document 1.", [2, 3, 4, 1]),
    "prose about two": ("Passage 4 names the figure. Passage [2] tells the year.", [4, 2]),
    "thoughts before it": ("<think>maybe [1]</think>[4]", [4]),
    "thoughts without their beginning": ("maybe [1] </think> [4]", [4]),
    "thoughts in capitals": ("<THINK>[1]</THINK>\n[4]", [4]),
    "a number twice": ("[2, 2, 1]", [2, 1]),
    "some out of range": ("[0, 6, -1, 2]", [2]),
    "cut off": ("[3, 1, 4", [3, 1]),
    "none": ("[]", []),
    "none in an object": ('{"numbers": []}', []),
    "nothing but out of range": ("[9]", None),
    "no number": ("all of them", None),
    "a number in a sentence": ("There are 3 that help.", None),
    "what does not help": ("Passages 1 and 3 help, passage 2 does not.", None),
    "what is irrelevant": ("Passage 1: relevant\nPassage 2: irrelevant", None),
    "one in a sentence": ("I think [3] helps most.", [3]),
    "one that does not help": ("Document [2] does not help.", None),
    "one, with reasons": ("[3] because passage 1 does not mention it.", [3]),
    "none, with reasons": ("[] because passage 1 does not mention it.", []),
    "yes and no": ("[true, false]", None),
    "thoughts that never end": ("<think>[1] or [2]", None),
    "an empty reply": ("", None),
    "an endless number": (f'["{"9" * 5000}"]', None),
    "an endless number without quotes": (f"[{'9' * 5000}]", None),
    "endless brackets": ("[" * 30_000, None),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_numbers_are_read_from_any_reply(reply: str, expected: list[int] | None) -> None:
    assert numbers(5).read(reply) == expected


def test_what_is_said_after_an_unreadable_reply_has_no_number_out_of_range() -> None:
    assert '{"numbers": [1]}, with numbers from 1 to 1' in numbers(1).repair
