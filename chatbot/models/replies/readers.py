"""Read questions, choices, passage numbers and outlines from a model's reply (R-C1, R-C3, R-C9). Each reader takes JSON
first, then lines or prose. It returns None for a reply that it cannot read, and never raises."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .json_values import json_values
from .stream import readable

MAX_QUESTION_CHARACTERS = 300
MAX_TITLE_CHARACTERS = 150
MAX_LINES = 200
_QUESTION_LISTS = (
    "queries", "questions", "subqueries", "subquestions", "searchqueries", "gapqueries",
    "followup", "followups", "followupquestions", "followupqueries",
)  # fmt: skip
_QUESTION_KEYS = ("query", "question", "subquery", "subquestion", "searchquery", "text", "q")
_NEXT_QUESTION_KEYS = ("question", "followup", "followupquestion", "nextquestion", "query")
_ENOUGH_KEYS = ("enough", "sufficient", "isenough", "done", "complete", "answer")
_SECTION_LISTS = ("sections", "outline", "chapters", "parts")
_TITLE_KEYS = ("title", "heading", "section", "name", "reporttitle")
_ABOUT_KEYS = ("question", "query", "focus", "description")
_CHOICE_KEYS = ("choice", "index", "number", "mode", "name", "agent", "selected", "answer")
_NUMBER_KEYS = ("number", "passage", "document", "index", "id")

_LABEL = r"(?:q|(?:sub[-_ ]?|search |follow[- ]?up )?(?:query|question)|section|chapter)\s*\d{0,2}\s*[:.)]"
_MARK = (
    rf"(?:(?P<heading>\#{{1,6}}\s)|(?P<number>\(?\d{{1,2}}(?:[.):．]+(?=[\s*])|、)|{_LABEL})|(?P<bullet>[-*•–—+](?=\s)))"
    r"\s*(?:\[[ xX]\]\s+)?"
)
_LEADING_MARK = re.compile(rf"^{_MARK}", re.IGNORECASE)
_MARKED_LINE = re.compile(rf"(?:>\s*)?(?:\*\*)?{_MARK}(?P<text>.+)", re.IGNORECASE)
_FIELD_LINE = re.compile(r"^[^\w\n]*(enough|question)[^\w\n]{0,4}:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
_TITLE_AND_QUESTION = re.compile(r"(.{2,150}?)\s*(?::|\s[-–—])\s+(.+[?？؟])")
_QUESTION_END = ("?", "？", "؟")
_SENTENCE_END = re.compile(r"[^\W\d_]{3}[.!]\s+\S")
_QUOTED = re.compile(r"[\"“„«'‘`]([^\"“”„«»`]*)[\"”“»'’`]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Half of a surrogate pair can be written in JSON, but not be sent or stored."""
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m |i am )?(?:very |so )?sorry\b|i (?:can(?:no|['’]?)t|am unable|['’]?m unable|won['’]?t)\b"
    r"|i['’]m (?:unable|not able)|unfortunately\b|as an ai\b|please (?:provide|clarify|specify)\b"
    r"|(?:could|can|would) you (?:please )?(?:clarify|provide|share|tell me|specify|like|rephrase)\b"
    r"|how can i (?:help|assist)\b)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|null|nil|nothing|no (?:(?:more|further|additional|other|gap|follow[- ]?up|new) )*"
    r"(?:sub[- ]?)?(?:queries|questions|query|question)\b.{0,40})\W*",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"[\W_]*(yes|no|true|false)[\W_]*", re.IGNORECASE)
_SHORT_NUMBER = re.compile(r"(?<![\w.,-])(\d{1,2})(?![\w%]|[.,]\d)")
_THING = r"(?:passages?|documents?|docs?|chunks?|sources?|numbers?|collections?)"
_NUMBER_LINE = re.compile(
    rf"(?:[-*•]\s*|\d{{1,2}}[.)]\s+(?={_THING}))?(?:{_THING}\s*)?[\[(#]?(\d{{1,4}})[\])]?[.:]?$", re.IGNORECASE
)
_NAMED_NUMBER = re.compile(r"[\W_]*(?:[a-z]+[\W_]*)?(\d{1,4})\W*", re.IGNORECASE)
_ONLY_NUMBERS = re.compile(r"[\s\[(]*\d{1,4}(?:[\s,;&\[\]()]+(?:and\s+)?\d{1,4})*[\s\]).]*")


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """The title of a section and the question that it answers."""

    title: str
    question: str


@dataclass(frozen=True, slots=True)
class ReportOutline:
    """``title`` may be ""; the sections' titles and questions are not."""

    title: str
    sections: tuple[OutlineSection, ...]


def first_of(fields: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the field under the first of ``names`` that exists, or None."""
    named = normalise_names(fields)
    return next((named[name] for name in names if name in named), None)


def normalise_names(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields with names in lower case and in one word: "Sub-queries" and "sub_queries" are one name."""
    return {re.sub(r"[\s_-]+", "", name.casefold()): field for name, field in fields.items()}


# Questions


def read_queries(reply: str, most: int) -> list[str] | None:
    """Return at most ``most`` different questions. [] = the reply says that there are none, None = it lists nothing.
    Read in this order: lists and objects; numbered or bulleted lines; lines that are questions; words for "none"."""
    text = readable(reply)
    values = json_values(text)
    lists = [_json_questions(one.value) for one in values]
    if questions := next(filter(None, lists), None):
        return questions[:most]
    if any(one.meant and questions == [] for one, questions in zip(values, lists, strict=True)):
        return []
    fields = [first_of(one.value, _QUESTION_KEYS) for one in values if isinstance(one.value, Mapping)]
    singles = [field for field in fields if isinstance(field, str) and not _REFUSAL.match(field)]
    questions = _distinct(singles)
    if not questions and not _REFUSAL.match(text):
        marked = [line for mark, line in _marked_lines(text) if mark != "heading"]
        questions = _distinct([line for line in marked if not line.endswith(":")] or _question_lines(text))
    none = any(not _clean_question(single) for single in singles) or _NOTHING.fullmatch(text)
    return questions[:most] or ([] if none else None)


def _json_questions(value: object) -> list[str] | None:
    """Return the questions in a list, [] where it says that there are none, None where it lists something else. The
    list of an object stands under one of `_QUESTION_LISTS`, or is its only list."""
    if isinstance(value, Mapping):
        fields = normalise_names(value)
        lists = [field for field in fields.values() if isinstance(field, list)]
        if names := [name for name in _QUESTION_LISTS if name in fields]:
            field = fields[names[0]]
            value = field.splitlines() if isinstance(field, str) else [] if field is None else field
        elif len(lists) == 1 and not any(isinstance(field, Mapping) for field in fields.values()):
            value = lists[0]
    if not isinstance(value, list):
        return None
    items = [first_of(item, _QUESTION_KEYS) if isinstance(item, Mapping) else item for item in value]
    texts = [item for item in items if isinstance(item, str)]
    if items and not texts:
        return None
    return _distinct(texts) or ([] if all(not text.strip() or _NOTHING.fullmatch(text) for text in texts) else None)


def _distinct(texts: Iterable[str]) -> list[str]:
    questions: dict[str, str] = {}
    for text in texts:
        if question := _clean_question(text):
            questions.setdefault(question.casefold(), question)
    return list(questions.values())


def _clean_question(text: object) -> str:
    """Return a question as it is searched for; "" for a refusal and for words for "none"."""
    line = _one_line(text, MAX_QUESTION_CHARACTERS)
    return "" if _REFUSAL.match(line) or _NOTHING.fullmatch(line) else line


def _marked_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a list: "heading", "number" ("1.", "Q1:") or "bullet", and the text without that mark."""
    for line in text.splitlines()[:MAX_LINES]:
        if (match := _MARKED_LINE.match(line.strip())) and (bare := _one_line(match["text"], MAX_QUESTION_CHARACTERS)):
            yield "heading" if match["heading"] else "number" if match["number"] else "bullet", bare


def _question_lines(text: str) -> list[str]:
    """Return the lines if each one is a question of one sentence. Lines that end in a colon announce them."""
    lines = [line.strip(" \t*_`\"”'") for line in text.splitlines()[:MAX_LINES] if line.strip()]
    lines = [line for line in lines if not line.endswith((":", "："))]
    for line in lines:
        if not line.endswith(_QUESTION_END) or len(line) > MAX_QUESTION_CHARACTERS or _SENTENCE_END.search(line):
            return []
    return [_one_line(line, MAX_QUESTION_CHARACTERS) for line in lines if line[0] not in "[{"]


def _one_line(text: object, longest: int) -> str:
    """Return a text cut at a word, printable, without list marks, quotes around it and bold type; "" if it is none."""
    text = _plain(text[: 4 * longest]) if isinstance(text, str) else ""
    if len(text) > longest:
        text = text[: longest + 1].rsplit(" ", 1)[0][:longest]
    before = None
    while text != before:  # quotes may stand round marks, and marks before quotes
        before, text = text, _LEADING_MARK.sub("", text.replace("**", ""), count=1)
        quoted = _QUOTED.fullmatch(text)
        text = _plain(quoted[1] if quoted else text)
    return text if any(sign.isalnum() for sign in text) else ""


def _plain(text: str) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


# The next question, and outlines


def read_follow_up(reply: str) -> str | None:
    """Return the next question, "" if the passages are enough, or None. Read an object, or "Enough: ..." and
    "Question: ..." on lines, or a question alone, or "Yes" alone."""
    text = readable(reply)
    for one in json_values(text):
        if isinstance(one.value, Mapping):
            fields = first_of(one.value, _ENOUGH_KEYS), first_of(one.value, _NEXT_QUESTION_KEYS)
            if (question := _next_question(*fields)) is not None:
                return question
    lines = {name.casefold(): field.strip(' ,\t"“”') for name, field in _FIELD_LINE.findall(text)}
    if "enough" in lines:
        return _next_question(lines["enough"], lines.get("question"))
    if _REFUSAL.match(text):
        return None
    questions = _question_lines(text)
    return _next_question(None, questions[0]) if len(questions) == 1 else "" if _verdict(text) else None


def _next_question(enough: object, question: object) -> str | None:
    clean = _clean_question(question)
    stop = _verdict(enough)
    if stop is None and isinstance(question, str):
        stop = not clean and not _REFUSAL.match(question)
    return "" if stop else clean or None


def _verdict(value: object) -> bool | None:
    if isinstance(value, str) and (match := _VERDICT.fullmatch(value)):
        return match[1].casefold() in {"yes", "true"}
    return value if isinstance(value, bool) else None


def read_outline(reply: str, most: int) -> ReportOutline | None:
    """Read an object or a list of sections; else headings, numbered or bulleted lines are the sections."""
    text = readable(reply)
    for one in json_values(text):
        title, items = None, one.value
        if isinstance(items, Mapping):
            title, items = first_of(items, _TITLE_KEYS), first_of(items, _SECTION_LISTS)
        if isinstance(items, Mapping):
            items = list(items.values())
        sections: list[OutlineSection] = []
        for item in items if isinstance(items, list) else []:
            fields = item if isinstance(item, Mapping) else {"title": item}
            sections += _section(first_of(fields, _TITLE_KEYS), first_of(fields, _ABOUT_KEYS))
        if outline := _outline(title, sections, most):
            return outline
    return None if _REFUSAL.match(text) else _outline_on_lines(text, most)


def _outline_on_lines(text: str, most: int) -> ReportOutline | None:
    """With numbers or headings, bullets below them are their questions. The first of headings may be the title."""
    lines = list(_marked_lines(text))
    headings = [line for mark, line in lines if mark == "heading"]
    used = "number" if any(mark == "number" for mark, _ in lines) else "heading" if len(headings) > 1 else "bullet"
    title = headings[0] if headings and used != "heading" else ""
    sections: list[OutlineSection] = []
    for mark, line in lines:
        if mark == used:
            parts = _TITLE_AND_QUESTION.fullmatch(line)
            sections += _section(*(parts.groups() if parts else (line.rstrip(":"), "")))
        elif mark == "bullet" and line.endswith("?") and sections and sections[-1].question == sections[-1].title:
            sections[-1] = OutlineSection(sections[-1].title, line)
    return _outline(title, sections, most)


def _outline(title: object, sections: Iterable[OutlineSection], most: int) -> ReportOutline | None:
    distinct: dict[str, OutlineSection] = {}
    for section in sections:
        distinct.setdefault(section.title.casefold(), section)
    kept = tuple(distinct.values())[:most]
    return ReportOutline(_one_line(title, MAX_TITLE_CHARACTERS), kept) if kept else None


def _section(title: object, question: object) -> list[OutlineSection]:
    """Return the section; the title stands in for a missing question and the question for a missing title."""
    line, question = _one_line(title, MAX_TITLE_CHARACTERS), _one_line(question, MAX_QUESTION_CHARACTERS)
    line = line or _one_line(question, MAX_TITLE_CHARACTERS)
    return [OutlineSection(line, question or line)] if line else []


# Choices and numbers


def read_choice(reply: str, names: Sequence[str]) -> int | None:
    """Return the 1-based place in ``names``; None where the reply is out of range or names several. Read in this order:
    JSON; a first or last line that is a number or a name; the only number up to 99 or name in the text."""
    text = readable(reply)
    for one in json_values(text):
        value = one.value
        if isinstance(value, Mapping):
            value = first_of(value, _CHOICE_KEYS) if len(value) != 1 else next(iter(value.values()))
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        place = _place(str(value), names) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
        if one.meant and place is not None:
            return place or None
    lines = [line for line in text.splitlines() if line.strip()]
    ends = {place for line in lines[:1] + lines[-1:] if (place := _place(line, names)) is not None}
    mentioned = {int(number) if int(number) <= len(names) else 0 for number in _SHORT_NUMBER.findall(text)}
    for place, name in enumerate(names, start=1):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            mentioned.add(place)
    places = ends or mentioned
    return places.pop() or None if len(places) == 1 else None


def _place(text: str, names: Sequence[str]) -> int | None:
    """Return the place that a text names by a number, a name, or both ("2. deep"); 0 = out of range, None = none."""
    bare = text.strip(" \t\r\n\"'`“”‘’*_.:()[]#").casefold()
    if bare.removeprefix("-").isdecimal():
        return int(bare) if len(bare) <= 4 and 1 <= int(bare) <= len(names) else 0
    for place, name in enumerate(names, start=1):
        if re.fullmatch(rf"(?:{place}\W+)?{re.escape(name.casefold())}", bare):
            return place
    return None


def read_numbers(reply: str, count: int) -> list[int] | None:
    """Return the different 1-based numbers up to ``count`` that the reply lists, in its order. [] = the reply says
    none; None = it lists nothing, or nothing but numbers out of range. Read in this order: the first list of several or
    none, lines that are a number each, numbers and nothing else, a list of one."""
    text = readable(reply)
    listed = ((_json_numbers(one.value), one.meant) for one in json_values(text))
    numbers, meant = next((pair for pair in listed if pair[0] is not None), (None, False))
    if numbers == []:
        return []
    if numbers is None or len(numbers) == 1:
        only = [int(match[1]) for line in text.splitlines() if (match := _NUMBER_LINE.match(line.strip()))]
        if not only and _ONLY_NUMBERS.fullmatch(text):
            only = list(map(int, re.findall(r"\d+", text)))
        # One number in brackets within a sentence is a reference, perhaps to a passage that does not help.
        numbers = only or (numbers if meant else None)
    return list(dict.fromkeys(number for number in numbers or [] if 1 <= number <= count)) or None


def _json_numbers(value: object, depth: int = 3) -> list[int] | None:
    """Return the first list of numbers in a value; None if it has none."""
    if isinstance(value, Mapping):
        if len(value) == 1 and (number := _number(value)) is not None:
            return [number]
        items = [item for item in value.values() if isinstance(item, (list, Mapping))]
    elif isinstance(value, list):
        numbers = [number for item in value if (number := _number(item)) is not None]
        if len(numbers) == len(value):
            return numbers
        items = [item for item in value if isinstance(item, (list, Mapping))]
    else:
        return None
    inside = (_json_numbers(item, depth - 1) for item in items if depth)
    return next((numbers for numbers in inside if numbers is not None), None)


def _number(value: object) -> int | None:
    """Return the number that a value names, also in "Document 3" and in {"passage": 3, "reason": ...}."""
    if isinstance(value, Mapping):
        value = first_of(value, _NUMBER_KEYS)
    if isinstance(value, str) and len(value) <= 40 and (match := _NAMED_NUMBER.fullmatch(value)):
        return int(match[1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None
