"""Countries in a text: names, aliases, codes, demonyms, and what only looks like them; years as editions or dates."""

from __future__ import annotations

import re
from pathlib import Path

import pycountry
import pytest

from chatbot.domain import Range, Values
from chatbot.language.countries import country_code, usual_name
from chatbot.questions.names import country_key, demonyms, find_countries, find_years

REPORTS = Path(__file__).parents[2] / "sample_data" / "country_reports"


def found(text: str, *also: str) -> list[tuple[str, str]]:
    return [(country.keys[0], country.text) for country in find_countries(text, also)]


@pytest.mark.parametrize("country", list(pycountry.countries), ids=lambda country: country.alpha_3)
def test_every_name_of_iso_3166_is_found_whole(country) -> None:
    (named,) = find_countries(f"Which groups operate there in {country.name}?")
    assert (named.text, country.alpha_3 in named.keys) == (country.name, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kenya's GDP", [("KEN", "Kenya")]),
        ("the gdp of kenya", [("KEN", "kenya")]),
        ("Côte d’Ivoire's cocoa", [("CIV", "Côte d’Ivoire")]),
        ("Guinea-Bissau, Guinea", [("GNB", "Guinea-Bissau"), ("GIN", "Guinea")]),
        ("Papua New Guinea", [("PNG", "Papua New Guinea")]),
        ("South Sudan vs Sudan", [("SSD", "South Sudan"), ("SDN", "Sudan")]),
        ("the Democratic Republic of the Congo", [("COD", "Democratic Republic of the Congo")]),
        ("drc and the DRC", [("COD", "drc"), ("COD", "DRC")]),
        ("the U.S. and the US", [("USA", "U.S."), ("USA", "US")]),
        ("GDP in KE and UGA", [("KEN", "KE"), ("UGA", "UGA")]),
        ("Bosnia & Herzegovina", [("BIH", "Bosnia & Herzegovina")]),
        ("Chad? Turkey!", [("TCD", "Chad"), ("TUR", "Turkey")]),
    ],
)  # fmt: skip
def test_names_aliases_and_codes(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "tell us about it", "roast turkey", "a chad", "in IT and IN general", "CAN it", "WHAT IS IN IT", "AI and TV",
        "the Indian Ocean", "New Mexico", "the South China Sea", "the Niger Delta", "guinea pig", "Latin American",
        "a Malinois", "the Georgics",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_country(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("población del Perú", [("PER", "Perú")]), ("le chômage au Perou", [("PER", "Perou")]),
        ("Inflation in Äthiopien und Ägypten", [("ETH", "Äthiopien"), ("EGY", "Ägypten")]),
        ("a população do Quênia", [("KEN", "Quênia")]), ("population of Libanon", [("LBN", "Libanon")]),
        ("كم عدد سكان مصر؟", [("EGY", "مصر")]), ("في السودان ولبنان", [("SDN", "السودان"), ("LBN", "ولبنان")]),
        ("Population de l'Éthiopie", [("ETH", "Éthiopie")]), ("le PIB d’Haïti", [("HTI", "Haïti")]),
        ("la dette de la Côte d'Ivoire et de l'Inde", [("CIV", "Côte d'Ivoire"), ("IND", "Inde")]), ("D'Angelo", []),
        ("an island, a suede coat and Maurice", []), ("Wie hoch ist die Inflation auf der Island", [("ISL", "Island")]),
    ],
)  # fmt: skip
def test_names_in_other_languages(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Phillipines", "Philippines"), ("mozambik", "Mozambique"), ("Columbia", "Colombia"), ("Ethopia's", "Ethiopia"),
        ("egpyt", "Egypt"), ("Yeman", "Yemen"), ("Burkina Fasso", "Burkina Faso"), ("South Afrika", "South Africa"),
    ],
)  # fmt: skip
def test_a_misspelt_name_is_taken_for_the_right_one(written: str, name: str) -> None:
    (country,) = find_countries(f"How many people live in {written}?")
    assert (country.taken_as, country.text) == (name, written.removesuffix("'s"))


@pytest.mark.parametrize("text", ["British Columbia", "a surname, hungry Angela", "roast turkey", "Kenja", "the Niles"])
def test_what_is_only_near_a_name_is_none(text: str) -> None:
    assert found(text) == []


def test_no_word_of_the_sample_reports_is_a_misspelt_country() -> None:
    words = {word for path in REPORTS.glob("*.md") for word in re.findall(r"[^\W\d_]+", path.read_text("utf-8"))}
    assert len(words) > 5000
    taken = {word: country.taken_as for word in words for country in find_countries(word) if country.taken_as}
    in_their_own_languages = {"kiinyaa", "Kongo", "Ukraina", "ukraina", "Ukrayiny", "Soomaaliya"}
    assert set(taken) <= {"Columbia", *in_their_own_languages}


