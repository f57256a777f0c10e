"""What of false clauses the citation check finds, by kind, and how many true ones in
other words it marks.

The false ones: those of a file as `quality_dev/citations.json`, and sentences of the
sample reports, altered by script. The true ones: sentences of both, rounded, converted,
reckoned with, in another order, with other names, translated. Run: python -m benchmarks
citation_clauses [FILE] [--show KIND]
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchmarks.model_answers import glossary
from chatbot.checking.citations import check
from chatbot.domain import Chunk, Context, Passage, SearchHit
from chatbot.language import sentences
from chatbot.language.reported_figures import stated

REPORTS = Path(__file__).parent.parent / "sample_data" / "country_reports"
FROM_REPORTS = 60
LISTS = 10
CHARACTERS = 3000
SYNONYMS = {
    "increased": "went up",
    "decreased": "went down",
    "compared to": "against",
    "percent": "per cent",
    "%": " per cent",
    "approximately": "about",
    "largest": "biggest",
    "accounted for": "made up",
    "in the absence of": "without",
    "exceeded": "surpassed",
    "rose": "climbed",
    "fell": "dropped",
    "estimated": "put",
    "began": "started",
    "people": "persons",
    "nearly": "almost",
    "government": "authorities",
    "primarily": "mainly",
    "declined": "fell",
}
PEOPLE = {
    "Vietnam": "Viet Nam",
    "United States": "US",
    "Kenya": "the Kenyan state",
    "Iraq's": "The Iraqi",
    "Egypt's": "The Egyptian",
}
ANTONYMS = {
    "increased": "decreased",
    "increase": "decrease",
    "rose": "fell",
    "growth": "contraction",
    "declined": "rose",
    "fell": "rose",
    "decline": "rise",
    "more than": "less than",
    "over": "under",
    "up from": "down from",
    "higher": "lower",
    "largest": "smallest",
    "highest": "lowest",
    "gained": "lost",
    "surplus": "deficit",
    "expanded": "contracted",
    "improved": "worsened",
    "decreased": "increased",
    "reduced": "raised",
    "below": "above",
    "exports": "imports",
}
SPEAKERS = (
    "According to the International Monetary Fund, {}",
    "UNICEF reported that {}",
    "As stated by the Asian Development Bank, {}",
)
FOREIGN = {
    "Population growth rate": (
        "La población crece un {} al año ({})",
        "La population croît de {} par an ({})",
        "Die Bevölkerung wächst um {} im Jahr ({})",
        "A população cresce {} ao ano ({})",
    ),
    "Unemployment rate": (
        "La tasa de desempleo es del {} ({})",
        "Le taux de chômage est de {} ({})",
        "Die Arbeitslosenquote beträgt {} ({})",
        "A taxa de desemprego é de {} ({})",
    ),
    "Inflation rate (consumer prices)": (
        "La inflación fue del {} ({})",
        "L’inflation était de {} ({})",
        "Die Inflation lag bei {} ({})",
        "A inflação foi de {} ({})",
    ),
}
WORDED = {
    "Population growth rate": (
        "In {1}, the number of inhabitants was growing by {0} a year",
        "The population was increasing at {0} ({1} est.)",
    ),
    "Inflation rate (consumer prices)": (
        "Prices went up by {0} in {1}",
        "Consumer price inflation: {0} ({1})",
    ),
    "Real GDP growth rate": (
        "The economy grew {0} in {1}",
        "In {1} growth of GDP reached {0}",
    ),
    "Unemployment rate": (
        "{0} of the labour force had no job in {1}",
        "Joblessness was at {0} in {1}",
    ),
}
NUMBER = re.compile(r"(?<![\w.,$€])\d+\.\d+(?![\d,])")


def context(passage: dict[str, Any]) -> Context:
    meta: dict[str, str | int] = {
        name: passage[name] for name in ("country_name", "year") if name in passage
    }
    title, _, section = passage["title"].partition(" - ")
    text = passage["text"]
    chunk = Chunk(
        Chunk.make_id("doc", "v1", 0),
        "doc",
        "doc",
        title,
        text,
        section=section,
        ordinal=0,
        metadata=meta,
    )
    return Context((Passage(1, SearchHit(chunk, 1), text),))


def reports() -> Iterator[dict[str, Any]]:
    """The parts of the sample reports as passages: a heading of each, with as much of
    what follows as a chunk has.
    """
    for path in sorted(REPORTS.glob("*.md")):
        title = path.stem.rpartition("-")[0].replace("-", " ").title()
        for part in re.split(
            r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )[1:]:
            name, _, body = part.partition("\n")
            text = re.sub(
                r"^### (.+)\n",
                r"\1\n",
                re.sub(r"\n{2,}", "\n", body).strip(),
                flags=re.MULTILINE,
            )
            for at in range(0, len(text), CHARACTERS):
                start = text.rfind("\n", 0, at + 1) + 1
                yield {
                    "title": f"{title}: Country Report {path.stem[-4:]} - {name}",
                    "text": text[start : start + CHARACTERS],
                    "country_name": title,
                    "year": int(path.stem[-4:]),
                }


def reworded(right: str) -> Iterator[tuple[str, str]]:  # a list of cases
    """True sentences, by kind, of one that stands in its passage."""
    if number := NUMBER.search(right):
        value = Decimal(number[0])
        short = f"{value:.0f}" if value >= 20 else f"{value:.1f}"
        if len(short) > 2 or value > 20:
            head, tail = right[: number.start()], right[number.end() :]
            yield "rounded", f"{head}{short}{tail}"
            yield (
                "rounded, said",
                f"{head.removesuffix('about ')}an estimated {short}{tail}",
            )
            yield (
                "rounded, or so",
                re.sub(
                    rf"{re.escape(short)}(?:%| percent| million| billion)?",
                    r"\g<0> or so",
                    f"{head}{short}{tail}",
                    count=1,
                ),
            )
    for pattern, factor, unit in (
        (r"(\d[\d.]*)(?:%| percent)", 10, " per 1,000"),
        (r"(\d[\d.]*) million", 1000, " thousand"),
        (r"(\d[\d.]*) billion", 1000, " million"),
        (r"(\d[\d.]*) percent", 1, "%"),
    ):
        if (found := re.search(pattern, right)) and not re.search(
            r"(?: to |-)$", right[: found.start()]
        ):
            value = Decimal(found[1]) * factor
            yield (
                "converted",
                right.replace(found[0], f"{value.normalize():f}{unit}", 1),
            )
    if found := re.search(
        r"(?<![\w.])(\d[\d,.]*\d) (?:sq km|square kilomet(?:er|re)s)", right
    ):
        yield (
            "converted",
            right.replace(
                found[0], f"{float(found[1].replace(',', '')) * 0.386102:,.0f} sq mi", 1
            ),
        )
    shares = re.findall(r"(\d+(?:\.\d+)?)(?:%| percent)", right)
    if len(shares) >= 2:
        one, other = map(Decimal, shares[:2])
        yield "reckoned", f"{right}, a gap of {abs(one - other)} percentage points"
        yield "reckoned", f"{one}% and {other}% differ by {abs(one - other)} points"
        yield "reckoned", f"Together, {one}% and {other}% make {one + other}%"
    for words, instead in {**SYNONYMS, **PEOPLE}.items():
        if re.search(rf"(?<!\w){re.escape(words)}(?!\w)", right):
            yield (
                "synonym",
                re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", instead, right, count=1),
            )
    if match := re.fullmatch(
        r"(In (?:late |early |mid-)?(?:\w+ )?\d{4}),? (.+)", right
    ):
        yield "order", f"{match[2][0].upper()}{match[2][1:]} {match[1].lower()}"
    if match := re.fullmatch(r"(.{30,}?) (in \d{4}), (.+)", right):
        yield (
            "order",
            f"{match[2].capitalize()}, {match[1][0].lower()}{match[1][1:]}, {match[3]}",
        )
    if match := re.fullmatch(
        r"(.{40,}?), (?:which|with|as|while|although|primarily|including) .+", right
    ):
        yield "shortened", match[1]


def of_lists(passage: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """True sentences of the figures that a report lists."""
    facts: dict[str, list[tuple[str, int]]] = {}
    for figure in stated(passage["text"]):
        if figure.year and not figure.label and "%" in figure.text:
            facts.setdefault(figure.heading, []).append(
                (figure.text.split("%")[0] + "%", figure.year)
            )
    for heading, found in facts.items():
        for text, year in found[:2]:
            for words in WORDED.get(heading, ()):
                yield "worded", words.format(text, year)
            for words in FOREIGN.get(heading, ()):
                yield (
                    "translated",
                    words.format(text.replace(".", ",").replace("%", " %"), year),
                )
        if len(found) > 1 and heading in WORDED:
            (one, new), (other, old) = found[:2]
            gap = Decimal(one[:-1]) - Decimal(other[:-1])
            verb = "rose" if gap > 0 else "fell"
            yield (
                "reckoned",
                (
                    f"From {old} to {new} the rate {verb} by {abs(gap)} percentage "
                    f"points, to {one}"
                ),
            )
            yield (
                "compared",
                (
                    f"The rate was {one} in {new}, {'up' if gap > 0 else 'down'} from "
                    f"{other} in {old}"
                ),
            )
            yield (
                "compared, false",
                (
                    f"The rate was {one} in {new}, {'down' if gap > 0 else 'up'} from "
                    f"{other} in {old}"
                ),
            )
            yield "year of the next line", f"{heading} was {one} in {old}"


def altered(  # a list of cases
    right: str, passage: dict[str, Any], draw: random.Random
) -> Iterator[tuple[str, str]]:
    """False sentences of one that stands in its passage."""
    text = passage["text"]
    years = sorted(set(re.findall(r"\b(?:19|20)\d\d\b", text)))
    own = re.findall(r"\b(?:19|20)\d\d\b", right)
    numbers = [
        n for n in re.findall(r"(?<![\w.,])\d[\d,.]*\d|\b\d\b", right) if n not in own
    ]
    if numbers:
        number = draw.choice(numbers)
        digit = draw.choice([d for d in "123456789" if d != number[0]])
        if f"{digit}{number[1:]}" not in text:
            yield "figure", right.replace(number, f"{digit}{number[1:]}", 1)
    if len(set(numbers)) > 1:
        one, other = sorted(set(numbers), key=numbers.index)[:2]
        yield (
            "swapped_figures",
            right.replace(one, "@", 1).replace(other, one, 1).replace("@", other, 1),
        )
    for unit, wrong in (
        ("%", " per thousand"),
        (" percent", " per mille"),
        ("$", "€"),
        (" years", " months"),
        (" people", " households"),
        (" km", " mi"),
    ):
        if re.search(rf"\d{re.escape(unit)}|{re.escape(unit)}\d", right):
            yield "unit", right.replace(unit, wrong, 1)
            break
    if own and (others := [year for year in years if year not in right]):
        yield "year_of_same_passage", right.replace(own[0], draw.choice(others), 1)
    names = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?= [a-z])", right)
    if names:
        wrong = draw.choice(
            [
                n
                for n in ("Portugal", "Bolivia", "Thailand", "Kensington", "Rotterdam")
                if n not in text
            ]
        )
        yield "name_not_in_passage", right.replace(names[0], wrong, 1)
        if others := [
            n for n in re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", text) if n not in right
        ]:
            yield (
                "name_of_same_passage",
                right.replace(names[0], draw.choice(others), 1),
            )
    if match := re.search(
        r" (?:is|was|were|are|has|had|have|will|can|could) (?!not|no )", right
    ):
        yield "negation", f"{right[: match.end()]}not {right[match.end() :]}"
    for words, other in ANTONYMS.items():
        if re.search(rf"(?<!\w){words}(?!\w)", right):
            yield "direction", re.sub(rf"(?<!\w){words}(?!\w)", other, right, count=1)
            break
    yield "attribution", draw.choice(SPEAKERS).format(right[0].lower() + right[1:])


def prose(passage: dict[str, Any]) -> list[str]:
    return [
        re.sub(r"^[A-Z][\w ]+: ", "", s).rstrip(".")
        for s in sentences(passage["text"])
        if len(s) > 70
        and s.endswith(".")
        and re.search(r"\d", s)
        and len(s) < 300
        and "**" not in s
        and "note:" not in s
    ]


def all_cases(
    file: Path | None, draw: random.Random
) -> Iterator[tuple[str, bool, str, dict[str, Any]]]:
    """Kind, whether it is false, the sentence, the passage."""
    for row in json.loads(file.read_text(encoding="utf-8")) if file else ():
        yield "right", False, row["right"], row["passage"]
        yield from (
            (
                f"{k} (file)",
                True,
                t,
                row["other_passage" if k == "wrong_passage" else "passage"],
            )
            for k, t in row["altered"].items()
        )
        yield from (
            (kind, False, text, row["passage"]) for kind, text in reworded(row["right"])
        )
    found = [(right, passage) for passage in reports() for right in prose(passage)]
    for right, passage in draw.sample(found, min(FROM_REPORTS, len(found))):
        yield "right", False, right, passage
        yield from (
            (kind, True, text, passage) for kind, text in altered(right, passage, draw)
        )
        yield from ((kind, False, text, passage) for kind, text in reworded(right))
    listing = [
        passage
        for passage in reports()
        if any(f"\n{heading}\n" in passage["text"] for heading in WORDED)
    ]
    for passage in draw.sample(listing, LISTS):
        yield from (
            (kind, "false" in kind or "next" in kind, text, passage)
            for kind, text in of_lists(passage)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="citations.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the mistakes")
    arguments = parser.parse_args()
    made, marked = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for kind, false, text, passage in all_cases(
        arguments.file, random.Random(arguments.seed)
    ):
        unsupported = check(
            f"{text} [1].", context(passage), None, glossary()
        ).unsupported
        made[false, kind] += 1
        marked[false, kind] += bool(unsupported)
        if arguments.show and bool(unsupported) != false:
            print(f"{kind}: {text}\n    {unsupported}")
    for false, kind in sorted(made, reverse=True):
        found, all_of = marked[false, kind], made[false, kind]
        print(
            f"{'false' if false else 'true':<6}{kind:<30}{found:>4} of {all_of:>4} "
            f"marked {found / all_of:6.1%}"
        )
    true = [key for key in made if not key[0]]
    print(f"true, all: {sum(marked[k] for k in true)} of {sum(made[k] for k in true)}")


if __name__ == "__main__":
    main()
