"""The sources of a brief: its items number theirs each from 1, the brief numbers the
passages of all together.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...checking.wording import NUMBERS
from ...database.core import Json

__all__ = ["number_sources"]


def number_sources(messages: Sequence[Json]) -> None:
    """Number the passages that the items of a brief cite together, each passage once,
    in the messages themselves.
    """
    numbers: dict[str, int] = {}
    for message in messages:
        answer = message.get("answer")
        if not answer:
            continue
        new: dict[int, int] = {}
        for citation in answer["citations"]:
            number = numbers.setdefault(citation["chunk_id"], len(numbers) + 1)
            new[citation["number"]] = number
            citation["number"] = number
        for figure in (*answer["figures"], *answer.get("card", {}).get("figures", ())):
            figure["citation"] = new.get(figure["citation"])
        for finding in answer["unsupported"]:
            finding["numbers"] = [new[n] for n in finding["numbers"] if n in new]
        _renumber(answer, new)
        message["content"] = answer["response"]


def _renumber(answer: Any, new: Mapping[int, int]) -> None:
    """Write new numbers into the text of an answer, and move its marks with it."""
    response = answer["response"]
    pieces = []
    end = 0
    moves: list[tuple[int, int]] = []
    for cited in NUMBERS.finditer(response):
        # A number without a passage must not become that of another's.
        shown = re.sub(r"\d+", lambda one: str(new.get(int(one[0]), "?")), cited[0])
        pieces += [response[end : cited.start()], shown]
        end = cited.end()
        moves.append((end, len(shown) - len(cited[0])))
    answer["response"] = "".join([*pieces, response[end:]])
    for mark in answer.get("marks", ()):
        for name in ("start", "end"):
            mark[name] += sum(by for place, by in moves if place <= mark[name])
