"""A cell of a table is a sentence, then its row; a row is quoted without its table."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatbot.app.services import build
from chatbot.domain import Answer
from chatbot.domain.figures import GlossaryEntry
from chatbot.library.sources import Source
from tests.answering.modes.conftest import MALI_2021, answers_of, question
from tests.asking import on_the_way
from tests.conftest import KENYA_2023, ingest_file, small_settings

MILLS = """# Mills of the valley

## Output

Table 1: Flour (tonnes)

| Mill | 2019 | 2020 |
|---|---|---|
| Alder | 120 | 130 |
| North Birch | 240 | 250 |
| Birch | 70 | 80 |
| Total | 430 | 460 |

## Codes of faults

| Code | Meaning |
|---|---|
| E29 | The belt has slipped off its wheel |
| E30 | The hopper is empty |
| E31 | The millstone is too hot |
"""
VISITS = (
    "Clinic,District,2019,2020\nAmber Hill,Torva,128,93\nBirchwood,Torva,80,61\n"
    "Clearwater,Senna,152,118\nTotal,,360,272\n"
)
POWER = """<h1>Power of Quarra</h1><table><caption>Table 4. Plants by kind</caption>
<tr><th rowspan=2>Source</th><th colspan=2>Installed capacity (MW)</th>
<th colspan=2>Staff</th></tr>
<tr><th>Planned</th><th>Built</th><th>Planned</th><th>Built</th></tr>
<tr><td>Hydro</td><td>640</td><td>655</td><td>210</td><td>195</td></tr>
<tr><td>Wind</td><td>180</td><td>420</td><td>40</td><td>47</td></tr></table>"""
SCHOOLS = (
    "county_number,geo_code,name,public_schools,teachers\n"
    "001,X-C001,Kilo,96,1329\n002,X-C002,Lima,415,3178\n"
)

FEVER = """# Fever in the lowlands

Table 2. Cases of fever by district and month (2023)

| Region | AUG* | SEP* | OCT | TOTAL |
|---|---|---|---|---|
| Penda District | 4 | 8 | 1 | 13 |
| Orla District | 12 | 17 | 9 | 38 |
| Quist District | 3 | 5 | 6 | 14 |

## Rain in the lowlands

| Year | Rain (mm) |
|---|---|
| 2021 | 610 |
| 2022 | 480 |
| 2023 | 555 |
"""
GRANTS = "Month,Grants,Families\n2024-03,30,7\n2024-04,40,9\n2024-05,50,11\n"
WELLS = "Village,Year,Indicator,Value\nTolo,2024,Wells dug,{}\nMaru,2024,Wells dug,7\n"
STAFF = """# Staff of the hospitals

| | St Ann | Lowfield | Bridge Road |
|---|---|---|---|
| Answers received | 90 | 61 | 39 |
| Feel tired (%) | 31 | 63 | 52 |
"""
VOTES = """<h1>Votes on the bridge</h1><table>
<tr><th rowspan=2>Island</th><th colspan=2>Yes</th><th colspan=2>No</th></tr>
<tr><th>number</th><th>%</th><th>number</th><th>%</th></tr>
<tr><td>Orsa</td><td>300</td><td>75%</td><td>100</td><td>25%</td></tr>
<tr><td>South Orsa</td><td>90</td><td>90%</td><td>10</td><td>10%</td></tr>
<tr><td>Tolk</td><td>200</td><td>40%</td><td>300</td><td>60%</td></tr>
<tr><td>Archipelago</td><td>590</td><td>59%</td><td>410</td><td>41%</td></tr>
</table>"""
PUPILS = """# Pupils of the coast

