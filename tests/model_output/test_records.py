"""A chain's next question and a report's outline (R-C3, R-C9)."""

from __future__ import annotations

import json

import pytest

from chatbot.model_output.asking import follow_up, outline, prose
from chatbot.model_output.records import FollowUp, OutlineSection, ReportOutline

MORE = FollowUp(False, "What is A?")
DONE = FollowUp(True, "")
FOLLOW_UPS = {
    "the schema's object": ('{"enough": false, "question": "What is A?"}', MORE),
    "enough": ('{"enough": true, "question": ""}', DONE),
    "enough, and still a question": ('{"enough": true, "question": "What is A?"}', DONE),
    "Python": ("{'enough': False, 'question': 'What is A?'}", MORE),
    "a fence": ('```json\n{"enough": false, "question": "What is A?"}\n```', MORE),
    "words": ('{"enough": "No", "question": "What is A?"}', MORE),
    "only the question": ('{"question": "What is A?"}', MORE),
    "an empty question": ('{"question": ""}', DONE),
    "a question for none": ('{"question": "None"}', DONE),
    "another key": ('{"Follow-up question": "What is A?", "enough": false}', MORE),
    "lines": ("Enough: no\nQuestion: What is A?", MORE),
    "lines in bold": ("**Enough**: No\n**Question**: What is A?", MORE),
    "broken JSON on lines": ('{\n"enough": false,\n"question": "What is A?\n', MORE),
    "a bare question": ("What is A?", MORE),
    "an announced question": ("The next question:\nWhat is A?", MORE),
    "yes": ("Yes.", DONE),
    "thoughts": ('<think>{"enough": true}</think>{"enough": false, "question": "What is A?"}', MORE),
    "cut off": ('{"enough": false, "question": "What', None),
    "more, but what": ('{"enough": false, "question": ""}', None),
    "no": ("No.", None),
    "two questions": ("What is A?\nWhat is B?", None),
    "a refusal": ("I'm sorry, I can't.", None),
    "a refusal in an object": ('{"enough": false, "question": "I\'m sorry, I can\'t."}', None),
    "prose": ("There is more to learn.", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("reply", "expected"), FOLLOW_UPS.values(), ids=FOLLOW_UPS)
def test_a_follow_up_is_read_from_any_reply(reply: str, expected: FollowUp | None) -> None:
    assert follow_up().read(reply) == expected


PEOPLE = OutlineSection("People", "How many people live there?")
TRADE = OutlineSection("Trade", "What is sold?")
BARE = (OutlineSection("People", "People"), OutlineSection("Trade", "Trade"))
WHOLE = {
    "title": "Kenya",
    "sections": [
        {"title": "People", "question": "How many people live there?"},
        {"title": "Trade", "question": "What is sold?"},
    ],
}
OUTLINES = {
    "the schema's object": (json.dumps(WHOLE), ReportOutline("Kenya", (PEOPLE, TRADE))),
    "Python in a fence": (f"Here:\n```python\n{WHOLE}\n```", ReportOutline("Kenya", (PEOPLE, TRADE))),
    "only a list": (json.dumps(WHOLE["sections"]), ReportOutline("", (PEOPLE, TRADE))),
    "titles only": ('{"title": "Kenya", "sections": ["People", "Trade"]}', ReportOutline("Kenya", BARE)),
    "other keys": (
        '{"heading": "Kenya", "Chapters": [{"name": "People", "query": "How many people live there?"}]}',
        ReportOutline("Kenya", (PEOPLE,)),
    ),
    "a section without a title": (
        '{"sections": [{"question": "Why?"}]}',
        ReportOutline("", (OutlineSection("Why?", "Why?"),)),
    ),
    "each title once": ('["People", "people", "Trade"]', ReportOutline("", BARE)),
    "at most three": ('["a", "b", "c", "d"]', ReportOutline("", tuple(OutlineSection(x, x) for x in "abc"))),
    "cut off": (json.dumps(WHOLE)[:-20], ReportOutline("Kenya", (PEOPLE, OutlineSection("Trade", "Trade")))),
    "numbered": ("1. People\n2. Trade", ReportOutline("", BARE)),
    "bulleted": ("- People\n- Trade", ReportOutline("", BARE)),
    "headings": ("# Kenya\n## People\n## Trade", ReportOutline("", (OutlineSection("Kenya", "Kenya"), *BARE))),
    "a title and numbers": ("# Kenya\n1. People\n2. Trade", ReportOutline("Kenya", BARE)),
    "a title and bullets": ("# Kenya\n- People\n- Trade", ReportOutline("Kenya", BARE)),
    "a labelled title": ("Title: Kenya\n\n1. People\n2. Trade", ReportOutline("Kenya", BARE)),
    "with questions": (
        "1. **People**: How many people live there?\n2. Trade - What is sold?",
        ReportOutline("", (PEOPLE, TRADE)),
    ),
    "with questions below": (
        "1. People\n   - How many people live there?\n   - Where?\n2. **Trade**\n   - What is sold?",
        ReportOutline("", (PEOPLE, TRADE)),
    ),
    "labelled sections": ("### Section 1: People\n### Section 2: Trade", ReportOutline("", BARE)),
    "thoughts": ("<think>1. x</think>1. People\n2. Trade", ReportOutline("", BARE)),
    "an empty list": ('{"title": "Kenya", "sections": []}', None),
    "a refusal": ("I'm sorry, I can't:\n- it is late", None),
    "prose": ("Kenya is large. One could write much.", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("reply", "expected"), OUTLINES.values(), ids=OUTLINES)
def test_an_outline_is_read_from_any_reply(reply: str, expected: ReportOutline | None) -> None:
    assert outline(3).read(reply) == expected


def test_prose_is_whatever_is_said_without_thoughts() -> None:
    assert prose().read("<think>hm</think> Two million [1].") == "Two million [1]."
    assert prose().read("<think>endless") is None
    assert prose().schema is None
