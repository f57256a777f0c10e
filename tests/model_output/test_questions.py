"""Search questions out of whatever a model wrote; the table names where such replies were seen (R-C9)."""

from __future__ import annotations

import json

import pytest

from chatbot.model_output.asking import queries
from chatbot.model_output.questions import LONGEST

SHAPE = queries(4)
AB = ["What is A?", "What is B?"]
REPLIES = {
    # the plain forms
    "the schema's object": ('{"queries": ["What is A?", "What is B?"]}', AB),
    "a JSON list": ('["What is A?", "What is B?"]', AB),
    "a Python list": ("['What is A?', 'What is B?']", AB),
    "a fence": ('```json\n["What is A?", "What is B?"]\n```', AB),
    "a fence that never closes": ('```python\n["What is A?", "What is B?"]', AB),
    "words around it": ('Here they are: ["What is A?", "What is B?"] Good luck!', AB),
    # deep-searcher's parser (002 item 3)
    "a numbered list": ("Sub-questions:\n1. What is A?\n2. What is B?", AB),
    "numbers in bold": ("**1. What is A?**\n**2.** What is B?", AB),
    "two bracket groups": ('["What is A?", "What is B?"] reason: document [0]', AB),
    "a reference before the list": ('As [1] says:\n["What is A?", "What is B?"]', AB),
    "the fenced list of two": ('For example ["x"]. So:\n```\n["What is A?", "What is B?"]\n```', AB),
    "brackets inside a text": ('["What is A [1]?", "What is B?"]', ["What is A [1]?", "What is B?"]),
    "null and true": ('["What is A?", null, true, "What is B?"]', AB),
    "typographic quotes": ("[“What is A?”, “What is B?”]", AB),
    "German quotes": ("[„What is A?“, „What is B?“]", AB),
    "a forgotten comma": ('["What is A?" "What is B?"]', AB),
    "a forgotten comma at a line's end": ('[\n  "What is A?"\n  "What is B?"\n]', AB),
    "a bare text in an object": ('{"query": "What is A?"}', ["What is A?"]),
    "a comma too many": ('["What is A?", "What is B?",]', AB),
    "quotes inside": ('["What is "A"?", "What is B?"]', ['What is "A"?', "What is B?"]),
    "an apostrophe in single quotes": ("['What's A?', 'What is B?']", ["What's A?", "What is B?"]),
    "a stray backslash": (r"['What is \A?', 'What is B?']", AB),
    "cut off in the second": ('{"queries": ["What is A?", "What is', ["What is A?"]),
    # keys
    "questions": ('{"questions": ["What is A?", "What is B?"]}', AB),
    "another spelling": ('{"Sub-Queries": ["What is A?", "What is B?"]}', AB),
    "an unknown key": ('{"thought": "two things", "searches": ["What is A?", "What is B?"]}', AB),
    "an object inside": ('{"queries": {"a": "What is A?", "b": "What is B?"}}', AB),
    "numbered keys": ('{"q1": "What is A?", "q2": "What is B?"}', AB),
    "a list of objects": ('[{"query": "What is A?"}, {"question": "What is B?", "why": "x"}]', AB),
    "an object a line": ('{"query": "What is A?"}\n{"query": "What is B?"}', AB),
    "one text where a list was wanted": ('{"queries": "What is A?"}', ["What is A?"]),
    "lines where a list was wanted": ('{"queries": "1. What is A?\\n2. What is B?"}', AB),
    "a key without quotes": ('{queries: ["What is A?", "What is B?"]}', AB),
    # lines
    "bullets": ("- What is A?\n* What is B?", AB),
    "boxes to tick": ("- [ ] What is A?\n- [ ] What is B?", AB),
    "labels": ("Q1: What is A?\nQ2: What is B?", AB),
    "labels in bold": ("**Question 1:** What is A?\n**Question 2:** What is B?", AB),
    "headings over bullets": ("1. First:\n   - What is A?\n2. Second:\n   - What is B?", AB),
    "bare lines": ("What is A?\nWhat is B?", AB),
    "bare lines, announced": ("I would ask:\n\nWhat is A?\nWhat is B?", AB),
    "one bare question": ("What is A?", ["What is A?"]),
    "one quoted question": ('"What is A?"', ["What is A?"]),
    "another script": ("1、A是什么？\n2、B是什么？", ["A是什么？", "B是什么？"]),
    # thoughts (002 item 4; deep-searcher 134, PR 215)
    "thoughts": ('<think>["x"]</think>["What is A?", "What is B?"]', AB),
    "thoughts without their beginning": ('I could ask ["x"]. </think>\n["What is A?", "What is B?"]', AB),
    "thinking": ('<THINKING>1. x</THINKING>["What is A?", "What is B?"]', AB),
    "long thoughts": (f'<think>{"hm " * 20_000}</think>["What is A?", "What is B?"]', AB),
    # cleaning
    "marks inside the texts": ('["1. What is A?", "- **What is B?**"]', AB),
    "each once": ('["What is A?", "what is a?", "What is B?"]', AB),
    "at most four": ('["a1", "a2", "a3", "a4", "a5"]', ["a1", "a2", "a3", "a4"]),
    "on one line": ('["What\\n is\\tA?"]', ["What is A?"]),
    "half a character": ('["What is A?\\ud800"]', ["What is A?"]),
    "not a number": ('["2.5 percent of what?", "10 years later?"]', ["2.5 percent of what?", "10 years later?"]),
    # none
    "an empty list": ("[]", []),
    "an empty object's list": ('{"queries": []}', []),
    "an empty list in a fence": ("```json\n[]\n```", []),
    "an empty list with reasons": ("[]\n\nReasons:\n- All is known.\n- Nothing is missing.", []),
    "an empty list and why": ("[] because all is known.", []),
    "a list of nothing": ('[""]', []),
    "a list of none": ('["None"]', []),
    "null": ('{"queries": null}', []),
    "words for none": ("No further questions are needed.", []),
    "an empty query": ('{"query": ""}', []),
    # nothing readable
    "an empty reply": ("", None),
    "a refusal": ("I'm sorry, I can't help with that.", None),
    "a refusal as a list": ('["I am sorry, I cannot help."]', None),
    "a refusal with bullets": ("I cannot do this:\n- it is long\n- it is late", None),
    "a question to the person": ("Could you clarify what you mean?", None),
    "prose": ("The topic is broad. It has many sides, and one could look at each.", None),
    "prose that ends in a question": ("The topic is broad. Where would one begin?", None),
    "a reference in prose": ("This is answered in [1].", None),
    "numbers": ("[1, 2]", None),
    "thoughts that never end": ('<think>["What is A?"]', None),
    "a list that is no list": ("[see below]", None),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
def test_queries_are_read_from_any_reply(reply: str, expected: list[str] | None) -> None:
    assert SHAPE.read(reply) == expected


def test_a_text_is_never_taken_letter_by_letter() -> None:
    """002 item 3, prime-envs PR 87."""
    assert SHAPE.read('"What is A?"') == ["What is A?"]
    assert SHAPE.read('{"queries": "AB"}') == ["AB"]


def test_a_long_question_ends_at_a_word() -> None:
    (query,) = SHAPE.read(json.dumps(["word " * 200])) or []
    assert len(query) <= LONGEST
    assert query.endswith("word")
