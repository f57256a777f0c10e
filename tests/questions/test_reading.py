"""What questions in many wordings are about: their countries, years and reports, and
which of them are refused.
"""

from typing import Any

import pytest

from chatbot.domain import DocumentRecord, Scope
from chatbot.domain.scope import NamedYears, Values
from chatbot.language.country_names import country_key
from chatbot.questions.reading import read_names
from chatbot.questions.sides import sub_questions
from chatbot.search.subjects import everything_asked, missing_subject, suggest_scope
from tests.data import cases
from tests.questions.reports import MANY, Reports, scope

CASES = cases(__file__)


class Library(Reports):
    """The sample countries in three editions, and reports on no country."""

    def __init__(self) -> None:
        super().__init__(
            *(
                (name, year)
                for name in CASES["countries"]
                for year in (2021, 2023, 2025)
            )
        )
        for name, title in CASES["titles"].items():
            self._records.append(
                DocumentRecord(
                    name, name, title, "s", "c", "ready", "v", {"document_name": name}
                )
            )


LIBRARY = Library()


def years(named: tuple[NamedYears, ...]) -> list[str]:
    return [one.text for one in named]


def read(row: dict[str, Any]) -> dict[str, Any]:
    chosen = scope(**row["chosen"]) if "chosen" in row else Scope()
    reading = read_names(row["question"], LIBRARY, chosen)
    missing = missing_subject(reading, chosen, LIBRARY)
    return {
        "countries": sorted({key for country in reading.about for key in country.keys}),
        "editions": years(reading.editions),
        "figure_years": years(reading.figure_years),
        "refused": missing is not None and missing.everything,
        "document": reading.document.names[0] if reading.document else None,
    }


def test_the_scope_of_every_question() -> None:
    wrong = []
    for row in CASES["questions"]:
        expected = {
            "editions": [],
            "figure_years": [],
            "refused": False,
            "document": None,
        } | {
            name: value
            for name, value in row.items()
            if name not in {"question", "chosen"}
        }
        expected["countries"] = sorted(map(country_key, row["countries"]))
        if (found := read(row)) != expected:
            wrong.append(
                (
                    row["question"],
                    {
                        name: found[name]
                        for name in found
                        if found[name] != expected[name]
                    },
                )
            )
    assert wrong == []


def test_the_title_of_a_report_is_its_scope() -> None:
    reading = read_names(
        "What are the main messages of the Global Financial Stability Report?", LIBRARY
    )
    assert suggest_scope(
        everything_asked(reading, Scope(), LIBRARY), Scope(), LIBRARY
    ) == scope(document_name="gfsr.pdf")


WATER = "Kenya Water Programme: Annual Review 2024"
OTHER_LIBRARY = Reports(("Kenya", 2023), ("Kenya", 2024), ("Mali", 2024))
OTHER_LIBRARY._records += [
    DocumentRecord(name, name, name, "s", "c", "ready", "v", {"document_name": name})
    for name in (WATER, "mali_wells_2024")
]


@pytest.mark.parametrize(
    ("question", "document"),
    [
        (f"How many people were served by the {WATER}?", WATER),
        ("Who was served by the Kenya Water Programme?", WATER),
        ("Who was served by the water programme in Kenya?", None),
        ("What does Kenya: Country Report 2024 say on water?", None),
        ("Is the Kenya Water Programme larger than that of Mali?", None),
        ("What is “mali_wells_2024” about?", "mali_wells_2024"),
        ("What is “mali-wells-2024” about?", "mali_wells_2024"),
    ],
)
def test_a_title_with_a_country_is_a_scope_if_it_tells_more_than_the_country(
    question: str, document: str | None
) -> None:
    reading = read_names(question, OTHER_LIBRARY)
    if document is None:
        assert reading.document is None
        assert reading.about
        return
    assert reading.document is not None
    assert reading.document.names == (document,)
    chosen = suggest_scope(reading, Scope(), OTHER_LIBRARY)
    assert chosen == scope(document_name=document)


def test_a_long_list_is_read_in_linear_time() -> None:
    assert len(read_names("in " + "Mali, " * 600, LIBRARY).about) == 30


@pytest.mark.parametrize(("text", "second"), CASES["second_questions"])
def test_a_second_question_without_a_country_or_a_noun_has_those_of_the_first(
    text: str, second: str
) -> None:
    assert sub_questions(read_names(text, MANY), lambda topic: [topic])[1] == second


def test_parts_are_together_no_longer_than_a_question_may_be() -> None:
    asked = "What do Kenya and Somalia export"
    short = sub_questions(read_names(f"{asked}?", MANY), lambda topic: [topic])
    assert short == ["What do Kenya export?", "What do Somalia export?"]
    text = f"{asked}, {'by sea ' * 300}?"
    assert sub_questions(read_names(text, MANY), lambda topic: [topic]) == [text]


def test_a_group_is_a_scope_where_no_country_is_asked_about() -> None:
    def named(text: str) -> tuple[list[str], list[str]]:
        reading = read_names(text, LIBRARY)
        groups = [name.group.name for name in reading.groups]
        return groups, [name.text for name in reading.about]

    assert named("Who drinks most in South America?") == (["South America"], [])
    assert named("What is the GDP of South Africa?") == ([], ["South Africa"])
    assert named("Is Kenya the richest in East Africa?") == ([], ["Kenya"])
    assert named("Which countries live on imports from Asia?") == ([], [])


def test_a_group_narrows_a_scope_to_its_members_with_reports() -> None:
    reading = read_names("Which country of the Sahel is the youngest?", LIBRARY)
    narrowed = suggest_scope(reading, Scope(), LIBRARY)
    assert narrowed is not None
    countries = narrowed.get("country_name")
    assert isinstance(countries, Values)
    assert set(countries.values) == {"Mali", "Nigeria"}
    assert countries.or_none, "a report without a country may be about the Sahel"
    chosen = Scope.of({"country_name": Values(("Kenya", "Mali"))})
    narrowed = suggest_scope(reading, chosen, LIBRARY)
    assert narrowed == Scope.of({"country_name": Values(("Mali",))})
