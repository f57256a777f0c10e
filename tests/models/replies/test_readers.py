"""Questions, choices, numbers and outlines in whatever a model wrote; the tables name where such replies were seen.

What is asked for again, though it could be read: numbers and choices within sentences about several ("passages 1 and 3
help", "2 rather than 1"), questions under numbered keys, a list whose brackets do not match (R-C3, R-C9).
"""

from __future__ import annotations

import json

import pytest

from chatbot.models.replies import choice, follow_up, numbers, outline, prose, queries
from chatbot.models.replies.readers import (
    MAX_QUESTION_CHARACTERS,
    OutlineSection,
    ReportOutline,
)

AB = ["What is A?", "What is B?"]
QUESTIONS = {
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


@pytest.mark.parametrize(("reply", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_queries_are_read_from_any_reply(reply: str, expected: list[str] | None) -> None:
    assert queries(4).read(reply) == expected


def test_a_text_is_never_taken_letter_by_letter() -> None:
    """002 item 3, prime-envs PR 87."""
    assert queries(4).read('"What is A?"') == ["What is A?"]
    assert queries(4).read('{"queries": "AB"}') == ["AB"]


def test_a_long_question_ends_at_a_word() -> None:
    (query,) = queries(4).read(json.dumps(["word " * 200])) or []
    assert len(query) <= MAX_QUESTION_CHARACTERS
    assert query.endswith("word")


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
    "a year beside it": ("Option 2, since it asks about 2023 only.", 2),
    "the first line": ("2\n\nBecause 1 is for simple questions.", 2),
    "the last line": ("Agent 1 is for simple questions, this is broad.\n\n**2**", 2),
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


NUMBERS = {
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
    "prose": ("Passages 1 and 3 are relevant.", None),
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
    "one in a sentence": ("I think [3] helps most.", None),
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


@pytest.mark.parametrize(("reply", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_read_from_any_reply(reply: str, expected: list[int] | None) -> None:
    assert numbers(5).read(reply) == expected


def test_what_is_said_after_an_unreadable_reply_has_no_number_out_of_range() -> None:
    assert '{"numbers": [1]}, with numbers from 1 to 1' in numbers(1).repair


MORE = "What is A?"
DONE = ""
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
    "yes in bold": ("**YES**", DONE),
    "yes in an object": ('{"answer": "yes"}', DONE),
    "yes, with a reason": ("Yes, all is there.", None),
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
def test_a_follow_up_is_read_from_any_reply(reply: str, expected: str | None) -> None:
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