| Zone | Town | Enrolment |
|---|---|---|
| Bay | Pier | 40 |
| Bay | Upper Salt | 90 |
| Bay | Total Bay | 130 |
| Cape | Lower Salt | 70 |
| Cape | Dock | 20 |
| Cape | Total Cape | 90 |
"""
HABITS = (
    "age,respondents,tea-use\n12,2798,3.9\n15,2956,29.2\n"
    "22-23,4707,84.2\n65+,2448,49.3\n"
)
HOUSEHOLDS = "Country,Month,Households 2003,Households reached\n" + "".join(
    f"Nepal,2024-{month:02},2003,{500 + month}\n" for month in range(1, 9)
)
WEEKS = "District,Week,Measles\n" + "".join(
    f"{district},{week},{base + week}\n"
    for district, base in (("Sousse", 300), ("Gafsa", 700))
    for week in range(1, 15)
)
TENTS = "Camp,Jan-24,Feb-24,Mar-24\nDadu,41,52,63\nLarka,44,55,66\n"
MEALS = "Quarter,Meals\nQ3 2023,31\nQ4 2023,42\nQ1 2024,53\nQ2 2024,64\n"


@pytest.fixture(scope="module")
def ask(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], Answer]]:
    """Answers from these tables and two reports on countries."""
    folder = tmp_path_factory.mktemp("tables")
    texts = {
        "mills.md": MILLS,
        "schools.csv": SCHOOLS,
        "clinic_visits.csv": VISITS,
        "power.html": POWER,
        "fever.md": FEVER,
        "grants.csv": GRANTS,
        "wells_a.csv": WELLS.format(12),
        "wells_b.csv": WELLS.format(14),
        "staff.md": STAFF,
        "votes.html": VOTES,
        "pupils.md": PUPILS,
        "habits.csv": HABITS,
        "nepal-households-2024.csv": HOUSEHOLDS,
        "measles.csv": WEEKS,
        "tents.csv": TENTS,
        "meals.csv": MEALS,
    }
    reports = {"kenya": (KENYA_2023, 2023), "mali": (MALI_2021, 2021)}
    settings = small_settings(folder / "data", chat_model="extractive", cache_seconds=0)
    with build(settings) as keyless:
        keyless.prepare()
        for name, text in texts.items():
            path = folder / name
            path.write_text(text, encoding="utf-8")
            keyless.ingesting.service.ingest(Source(path, name))
        for name, (text, year) in reports.items():
            path = folder / f"{name}.md"
            path.write_text(text, encoding="utf-8")
            about = {"country_name": name.title(), "year": year}
            ingest_file(keyless, path, name, **about, type="country_report")
        yield answers_of(keyless.everything.flow)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "How much flour did Alder make in 2019?",
            "Alder, flour: 120 tonnes (2019) [1].",
        ),
        ("How much flour did Alder make?", "Alder, flour: 130 tonnes (2020) [1]."),
        ("Flour of North Birch in 2020?", "North Birch, flour: 250 tonnes (2020) [1]."),
        ("How many teachers are in Lima?", "Lima, teachers: 3178 [1]."),
        ("How many teachers work in Lima?", "Lima, teachers: 3178 [1]."),
        (
            "Cases of fever in Orla in September 2023",
            "Orla District, cases of fever by district and month, SEP: 17 (2023) [1].",
        ),
        ("How many grants in April 2024?", "2024-04, grants: 40 (2024) [1]."),
        # The years of the rows are those of their months, not values like years.
        (
            "How many households were reached in Nepal in March 2024?",
            "Nepal, households reached, 2024-03: 503 (2024) [1].",
        ),
        ("Measles in Gafsa in week 7?", "Gafsa, measles, Week 7: 707 [1]."),
        ("Tents in Larka in February 2024?", "Larka, Feb-24: 55 (2024) [1]."),
        (
            "How many meals in the first quarter of 2024?",
            "Q1 2024, meals: 53 (2024) [1].",
        ),
        ("How many visits did Clearwater have in 2020?", "Clearwater: 118 (2020) [1]."),
        (
            "Installed capacity of wind in Quarra?",
            "Wind, installed capacity, Planned: 180 MW; Installed capacity, Built: 420 "
            "MW [1].",
        ),
        (
            "What is the built capacity of hydro?",
            "Hydro, installed capacity, Built: 655 MW [1].",
        ),
    ],
)
def test_a_cell_is_a_sentence_and_its_row(
    ask: Callable[[str], Answer], query: str, sentence: str
) -> None:
    first, _, row = ask(query).response.partition("\n\n")
    assert first == sentence
    assert len(first) + len(row) < 400
    assert sentence.partition(":")[0].partition(",")[0] in row


@pytest.mark.parametrize(
    "query",
    [
        "How much flour did Alder make in 2018?",
        "Grants in April 2023?",
        "How much flour did Alder sell to bakers in 2019?",
        "How many visits did Torva have in 2019?",
        "Who is Kilo's teacher?",
    ],
)
def test_no_cell_is_guessed(ask: Callable[[str], Answer], query: str) -> None:
    begins = (
        "2024",
        "Alder, flour: ",
        "Birch, flour: ",
        "clinic",
        "Kilo",
        "Amber Hill",
    )
    assert not ask(query).response.startswith(begins)


def test_what_other_documents_give_for_a_cell_is_named(
    ask: Callable[[str], Answer],
) -> None:
    given = ask("How many wells were dug in Tolo?")
    assert given.response.startswith(
        "Tolo, wells dug: 12 (2024) [1]. Other reports give 14 (2024) [2].\n\n"
    )
    assert len({cited.hit.chunk.document_id for cited in given.citations}) == 2
    assert given.card is not None
    assert [figure.text for figure in given.card.figures] == ["12"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "How many households were reached in Nepal in December 2024?",
            "” has nothing for December 2024. The nearest: Nepal, households reached, "
            "2024-08: 508 ",
        ),
        (
            "How many households were reached in Nepal in March 2023?",
            "” has nothing for March 2023. The nearest: Nepal, households reached, "
            "2024-03: 503 ",
        ),
        (
            "Measles in Sousse in week 40?",
            "” has nothing for week 40. The nearest: Sousse, measles, Week 14: 314 ",
        ),
    ],
)
def test_a_period_that_a_sheet_lacks_is_said(
    ask: Callable[[str], Answer], query: str, said: str
) -> None:
    given = ask(query)
    assert said in given.response
    assert not given.answered


def test_the_nearest_month_stands_in_for_none_without_a_word(
    ask: Callable[[str], Answer],
) -> None:
    given = ask("How many grants in September 2024?")
    assert given.trace.unused == ("September 2024",)
    assert "” has nothing for September 2024. The nearest: 2024-05, " in given.response
    assert not given.answered
    assert given.card is None


def test_without_a_row_the_total_is_meant(ask: Callable[[str], Answer]) -> None:
    response = ask("How much flour in 2019?").response
    assert response.startswith("Flour: 430 tonnes (2019) [1].")


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "Did Amber Hill or Birchwood have more visits in 2019?",
            "clinic_visits: higher in Amber Hill, 128 (2019) [1], than in Birchwood, ",
        ),
        (
            "Visits at Clearwater over the years",
            "Clearwater, clinic_visits: fell from 152 (2019) [1] to 118 (2020)",
        ),
        (
            "Compare the enrolment of Lower Salt and Upper Salt",
            "Enrolment: higher in Upper Salt, 90 [1], than in Lower Salt, 70 [1].",
        ),
    ],
)
def test_rows_are_compared_and_followed(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    assert ask(query).response.startswith(beginning)


def test_a_row_is_quoted_without_its_table(ask: Callable[[str], Answer]) -> None:
    response = ask("E30").response
    assert "The hopper is empty" in response
    assert "Codes of faults" in response
    assert "millstone" not in response


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        (
            "What has the highest flour in 2019?",
            "Highest Flour: North Birch, 240 tonnes (2019) [1]. Of 3 rows",
        ),
        (
            "Flour, lowest first, in 2020?",
            "Lowest Flour: Birch, 80 tonnes (2020) [1]. Of 3 rows",
        ),
        (
            "Which clinic had the fewest visits in 2020?",
            "Lowest clinic_visits: Birchwood, 61 (2020) [1]. Of 3 rows",
        ),
        (
            "In which year was the rain in the lowlands lowest?",
            "Lowest Rain: 2022, 480 mm (2022) [1]. Of 3 rows",
        ),
        (
            "Which hospital has the lowest share of tired staff?",
            "Lowest Feel tired (%): St Ann, 31 [1]. Of 3 rows",
        ),
        # Totals of groups are no towns, and towns no zones.
        ("Rank the towns by enrolment", "Highest Enrolment: Upper Salt, 90 [1]. Of 4"),
        ("Rank the zones by enrolment", "Highest Enrolment: Bay, 130 [1]. Of 2 rows"),
        # The archipelago is the sum of its islands.
        (
            "Which island has the highest number of Yes votes?",
            "Highest Yes: Orsa, 300 [1]. Of 3 rows",
        ),
        (
            "Which island has the highest percentage of Yes votes?",
            "Highest Yes: South Orsa, 90% [1]. Of 4 rows",
        ),
        (
            "Which age has the highest tea use?",
            "Highest tea-use: 22-23, 84.2 [1]. Of 4 rows",
        ),
    ],
)
def test_rows_of_a_table_are_ranked_beside_countries(
    ask: Callable[[str], Answer], query: str, beginning: str
) -> None:
    assert ask(query).response.startswith(beginning)


def test_a_comparison_and_a_figure_say_what_else_their_word_means(
    tmp_path: Path,
) -> None:
    output = "# {0}\n\n## Real GDP\n\n${1} billion (2024 est.)\n\n"
    output += "## GDP (official exchange rate)\n\n${2} billion (2024 est.)\n"
    entries = [
        GlossaryEntry("output", "", ("GDP",), "Real GDP"),
        GlossaryEntry(
            "output in dollars", "", ("GDP",), "GDP (official exchange rate)"
        ),
    ]
    settings = small_settings(tmp_path / "data", chat_model="extractive")
    with build(settings) as keyless:
        keyless.storage.glossary.put("", entries)
        for name, real, official in (("Kenya", 30, 12), ("Mali", 6, 2)):
            path = tmp_path / f"{name}.md"
            path.write_text(output.format(name, real, official), encoding="utf-8")
            ingest_file(keyless, path, name, country_name=name, year=2025)
        asked = question("Compare the GDP of Kenya and Mali")
        response = on_the_way(keyless.everything.flow, asked)[-1].answer.response
        single = on_the_way(
            keyless.everything.flow, question("What is the GDP of Kenya?")
        )[-1].answer
    assert "| Kenya | Mali |" in response
    other = (
        "real GDP" if "| GDP (official" in response else "GDP (official exchange rate)"
    )
    assert f"\n\n“GDP” can also mean {other}: Kenya, $" in response
    assert response.endswith(" billion (2024 est.) [4].")
    stated, also = single.response.split("\n\n")
    assert ("real GDP" in stated) != ("real GDP" in also)
    assert ("official" in stated) != ("official" in also)
    assert also.startswith("“GDP” can also mean ")
    assert also.endswith(" billion (2024 est.) [2].")
    assert single.card is not None