def test_the_people_and_things_of_a_country() -> None:
    kenyan, filipinos = find_countries("Kenyan coffee for Filipinos")
    assert (kenyan.keys, kenyan.by_people, filipinos.keys) == (("KEN",), True, ("PHL",))
    assert not next(find_countries("Kenya")).by_people


def test_short_names_of_two_countries_mean_both() -> None:
    assert next(find_countries("Congo")).keys == ("COD", "COG")
    assert next(find_countries("North Korea")).keys == ("PRK",)


def test_names_that_only_the_data_has() -> None:
    assert found("water in Transnistria") == []
    assert found("water in Transnistria", "Transnistria") == [(country_key("Transnistria"), "Transnistria")]
    assert country_key("Kenya") == "KEN"


def test_every_demonym_is_of_a_country_and_no_name_itself() -> None:
    assert len(demonyms()) > 200
    for demonym, codes in demonyms().items():
        assert all(map(usual_name, codes))
        assert country_code(demonym) is None


# Years that ask for an edition, and years that only date something.


def about(text: str) -> list[str]:
    return [years.text for years in find_years(text) if years.is_subject]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the inflation rate in 2031?", ["2031"]),
        ("Kenya 2023", ["2023"]),
        ("Afghanistan, 2021 report: what is the growth rate?", ["2021"]),
        ("in the 2023 edition", ["2023"]),
        ("What was Kenya's 2023 population?", ["2023"]),
        ("How many people live in cities? (2023)", ["2023"]),
        ("in 2021 and 2023", ["2021", "2023"]),
        ("How did inflation change from 2021 to 2023?", ["2021 to 2023"]),
        ("between 2021 and 2023", ["2021 to 2023"]),
        ("inflation 2021-23", ["2021 to 2023"]),
        ("2021–2023 growth", ["2021 to 2023"]),
        ("since 2021", ["2021 and later"]),
        ("Compared to 2019, how high is it in 2023?", ["2023"]),
        ("data for 2021/22", []),
        ("in the 2021 and 2023 year in review", ["2021", "2023"]),
        ("Compare the 2021 and 2023 reports on inflation", ["2021", "2023"]),
        ("Kenya's 2021, 2023 and 2025 reports", ["2021", "2023", "2025"]),
        ("between the 2021 and the 2025 edition", ["2021", "2025"]),
        ("the 2021 World Factbook", ["2021"]),
        ("Kenya's 2021 annual report", ["2021"]),
        ("Kenya's 2021 and 2023 inflation rates", ["2021", "2023"]),
        ("its 2021 with its 2023 exports", ["2021", "2023"]),
        ("Compared to 2019, 2023 was good", ["2023"]),
    ],
)
def test_years_that_the_question_is_about(text: str, expected: list[str]) -> None:
    assert about(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "in the 2023 report", "according to the 2025 country report", "inflation (2025 report)", "Kenya report (2021)",
        "the report of 2023", "as the 2021 factbook says", "the editions of 2021 and 2023", "reports from 2021 to 2023",
        "What did the 2025 edition say?", "the report on Kenya for 2023", "the 2023 Kenya report", "2023's edition",
        "the report published in 2023", "since the 2021 report", "Report on the Republic of the Congo from 2021",
    ],
)  # fmt: skip
def test_years_of_reports(text: str) -> None:
    assert {(years.of_report, years.is_subject) for years in find_years(text)} == {(True, True)}


@pytest.mark.parametrize(
    "text",
    [
        "the report in 2023 says", "2023 figures", "data for 2023", "inflation in 2023", "Kenya 2023", "2023 inflation",
        "inflation for 2023 in the report", "What does the report on Kenya say for 2023?", "in 2023, the edition",
        "the 2023 unemployment rate in the latest report", "growth in 2023 according to the reports",
    ],
)  # fmt: skip
def test_years_of_figures(text: str) -> None:
    assert {(years.of_report, years.is_subject) for years in find_years(text)} == {(False, True)}


@pytest.mark.parametrize(
    "text",
    [
        "the 2010 and 2013 constitutions", "the 2013, 2017 and 2022 elections", "the 2019 and 2021 novels",
        "the 2010 constitution", "Who won the 2022 election?", "Kenya's 2022 budget", "since independence in 1963",
        "Who was born in 1963?", "the state founded in 1991", "What was signed in 2005?", "the civil war of 1991",
        "population est. 2019", "(2019 est.)", "Are there 2000 people?", "more than 2000", "2,000 km", "$2021", "2021%",
        "How does Ghana's 2024 debt restructuring work?", "the effect of the 2019 exports ban",
        "What did Ghana's 2015 debt relief change?",
        "2000.5", "What is planned by 2030?", "In July 2021", "room 12021", "last year",
    ],
)  # fmt: skip
def test_years_in_passing_and_other_numbers(text: str) -> None:
    assert about(text) == []


def test_a_year_is_a_value_and_several_are_a_range() -> None:
    assert [years.condition for years in find_years("in 2023, from 2019 to 2021, since 2015")] == [
        Values((2023,)),
        Range(2019, 2021),
        Range(2015, None),
    ]
