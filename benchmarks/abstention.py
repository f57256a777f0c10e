"""Whether a question about what the reports do not have is refused, and no other is.

The product's whole way from question to answer, quoting (no language model), over the
passages of `factbook_scoped_dev`. Run: python -m benchmarks abstention BENCH
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pycountry

from benchmarks.loaded import answer, bench_folder, loaded, question_rows, scope_of
from chatbot.app.evaluation import register_reports
from chatbot.app.services import Services
from chatbot.domain import Answer, Question, Scope
from chatbot.questions.names import country_key

ABSENT = (
    "Germany",
    "France",
    "China",
    "Brazil",
    "Japan",
    "Italy",
    "India",
    "the United States",
    "Ghana",
    "Norway",
)
YEARS = (
    1999,
    2010,
    2015,
    2018,
    2019,
    2020,
    2022,
    2024,
    2026,
    2027,
    2028,
    2030,
    2031,
    2035,
    2040,
)
IN_PASSING = (
    "{bare}, compared with {country}?",
    "Compared with {country}'s figures, {lower}?",
    "{bare}, and is that more than in {country}?",
    "Unlike in {country}, {lower}?",
    "{bare}, given its trade with {country}?",
    "Not counting imports from {country}, {lower}?",
    "{bare} (in {country} it is quite different)?",
    "I was born in {country}. {whole}",
    "{bare}, as opposed to {country}?",
    "As someone from {country} I wonder: {lower}?",
    "{bare} since its dispute with {country}?",
    "{bare}, even if exports to {country} are left out?",
    "While {country} has other figures, {lower}?",
    "{bare}, apart from refugees from {country}?",
    "Relative to {country}, {lower}?",
    "{bare}, including workers who live in {country}?",
    "After the agreement with {country}, {lower}?",
    "{bare}, where the border with {country} is closed?",
    "Besides what {country} reports, {lower}?",
    "{whole} Is it higher than {country}'s?",
    "My colleague in {country} asks: {lower}?",
    "{bare}, just like in {country}?",
    "{bare}, independent of loans by {country}?",
    "For a talk at our embassy in {country}: {lower}?",
    "{bare} next to {country}'s?",
)


def main(bench: Path) -> None:
    with loaded(bench / "factbook_scoped_dev") as (services, data):
        register_reports(services.storage.documents, data.chunks)
        report(services, bench / "factbook_scoped_dev")


def report(services: Services, folder: Path) -> None:
    rows = question_rows(folder)
    known = {
        country_key(str(value))
        for value in services.storage.documents.values("country_name")
    }
    absent = [
        country.name for country in pycountry.countries if country.alpha_3 not in known
    ]
    texts = [row["metadata"]["scoped_text"].rstrip("?") for row in rows]
    countries = [
        (f"{text} in {name}?", name)
        for text, name in zip(texts[:100], absent, strict=False)
    ]
    years = [
        (f"{text} in {year}?", str(year))
        for text, year in zip(texts[100:200], cycle(YEARS), strict=False)
    ]
    lacking("absent country", services, countries)
    lacking("absent year", services, years)
    show(
        "answerable, with its scope",
        services,
        ((r["metadata"]["scoped_text"], scope_of(r)) for r in rows),
    )
    show(
        "answerable, names in the question",
        services,
        ((r["text"], Scope()) for r in rows),
    )
    show(
        "country in passing, with its scope", services, passing(rows, with_names=False)
    )
    show(
        "country in passing, names in the question",
        services,
        passing(rows, with_names=True),
    )


def lacking(name: str, services: Services, cases: Sequence[tuple[str, str]]) -> None:
    """``cases``: questions, each with what the reports do not have."""
    answers = [(text, missing, ask(services, text)) for text, missing in cases]
    refused = sum(not found.answered for _, _, found in answers)
    named = sum(missing in found.response for _, missing, found in answers)
    silent = [
        text
        for text, missing, found in answers
        if found.answered and missing not in found.response
    ]
    print(
        f"{name:44} {len(cases):4} asked {refused:4} refused {named:4} named  "
        f"{silent or ''}"
    )


def passing(
    rows: list[dict[str, Any]], *, with_names: bool
) -> Iterable[tuple[str, Scope]]:
    for number, row in enumerate(rows[::7][:50]):
        whole = row["metadata"]["scoped_text"]
        filters = row["metadata"]["filters"]
        bare = whole.rstrip("?")
        lower = bare[0].lower() + bare[1:]
        wording = IN_PASSING[number % len(IN_PASSING)]
        text = wording.format(
            country=ABSENT[number % len(ABSENT)], whole=whole, bare=bare, lower=lower
        )
        names = f"{filters['country_name']}, {filters['year']} report: "
        yield (names + text, Scope()) if with_names else (text, scope_of(row))


def show(name: str, services: Services, cases: Iterable[tuple[str, Scope]]) -> None:
    asked = [(text, ask(services, text, chosen)) for text, chosen in cases]
    refused = [text for text, found in asked if not found.answered]
    noted = sum(
        found.answered and "There is no report" in found.response for _, found in asked
    )
    print(
        f"{name:44} {len(asked):4} asked {len(refused):4} refused {noted:4} with a "
        f"note  {refused or ''}"
    )


def ask(services: Services, text: str, chosen: Scope = Scope()) -> Answer:  # noqa: B008  # frozen and empty
    return answer(services, Question(text, chosen, 5, "hybrid", "direct", cache=False))


if __name__ == "__main__":
    main(bench_folder(__doc__))
