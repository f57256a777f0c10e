"""One of several, and yes or no (R-C1, R-C9)."""

from __future__ import annotations

import pytest

from chatbot.model_output.asking import choice, numbers
from chatbot.model_output.selections import read_yes_no

NAMES = ("direct", "deep", "chain of questions")
CHOICES = {
    "a number": ("2", 2),
    "in brackets": ("[2]", 2),
    "in bold": ("**2**", 2),
    "with a dot": ("2.", 2),
    "the schema's object": ('{"choice": "deep"}', 2),
    "an object with a number": ('{"choice": 2}', 2),
    "an object with a reason": ('{"reason": "1 or 2 steps", "choice": 2}', 2),
    "a fence": ('```json\n{"choice": 3}\n```', 3),
    "a number as text": ('{"index": "2"}', 2),
    "a name": ("deep", 2),
    "a name in other letters": ('"Deep".', 2),
    "a name of several words": ("Chain of questions", 3),
    "number and name": ("2. deep", 2),
    "a name in prose": ("The deep agent fits best.", 2),
    "a number in prose": ("I would pick 2 because the question is broad.", 2),
    "a number against another": ("I would pick 2 rather than 1.", 2),
    "a year beside it": ("Option 2, since it asks about 2023 only.", 2),
    "the first line": ("2\n\nBecause 1 is for simple questions.", 2),
    "the last line": ("Agent 1 is for simple questions, this is broad.\n\n**2**", 2),
    "the answer": ("It could be 1 or 2. Answer: 2", 2),
    "thoughts": ("<think>1? No.</think>2", 2),
    "thoughts without their beginning": ("1? No.</think>2", 2),
    "nought, which was the last one": ("0", None),
    "one too many": ("4", None),
    "ten is not one and nought": ("10", None),
    "minus one": ("-1", None),
    "an object out of range": ('{"choice": 7}', None),
    "two": ("1 or 2", None),
    "two names": ("direct or deep", None),
    "denied": ("Not 1 but 2", None),
    "all": ("1. direct\n2. deep\n3. chain of questions", None),
    "a truth": ('{"choice": true}', None),
    "prose": ("It depends.", None),
    "a part of a word": ("Deeply interesting, indeed.", None),
    "a refusal": ("I'm sorry, I can't choose.", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("reply", "expected"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_read_from_any_reply(reply: str, expected: int | None) -> None:
    """Deep-searcher 99: int() of a reasoning answer, "0" as the last agent, "10" as 0."""
    assert choice(NAMES).read(reply) == expected


def test_the_repair_names_what_may_be_chosen() -> None:
    assert "one of: direct, deep, chain of questions" in choice(NAMES).repair


VERDICTS = {
    "yes": ("Yes", True),
    "with a full stop": ("yes.", True),
    "in capitals": ("YES", True),
    "in bold": ("**YES**", True),
    "a note": ("YES, NOTE that it is old.", True),
    "not after it": ("YES ... NOT all of it", True),
    "no": ("No, it tells nothing about Kenya. YES would be wrong.", False),
    "labelled": ("Answer: **No**", False),
    "the final answer": ("The final answer is yes", True),
    "JSON's truth": ("true", True),
    "an object": ('{"answer": "yes"}', True),
    "an object's truth": ('{"relevant": false}', False),
    "an object with a reason": ('{"reason": "No doubt", "answer": "Yes."}', True),
    "a list": ('["yes"]', True),
    "thoughts": ("<think>No?</think>\n\nYes", True),
    "thoughts without their beginning": ("No?</think>Yes", True),
    "neither": ("Maybe", None),
    "not": ("Not relevant", None),
    "nothing": ("", None),
    "known": ("KNOWN: perhaps", None),
    "now": ("Now then", None),
    "both": ('{"a": "yes", "b": "no"}', None),
}


@pytest.mark.parametrize(("reply", "expected"), VERDICTS.values(), ids=VERDICTS)
def test_yes_and_no_are_read_by_the_first_word(reply: str, expected: bool | None) -> None:
    """002 items 5 and 7: case, markup and what follows do not count."""
    assert read_yes_no(reply) is expected


# Numbers of passages out of whatever a model wrote (R-C9).


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
