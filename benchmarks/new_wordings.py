"""What questions in wordings that no rule was made for get, by kind:
`new_wordings.json`, answered by hand.

`--journalist`: 40 more instead, 20 of which the reports do not answer
(`journalist_questions.json`). `--careless`: 64 with misspelt words, and 24 for what
happened in a year (`careless_questions.json`).

`says` has to stand in the answer to the last turn, each figure on its own; `first` is
the country of the first citation, and `headings` are those that it may have. A question
with an empty `says` has no answer in the reports: it has to be refused, or get the
closest passages only. Run: python -m benchmarks new_wordings [http://127.0.0.1:8000]
[--journalist | --careless] [--misses] [--every 1] (a server with the sample reports, no
key; without an address one is started)
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.recorded import server

ROOT = Path(__file__).parents[1]
SETS = {
    "journalist": "journalist_questions.json",
    "careless": "careless_questions.json",
    None: "new_wordings.json",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", nargs="?", help="of a server")
    for name in filter(None, SETS):
        parser.add_argument(f"--{name}", action="store_const", dest="set", const=name)
    parser.add_argument(
        "--misses", action="store_true", help="show the questions that went wrong"
    )
    parser.add_argument("--every", type=int, default=1, help="ask every Nth question")
    chosen, results = parser.parse_args(), defaultdict[str, list[bool]](list)
    questions = json.loads(
        Path(__file__).with_name(SETS[chosen.set]).read_text("utf-8")
    )[:: chosen.every]
    with (
        nullcontext(chosen.url)
        if chosen.url
        else server(ROOT, {"EMBEDDING_PROVIDER": "minilm"}) as url
    ):
        for question in questions:
            results[question["kind"]].append(
                is_right(question, last_answer(url.rstrip("/"), question["turns"]))
            )
            if chosen.misses and not results[question["kind"]][-1]:
                print("missed:", " / ".join(question["turns"]))
    for kind, right in results.items():
        print(f"{kind}: {sum(right) / len(right):.3f} ({sum(right)}/{len(right)})")
    right = [one for of_kind in results.values() for one in of_kind]
    print(f"all: {sum(right) / len(right):.3f} ({sum(right)}/{len(right)})")


def last_answer(base: str, turns: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for turn in turns:
        body = {"query": turn, "cache": False} | (
            {"conversation_id": answer["conversation_id"]} if answer else {}
        )
        request = Request(
            f"{base}/query",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=60) as reply:
            answer = json.load(reply)
    return answer


def is_right(question: dict[str, Any], answer: dict[str, Any]) -> bool:
    says = question.get("says", ())
    if says == []:
        return not answer["answered"] or answer["trace"]["closest_only"]
    text = re.sub(r"\s+", " ", answer["response"])
    said = all(
        re.search(rf"(?<![\d.,]){re.escape(one)}(?![\d]|[.,]\d)", text) for one in says
    )
    first = (answer["citations"] or [{"country_name": None, "section": ""}])[0]
    heading = (first["section"] or "").rpartition(" › ")[2]
    is_under = "headings" not in question or heading in question["headings"]
    return (
        said
        and is_under
        and question.get("first", first["country_name"]) == first["country_name"]
    )


if __name__ == "__main__":
    main()
