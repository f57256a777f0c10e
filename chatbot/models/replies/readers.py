"""Read questions, choices, and passage numbers from a model's reply (R-C1,
R-C3, R-C9). Each reader takes JSON first, then lines. It returns None for a reply that
it cannot read, which is then asked for again, and never raises.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from .stream import readable

MAX_QUESTION_CHARACTERS = 300
MAX_LINES = 200
_QUESTION_KEYS = (
    "query",
    "question",
    "subquery",
    "subquestion",
    "followup",
    "followupquestion",
    "nextquestion",
    "text",
)
_ENOUGH_KEYS = ("enough", "sufficient", "done", "answer")

_DECODER = json.JSONDecoder(strict=False)
_BRACKET = re.compile(r"[\[\]{}]")
_PLAIN_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_STRAY_BACKSLASH = re.compile(r"\\(?![\\'\"ntru])")
_FORGOTTEN_COMMA = re.compile(r"(?<=[\"'])(?=\s+[\"'])")
_LABEL = (
    r"(?:q|(?:sub[-_ ]?|search |follow[- ]?up "
    r")?(?:query|question)|section|chapter)\s*\d{0,2}\s*[:.)]"
)
_MARK = (
    rf"(?:(?P<heading>\#{{1,6}}\s)|(?P<number>\(?\d{{1,2}}(?:[.):．]+(?=[\s*])|、)|{_LABEL})|(?P<bullet>[-*•–—+](?=\s)))"
    r"\s*(?:\[[ xX]\]\s+)?"
)
_LEADING_MARK = re.compile(rf"^{_MARK}", re.IGNORECASE)
_MARKED_LINE = re.compile(rf"(?:>\s*)?(?:\*\*)?{_MARK}(?P<text>.+)", re.IGNORECASE)
_QUESTION_END = ("?", "？", "؟")
_SENTENCE_END = re.compile(r"[^\W\d_]{3}[.!]\s+\S")
_QUOTED = re.compile(r"[\"“„«'‘`]([^\"“”„«»`]*)[\"”“»'’`]")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Half of a surrogate pair can be written in JSON, but not be sent or stored."""
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m |i am )?(?:very |so )?sorry\b|i (?:can(?:no|['’]?)t|am "
    r"unable|['’]?m unable|won['’]?t)\b"
    r"|i['’]m (?:unable|not able)|unfortunately\b|as an ai\b|please "
    r"(?:provide|clarify|specify)\b"
    r"|(?:could|can|would) you (?:please )?(?:clarify|provide|share|tell "
    r"me|specify|like|rephrase)\b"
    r"|how can i (?:help|assist)\b)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|null|nil|nothing|no "
    r"(?:(?:more|further|additional|other|gap|follow[- ]?up|new) )*"
    r"(?:sub[- ]?)?(?:queries|questions|query|question)\b.{0,40})\W*",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"[\W_]*(yes|no|true|false)[\W_]*", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,4}(?![\w%]|\.\d)")
_WORD = re.compile(r"[^\W\d]+")
_NUMBER_OF_LINE = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]+(?=[^\W\d])", re.MULTILINE)
_PASSAGE_WORDS = frozenset(["and", "number", "numbers"]).union(
    *(
        (noun, f"{noun}s")
        for noun in ("passage", "document", "doc", "chunk", "source", "collection")
    )
)


def json_values(text: str) -> list[Any]:
    """Return the outermost lists and objects of a reply: those that begin a line, then
    objects and lists of several inside of lines. So a reference such as [1] and the box
    of "- [ ] to do" are not taken for the model's answer.
    """
    on_lines = list[Any]()
    inside = list[Any]()
    end = 0
    # So many opening brackets are tried before the search stops.
    for _ in range(100):
        if (match := _BRACKET.search(text, end)) is None:
            break
        start = match.start()
        end = match.end()
        if match[0] in "[{" and (decoded := _decoded(text, start)) is not None:
            value, end = decoded
            if not text[text.rfind("\n", 0, start) + 1 : start].strip():
                on_lines.append(value)
            elif isinstance(value, Mapping) or len(value) > 1:
                inside.append(value)
    return on_lines + inside


def _decoded(text: str, start: int) -> tuple[Any, int] | None:
    """Return the list or object at ``start`` and its end: JSON, also where the reply is
    cut off, or Python.
    """
    with suppress(ValueError, RecursionError):
        return _DECODER.raw_decode(text, start)
    depth = 0
    end = start
    for bracket in _BRACKET.finditer(text, start):
        depth = depth + (1 if bracket[0] in "[{" else -1)
        end = bracket.end()
        if not depth:
            break
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        if depth:
            rest = text[start:].encode(
                "utf-8", "replace"
            )  # it may hold half a character
            value = from_json(rest, allow_partial=True)
            return (
                (value, len(text)) if value else None
            )  # an empty list would say that there is none
        source = _STRAY_BACKSLASH.sub("", text[start:end].translate(_PLAIN_QUOTES))
        value = literal_eval(_FORGOTTEN_COMMA.sub(",", source))
        return (value, end) if isinstance(value, list | dict) else None
    return None


def first_of(fields: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the field under the first of ``names`` that exists, or None: "Sub-query"
    and "sub_query" are one name.
    """
    named = {
        re.sub(r"[\s_-]+", "", str(name).casefold()): field
        for name, field in fields.items()
    }
    return next((named[name] for name in names if name in named), None)


# Questions


def read_queries(reply: str, most: int) -> list[str] | None:
    """Return at most ``most`` different questions. [] = the reply says that there are
    none, None = it lists nothing. Read in this order: lists and objects; words for
    "none"; numbered or bulleted lines; lines that are questions.
    """
    text = readable(reply)
    values = json_values(text)
    for value in (
        (*values, values) if values else ()
    ):  # at last all together: an object for each question
        if (questions := _listed_questions(value)) is not None:
            return questions[:most]
    if _REFUSAL.match(text):
        return None
    if _NOTHING.fullmatch(text):
        return []
    marked = [
        line
        for mark, line in _marked_lines(text)
        if mark != "heading" and not line.endswith(":")
    ]
    return _distinct(marked or _question_lines(text))[:most] or None


def _listed_questions(value: Any) -> list[str] | None:
    """Return the questions in a list, [] where it says that there are none, None where
    it lists something else. The list of an object stands under "queries", or is its
    only list.
    """
    if isinstance(value, Mapping):
        lists = [field for field in value.values() if isinstance(field, list)]
        value = value.get("queries", lists[0] if len(lists) == 1 else value)
        if value is None:
            return []
        if isinstance(value, str):
            value = value.splitlines()
    if not isinstance(value, list):
        return None
    texts = [text for item in value if isinstance(text := _question_of(item), str)]
    if value and not texts:
        return None
    questions = _distinct(texts)
    if questions or all(_says_nothing(text) for text in texts):
        return questions
    return None


def _question_of(item: Any) -> object:
    """Return what an item of a list asks: the item, or one of its fields."""
    return first_of(item, _QUESTION_KEYS) if isinstance(item, Mapping) else item


def _says_nothing(text: str) -> bool:
    return not text.strip() or bool(_NOTHING.fullmatch(text))


def _distinct(texts: Iterable[str]) -> list[str]:
    questions: dict[str, str] = {}
    for text in texts:
        if question := _clean_question(text):
            questions.setdefault(question.casefold(), question)
    return list(questions.values())


def _clean_question(text: object) -> str:
    """Return a question as it is searched for; "" for a refusal and for words for
    "none".
    """
    line = _one_line(text, MAX_QUESTION_CHARACTERS)
    return "" if _REFUSAL.match(line) or _NOTHING.fullmatch(line) else line


def _marked_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a list: "heading", "number" ("1.", "Q1:") or "bullet", and the
    text without that mark.
    """
    for line in text.splitlines()[:MAX_LINES]:
        if (match := _MARKED_LINE.match(line.strip())) and (
            bare := _one_line(match["text"], MAX_QUESTION_CHARACTERS)
        ):
            yield (
                "heading"
                if match["heading"]
                else "number"
                if match["number"]
                else "bullet",
                bare,
            )


def _question_lines(text: str) -> list[str]:
    """Return the lines if each one is a question of one sentence. Lines that end in a
    colon announce them.
    """
    lines = [
        line.strip(" \t*_`\"”'")
        for line in text.splitlines()[:MAX_LINES]
        if line.strip()
    ]
    lines = [line for line in lines if not line.endswith((":", "："))]
    for line in lines:
        if (
            not line.endswith(_QUESTION_END)
            or len(line) > MAX_QUESTION_CHARACTERS
            or _SENTENCE_END.search(line)
        ):
            return []
    return [
        _one_line(line, MAX_QUESTION_CHARACTERS)
        for line in lines
        if line[0] not in "[{"
    ]


def _one_line(text: object, longest: int) -> str:
    """Return a text cut at a word, printable, without list marks, quotes around it and
    bold type; "" if it is none.
    """
    text = _plain(text[: 4 * longest]) if isinstance(text, str) else ""
    if len(text) > longest:
        text = text[: longest + 1].rsplit(" ", 1)[0][:longest]
    before = None
    while text != before:  # quotes may stand round marks, and marks before quotes
        before = text
        text = _LEADING_MARK.sub("", text.replace("**", ""), count=1)
        quoted = _QUOTED.fullmatch(text)
        text = _plain(quoted[1] if quoted else text)
    return text if any(sign.isalnum() for sign in text) else ""


def _plain(text: str) -> str:
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


# The next question


def read_follow_up(reply: str) -> str | None:
    """Return the next question, "" if the passages are enough, or None. Read an object,
    or a question alone, or "Yes" alone.
    """
    text = readable(reply)
    for value in json_values(text):
        if isinstance(value, Mapping):
            question = first_of(value, _QUESTION_KEYS)
            clean = _clean_question(question)
            enough = _verdict(first_of(value, _ENOUGH_KEYS))
            if enough is None and isinstance(question, str):
                enough = not clean and not _REFUSAL.match(question)
            if enough or clean:
                return "" if enough else clean
    if _REFUSAL.match(text):
        return None
    questions = _question_lines(text)
    return (
        questions[0] or None if len(questions) == 1 else "" if _verdict(text) else None
    )


def _verdict(value: object) -> bool | None:
    if isinstance(value, str) and (match := _VERDICT.fullmatch(value)):
        return match[1].casefold() in {"yes", "true"}
    return value if isinstance(value, bool) else None


# Choices and numbers


def read_choice(reply: str, names: Sequence[str]) -> int | None:
    """Return the 1-based place in ``names``; None where the reply is out of range or
    names several. Read in this order: the fields of objects; a first or last line that
    is a number or a name; the only name in the text.
    """
    text = readable(reply)
    fields = [
        str(field)
        for value in json_values(text)
        if isinstance(value, Mapping)
        for field in value.values()
    ]
    lines = [line for line in text.splitlines() if line.strip()]
    mentioned = [
        name
        for name in names
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    ]
    for parts in (fields, lines[:1] + lines[-1:], mentioned):
        if places := {place for part in parts if (place := _place(part, names))}:
            return places.pop() if len(places) == 1 else None
    return None


def _place(text: str, names: Sequence[str]) -> int | None:
    """Return the place that a text names by a number, a name, or both ("2. deep")."""
    bare = text.strip(" \t\r\n\"'`“”‘’*_.:()[]#").casefold()
    for place, name in enumerate(names, start=1):
        if re.fullmatch(rf"{place}|(?:{place}\W+)?{re.escape(name.casefold())}", bare):
            return place
    return None


def read_numbers(reply: str, count: int) -> list[int] | None:
    """Return the different 1-based numbers up to ``count`` that the reply lists, in its
    order. [] = the reply says none; None = it lists nothing, or nothing but numbers out
    of range. A number in a sentence may be of a passage that does not help: the whole
    reply, or a list or object in it, must have nothing but numbers.
    """
    text = readable(reply)
    for part in (text, *map(str, json_values(text))):
        listed = _NUMBER_OF_LINE.sub("", part)
        numbers = list(map(int, _NUMBER.findall(listed)))
        if _PASSAGE_WORDS.issuperset(_WORD.findall(listed.casefold())) and (
            numbers or "[]" in listed
        ):
            in_range = list(
                dict.fromkeys(number for number in numbers if 1 <= number <= count)
            )
            return in_range or (None if numbers else [])
    return None
