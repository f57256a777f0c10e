"""Words as they are compared, and whether a quotation stands in a passage word for word."""

from __future__ import annotations

import re
import unicodedata

_STRAIGHT = r"\"([^\"\n]{3,})\""
_SINGLE = r"(?<![\w'’])['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w)){3,}?)['’](?!\w)"
QUOTATION = re.compile(
    rf"“([^“”\n]{{3,}})”|„([^„“”\n]{{3,}})[“”]|«([^«»\n]{{3,}})»|‹([^‹›\n]{{3,}})›|「([^「」\n]{{2,}})」"
    rf"|『([^『』\n]{{2,}})』|{_STRAIGHT}|{_SINGLE}"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"(?<!\\)(?:[*`]+|~{2,}|(?<!\w)_+|_+(?!\w))")
_QUOTES = dict.fromkeys(map(ord, "\"“”„‟«»‹›「」『』'‘’‚‛ʼ′`"), "'")
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_DASH = re.compile(" ?[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+ ?")
_GAP = re.compile(r"\[?\s?(?:\.\s?\.\s?\.|…)\s?\]?")
_INSERTION = re.compile(rf"{_GAP.pattern}|\[[^\[\]]*\]")
"""What somebody who quotes puts between brackets to make a sentence complete."""
_INSERTED = re.compile(r"\[(\w)\](?=\w)")
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Scripts that do not part words by spaces."""


def unmarked(text: str) -> str:
    """Without Markdown's marks and escapes."""
    return _ESCAPE.sub(r"\1", _MARKS.sub("", text))


def plain(text: str) -> str:
    """For comparing words: no case, one kind of dash and white space, no quotation marks, nothing invisible."""
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold().translate(_QUOTES)
    text = re.sub(r"(?<!\w)'+|'+(?!\w)", "", text)
    text = re.sub(r"(?<=\d)[, ](?=\d{3}(?!\d))", "", text)
    text = _DASH.sub("-", " ".join(_MARKS.sub("", text).split()))
    return re.sub(r" (?=[,.;:!?%)\]])", "", text)


def quotations(sentence: str) -> list[str]:
    """What stands between quotation marks of any kind, as it is written."""
    return [next(filter(None, groups)).strip() for groups in QUOTATION.findall(sentence)]


def is_quoted(quotation: str, words: str) -> bool:
    """Whether ``words`` (plain) has the quotation: whole words, its pieces in order where "…" leaves something out."""
    without_insertions = _INSERTION.split(_INSERTED.sub(r"\1", quotation))
    return _in_order(_GAP.split(quotation), words) or _in_order(without_insertions, words)


def _in_order(pieces: list[str], words: str) -> bool:
    place = 0
    for piece in filter(None, (plain(piece).strip(" .,;:!?-") for piece in pieces)):
        match = _whole(piece).search(words, place)
        if match is None:
            return False
        place = match.end()
    return True


def _whole(piece: str) -> re.Pattern[str]:
    """The piece, not as a part of a longer word or number."""
    before = "" if re.match(f"[{_UNSPACED}\\W]", piece) else r"(?<!\w)(?<!\d[.,])"
    after = "" if re.search(f"[{_UNSPACED}\\W]$", piece) else r"(?!\w)(?![.,]\d)"
    return re.compile(before + re.escape(piece) + after)
