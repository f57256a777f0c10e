"""Lists of things asked of one country: "inflation, unemployment and GDP of Kenya", by a vocabulary.

A wrong split is worse than none ("health and education ministry"), so that only figures and facts that stand on their
own are known here, and only where a list begins and ends as one does; `open_lists` has the others. The rules know
English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import open_lists
from .agreement import with_thing
from .comparisons import NAME
from .figures import FIGURE
from .names import Named

_LIST = re.compile(
    rf"(?:\bboth\s+)?\b(?P<items>{FIGURE}(?:\s*,\s*{FIGURE})*\s*,?\s*(?:\band\b|&)\s*{FIGURE})"
    r"(?=\s*(?:$|[?.!:;]|,(?!\s*(?:and|or|&)\b)|\b(?:of|in|for|at|by|across|since|from|during|over|is|are|was|were|has|have"
    r"|had|do|does|did|will|differ|compare|compared|than|changed?|changing|develop(?:ed)?|grow[ns]?|grew|evolved?|rise[ns]?"
    r"|rose|fall(?:en|s)?|fell|like)\b|[\ue000]))",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(rf"(?:\s*,)?\s*\band\b\s*(?={FIGURE}$)|\s*&\s*|\s*,\s*", re.IGNORECASE)
_BEGINS = re.compile(
    r"(?:^|['’]s|[\ue000:?.!]|\b(?:what|which|how|(?:what|how) about|is|are|was|were|do|does|did|has|have|had"
    r"|the|its|their|me|tell|give|show|list|describe|explain|summari[sz]e|compare|find|of|in|on|about|for|by"
    r"|affects?|know|high|large))\s*$",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"(?:\b(?:between|ratio|balance|sum|total|combination|combined|product|mix|together|relation\w*|link|correlat\w+)\b"
    r"[^,?.!]*|[,&]|\b(?:and|or))\s*(?:the\s+)?$",
    re.IGNORECASE,
)
"""Before a list that is one thing, or whose beginning is not known."""
_ARTICLE = re.compile(r"^(?:the|its|their)\s+", re.IGNORECASE)


def things(text: str, names: Iterable[Named]) -> list[str]:
    """The question once for each thing that it lists; ``names``: the countries and years in it."""
    covered = text
    for name in names:
        covered = covered[: name.start] + NAME * (name.end - name.start) + covered[name.end :]
    start, end, items = _known(covered) or open_lists.find(covered) or (0, 0, [])
    return [with_thing(text, covered, start, end, item) for item in items] or [text]


def _known(covered: str) -> tuple[int, int, list[str]] | None:
    """Where a list of known things is, with a "both" before it, and the things, each with the article of the first."""
    for match in _LIST.finditer(covered):
        before = covered[: match.start()]
        if _BEGINS.search(before) and not _TOGETHER.search(before):
            items = _SEPARATOR.split(match["items"])
            article = _ARTICLE.match(match["items"])
            return *match.span(), [i if _ARTICLE.match(i) or article is None else article[0] + i for i in items]
    return None
