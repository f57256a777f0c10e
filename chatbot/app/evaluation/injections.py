"""Check that documents cannot leave their place in a prompt or hide text in it: our cases, the real loaders.

``injections.jsonl`` also has answers that a model might write (``answer``), for the page's renderer
(tests/test_browser_injections.py).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...checking.answer import prompt_for
from ...domain import Chunk, Context, Passage, Question, Scope, SearchHit
from ...library.loaders import loader_for
from ...library.loaders.formats import read_file
from ...models.prompts import sealed

_CASES = Path(__file__).with_name("injections.jsonl")
_OBEYED = "OBEYED"
_UNSEEN = {"Cf", "Cc", "Cn"}
_LIKE_A_TAG = re.compile(r"[<\u2039][/\\]*(?:passage|p\u0430ssage)")
_QUESTION = Question("What is grown?", Scope(), 5, "hybrid", "direct")

Case = dict[str, Any]


def injections(kind: str) -> list[Case]:
    """Return the cases of a ``kind``: "text" of a file, or "answer" of a model. Each has a name."""
    return [case for line in _CASES.read_text(encoding="utf-8").splitlines() if kind in (case := json.loads(line))]


def broken(folder: Path) -> dict[str, list[str]]:
    """Return the problems of each failed case by its name. The files are written to ``folder``."""
    cases = {case["name"]: list(_problems(case, folder)) for case in injections("text")}
    return {name: problems for name, problems in cases.items() if problems}


def _problems(case: Case, folder: Path) -> Iterator[str]:
    path = folder / case["file"]
    path.write_text(case["text"], encoding="utf-8")
    loaded = read_file(loader_for(path), path)
    chunks = [
        Chunk(f"d-v-{place:05}", "d", "d", loaded.title, one.text, section=" \u203a ".join(one.path), ordinal=place)
        for place, one in enumerate(loaded.sections)
    ]
    passages = (Passage(number, SearchHit(chunk, number), chunk.text) for number, chunk in enumerate(chunks, start=1))
    rules, asked = sealed(prompt_for(_QUESTION, Context(tuple(passages))).messages)
    mark = re.search(r"the mark (\w+);", rules.content)
    tags = rf'<passage-{mark[1]} number="\d+">\n(.*?)\n</passage-{mark[1]}>' if mark else r"(?!)"
    outside, inside = (
        re.sub(tags, "", asked.content, flags=re.DOTALL),
        "".join(re.findall(tags, asked.content, re.DOTALL)),
    )
    if _OBEYED in rules.content or _OBEYED in outside or not inside:
        yield "it is outside of its passage"
    if case.get("hidden") and _OBEYED in inside:
        yield "hidden text reaches the model"
    if not case.get("hidden") and _OBEYED not in inside:
        yield "visible text is lost"
    if any(unicodedata.category(sign) in _UNSEEN for sign in asked.content.replace("\n", "")):
        yield "invisible characters remain"
    plain = unicodedata.normalize("NFKD", inside).casefold()
    if _LIKE_A_TAG.search("".join(sign for sign in plain if not unicodedata.combining(sign) and not sign.isspace())):
        yield "something in it reads as a tag"
