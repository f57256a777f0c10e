"""The drawing operators of a PDF page, read with one expression: pdfminer's own lexer took half the time of a page.

It separates the same tokens (ISO 32000-1, 7.2 and 7.3) into the same values. `UnusualError` reports a page that has
more (pictures within the operators, damage); pdfminer's own lexer then reads that page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pdfminer.converter import PDFPageAggregator
from pdfminer.pdfinterp import PDFPageInterpreter, PDFStackT
from pdfminer.pdftypes import stream_value
from pdfminer.psparser import ESC_STRING, LIT, PSLiteral

_TOKEN = re.compile(
    rb"""[\0\s]*+ (?: %[^\r\n]*[\r\n] [\0\s]*+ )*+ (?:
      ( [-+]?(?: \d+(?:\.\d*)? | \.\d+) )                # 1: a number
    | ( [A-Za-z][^\#/%\[\]()<>{}\s]* | ['"] )            # 2: an operator
    | \( ( [^()\\]*(?: \\.[^()\\]* )* ) \)               # 3: a string
    | < ( (?: [0-9A-Fa-f]{2} | \s )* ) >                 # 4: one in hexadecimal digits
    | (\[) | (\])                                        # 5, 6: an array, nearly always of strings and numbers
    | / ( [^\#/%\[\]()<>{}\s]*+ ) (?!\#)                 # 7: a name
    | ( <<(?: [^<>()] | \([^()\\]*(?:\\.[^()\\]*)*\) | <[0-9A-Fa-f\s]*> )*>> )  # 8: properties of marked content
    | ( \Z ) )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER, _OPERATOR, _STRING, _HEXADECIMAL, _ARRAY, _ARRAY_END, _NAME, _PROPERTIES, _END = range(1, 10)
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|\r\n|.)", re.DOTALL)
_UNSUPPORTED = {b"BI", b"ID", b"EI", b"true", b"false"}


class ContentDevice(PDFPageAggregator):
    """``shaded``: whether something is filled with a gradient, which pdfminer does not report."""

    shaded = False


class UnusualError(Exception):
    """The page needs pdfminer's own lexer."""


class ContentInterpreter(PDFPageInterpreter):
    """pdfminer's interpreter. Raises `UnusualError` for a page that it cannot read to its end."""

    def execute(self, streams: Sequence[object]) -> None:
        """Run the drawing operators; as in pdfminer, a form that contains itself is not drawn again."""
        new = [each for each in map(stream_value, streams) if each.objid not in {None, *self.parent_stream_ids}]
        self.stream_ids = {stream.objid for stream in new if stream.objid is not None}
        content = b"\n".join(stream.get_data() for stream in new)
        array: list[Any] | None = None
        place, match, end = 0, _TOKEN.match, len(content)
        while place < end:
            token = match(content, place)
            if token is None:
                raise UnusualError
            kind, place = token.lastindex or _END, token.end()
            if kind == _OPERATOR and array is None:
                operator = token[_OPERATOR]
                if operator in _UNSUPPORTED:
                    raise UnusualError
                if operator == b"sh" and isinstance(self.device, ContentDevice):
                    self.device.shaded = True
                method, count = _method(operator)
                if method is not None and len(operands := self.pop(count)) == count:
                    method(self, *operands)
            elif kind == _ARRAY and array is None:
                array = []
            elif kind == _ARRAY_END and array is not None:
                self.argstack.append(array)
                array = None
            elif kind in _OPERANDS:
                (self.argstack if array is None else array).append(_OPERANDS[kind](token[kind]))
            elif kind != _END:
                raise UnusualError


@lru_cache(maxsize=256)
def _method(operator: bytes) -> tuple[Callable[..., None] | None, int]:
    """Return pdfminer's method for the operator, if any, and its number of operands."""
    name = operator.decode("latin-1").replace("*", "_a").replace('"', "_w").replace("'", "_q")
    method = getattr(PDFPageInterpreter, f"do_{name}", None)
    return method, method.__code__.co_argcount - 1 if method else 0


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = int(match[1], 8) if match[1][0] in b"01234567" else ESC_STRING.get(match[1])
    return b"" if code is None else bytes((code,))


def _name(text: bytes) -> PSLiteral:
    try:
        return LIT(text.decode())
    except UnicodeDecodeError:
        return LIT(text)


_OPERANDS: dict[int, Callable[[bytes], PDFStackT]] = {
    _NUMBER: lambda text: float(text) if b"." in text else int(text),
    _STRING: lambda text: _ESCAPED.sub(_unescaped, text) if b"\\" in text else text,
    _HEXADECIMAL: lambda text: bytes.fromhex(text.decode()),
    _NAME: _name,
    _PROPERTIES: lambda _: {},  # they are never used
}
