"""What questions in wordings that no rule was made for get, by kind: `new_wordings.json`, answered by hand.

`--journalist`: 40 more instead, 20 of which the reports do not answer (`journalist_questions.json`).

`says` has to stand in the answer to the last turn, each figure on its own; `first` is the country of the first
citation.
A question without `says` has no answer in the reports: it has to be refused, or get the closest passages only.
Run: python -m benchmarks new_wordings http://127.0.0.1:8000 [--journalist] [--misses]
(a server with the sample reports, no key)
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

QUESTIONS, JOURNALIST = map(Path(__file__).with_name, ("new_wordings.json", "journalist_questions.json"))


def main() -> None:
    base, results = sys.argv[1].rstrip("/"), defaultdict[str, list[bool]](list)
    questions = JOURNALIST if "--journalist" in sys.argv else QUESTIONS
    for question in json.loads(questions.read_text("utf-8")):
        results[question["kind"]].append(is_right(question, last_answer(base, question["turns"])))
        if "--misses" in sys.argv and not results[question["kind"]][-1]:
            print("missed:", " / ".join(question["turns"]))
    for kind, right in results.items():
        print(f"{kind}: {sum(right) / len(right):.3f} ({sum(right)}/{len(right)})")
    right = [one for of_kind in results.values() for one in of_kind]
    print(f"all: {sum(right) / len(right):.3f} ({sum(right)}/{len(right)})")


def last_answer(base: str, turns: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for turn in turns:
        body = {"query": turn, "cache": False} | ({"conversation_id": answer["conversation_id"]} if answer else {})
        request = Request(f"{base}/query", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as reply:
            answer = json.load(reply)
    return answer


def is_right(question: dict[str, Any], answer: dict[str, Any]) -> bool:
    if not question["says"]:
        return not answer["answered"] or answer["trace"]["closest_only"]
    text = re.sub(r"\s+", " ", answer["response"])
    said = all(re.search(rf"(?<![\d.,]){re.escape(one)}(?![\d]|[.,]\d)", text) for one in question["says"])
    first = answer["citations"][0]["country_name"] if answer["citations"] else None
    return said and question.get("first", first) == first


if __name__ == "__main__":
    main()
