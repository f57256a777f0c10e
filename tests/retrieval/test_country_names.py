"""Countries in a text: names, aliases, codes, demonyms, and what only looks like them."""

from __future__ import annotations

import pycountry
import pytest

from chatbot.countries import country_code, usual_name
from chatbot.retrieval.country_names import country_key, find_countries
from chatbot.retrieval.demonyms import demonyms


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


def test_the_people_and_things_of_a_country() -> None:
    kenyan, filipinos = find_countries("Kenyan coffee for Filipinos")
    assert (kenyan.keys, kenyan.by_people, filipinos.keys) == (("KEN",), True, ("PHL",))
    assert not find_countries("Kenya")[0].by_people


def test_short_names_of_two_countries_mean_both() -> None:
    assert find_countries("Congo")[0].keys == ("COD", "COG")
    assert find_countries("North Korea")[0].keys == ("PRK",)


def test_names_that_only_the_data_has() -> None:
    assert found("water in the Gaza Strip") == []
    assert found("water in the Gaza Strip", "Gaza Strip") == [(country_key("Gaza Strip"), "Gaza Strip")]
    assert country_key("Kenya") == "KEN"


def test_every_demonym_is_of_a_country_and_no_name_itself() -> None:
    assert len(demonyms()) > 200
    for demonym, code in demonyms().items():
        assert usual_name(code)
        assert country_code(demonym) is None
