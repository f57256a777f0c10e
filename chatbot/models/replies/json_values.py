"""Find the JSON in a model's reply, also where it is cut off, written as Python or quoted typographically (R-C9).

What the standard decoder rejects is rewritten token by token, in linear time, and read by pydantic_core, which leaves
out an unfinished text. Nothing is evaluated."""

import json
import re
from dataclasses import dataclass

from pydantic_core import from_json

MAX_BRACKETS = 200
"""Opening brackets that are tried before the search stops."""
MAX_DEPTH = 16
_DECODER = json.JSONDecoder(strict=False)
_OPENING = re.compile(r"[\[{]")
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_CLOSERS = {'"': '"', "“": '“”„"', "”": '“”"', "„": '“”"', "«": "»", "'": "'", "‘": "‘’'", "’": "‘’'", "`": "`"}
# A quote ends a text where punctuation, another quoted text or the end of the line follows. Others belong to the text.
_QUOTED = "|".join(
    rf"{first}[^\n]*?(?<!\\)[{last}](?=\s*(?:[,:\]}}]|\Z)|\s+[\"“„«'‘`])" for first, last in _CLOSERS.items()
)
_TOKEN = re.compile(
    rf"[\s,]+|[\[\]{{}}:]|{_QUOTED}|[-+]?\d{{1,15}}(?:\.\d{{1,15}})?(?=[\s,\]}}])"
    r"|(?P<word>true|false|null|none)(?=[\s,\]}])|(?P<key>[a-z_]\w*)(?=\s*:)",
    re.IGNORECASE,
)
_CUT_TOKEN = re.compile(rf"(?:[{''.join(_CLOSERS)}][^\n]*|[\w.+-]*)\Z")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A list or an object in a reply. ``meant``: it is the model's answer, and not a reference such as [1] or the
    box of "- [ ] to do"."""

    value: object
    meant: bool


def json_values(text: str) -> list[JsonValue]:
    """Return every outermost list or object: those in fences first, then those alone on their lines. So a reference
    such as [1] in the prose before a list is not taken for the list."""
    fences = [match.span(1) for match in _FENCE.finditer(text)]
    ranked: list[tuple[int, JsonValue]] = []
    end = 0
    for _ in range(MAX_BRACKETS):
        if (match := _OPENING.search(text, end)) is None:
            break
        start, end, cut = match.start(), match.end(), False
        try:
            try:
                value, end = _DECODER.raw_decode(text, start)
            except ValueError:  # no JSON, or a number of thousands of digits
                rewritten, after, cut = _as_json(text, start)
                value, end = from_json(rewritten, allow_partial=cut), after
        except ValueError:
            continue
        except RecursionError:
            break  # no useful reply is nested so deep
        if cut and not value:
            continue
        before, after_it = text[text.rfind("\n", 0, start) + 1 : start], text[end : (text + "\n").index("\n", end)]
        alone = not before.strip() and not after_it.strip(" \t\r.,;`")
        fenced = any(first <= start and end <= last for first, last in fences)
        meant = alone or not start or isinstance(value, dict)
        ranked.append((0 if fenced else 1 if alone else 2, JsonValue(value, meant)))
    return [value for _, value in sorted(ranked, key=lambda one: one[0])]


def _as_json(text: str, start: int) -> tuple[str, int, bool]:
    """Rewrite the list or object at ``start`` as JSON. Return it, its end, and whether the text ends within it.
    Raises ValueError: what stands there is no JSON, or nested deeper than `MAX_DEPTH`."""
    parts: list[str] = []
    depth, place = 0, start
    while match := _TOKEN.match(text, place):
        token, place = match[0], match.end()
        if token[0] == "," or token[0].isspace():
            continue  # commas may be forgotten or doubled: they are set anew
        if token[0] in _CLOSERS:
            token = json.dumps(_ESCAPE.sub(_unescape, token[1:-1]))
        elif match["key"]:
            token = json.dumps(token)
        elif match["word"]:
            token = token.casefold().replace("none", "null")
        elif token[0] == "+":
            token = token[1:]
        if parts and token not in (":", "]", "}") and parts[-1] not in ("[", "{", ":"):
            parts.append(",")
        parts.append(token)
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if not depth:
            return "".join(parts), place, False
        if depth > MAX_DEPTH:
            break
    if depth > MAX_DEPTH or not _CUT_TOKEN.match(text, place):
        raise ValueError
    while parts and parts[-1] in ("[", "{"):
        parts.pop()  # an empty list would say that there is none
    return "".join(parts), len(text), True


def _unescape(match: re.Match[str]) -> str:
    sign = match[1]
    return chr(int(sign[1:], 16)) if len(sign) > 1 else _ESCAPED.get(sign, sign)
