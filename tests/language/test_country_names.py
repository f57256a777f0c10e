"""Countries in a text: names, aliases, codes, demonyms, and what only looks like
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pycountry
import pytest

from chatbot.language.countries import country_code, demonyms, usual_name
from chatbot.language.country_names import country_key, find_countries
from tests.data import cases

CASES = cases(__file__)

REPORTS = Path(__file__).parents[2] / "sample_data" / "country_reports"


EVERY_COUNTRY = [country.name for country in pycountry.countries]


def found(text: str, *also: str) -> list[list[str]]:
    return [[country.keys[0], country.text] for country in find_countries(text, also)]


def misspelt(text: str, names: Iterable[str]) -> dict[str, str]:
    """The names that are taken for ones of a library with these countries."""
    return {
        country.text: country.taken_as
        for country in find_countries(text, tuple(names))
        if country.taken_as
    }


@pytest.mark.parametrize(
    "country", list(pycountry.countries), ids=lambda country: country.alpha_3
)
def test_every_name_of_iso_3166_is_found_whole(country) -> None:
    (named,) = find_countries(f"Which groups operate there in {country.name}?")
    assert (named.text, country.alpha_3 in named.keys) == (country.name, True)


LOOKS_ONLY = [(text, []) for text in CASES["what_only_looks_like_a_country"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *CASES["names_aliases_and_codes"],
        *CASES["names_in_other_languages"],
        *LOOKS_ONLY,
    ],
)
def test_names_aliases_and_codes(text: str, expected: list[list[str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("written", "name"), CASES["a_misspelt_name_is_taken_for_the_right_one"]
)
def test_a_misspelt_name_is_taken_for_the_right_one(written: str, name: str) -> None:
    question = f"How many people live in {written}?"
    assert misspelt(question, [name]) == {written.removesuffix("'s"): name}
    assert bool(misspelt(question, [])) == (
        written in {"Phillipines", "Burkina Fasso", "South Afrika"}
    )  # by ear


@pytest.mark.parametrize("text", CASES["what_is_only_near_a_name_is_none"])
def test_what_is_only_near_a_name_is_none(text: str) -> None:
    assert misspelt(text, EVERY_COUNTRY) == {}


@pytest.mark.slow
@pytest.mark.nightly
def test_no_word_of_the_sample_reports_is_a_misspelt_country() -> None:
    words = {
        word
        for path in REPORTS.glob("*.md")
        for word in re.findall(r"[^\W\d_]+", path.read_text("utf-8"))
    }
    assert len(words) > 5000
    names = {
        path.stem.rpartition("-")[0].replace("-", " ") for path in REPORTS.glob("*.md")
    }
    taken = {word for word in words if misspelt(word, names)}
    in_their_own_languages = {
        "kiinyaa",
        "Kongo",
        "Ukraina",
        "ukraina",
        "Ukrayiny",
        "Soomaaliya",
    }
    assert taken <= {"Columbia", *in_their_own_languages}


def test_the_people_and_things_of_a_country() -> None:
    kenyan, filipinos = find_countries("Kenyan coffee for Filipinos")
    assert (kenyan.keys, kenyan.by_people, filipinos.keys) == (("KEN",), True, ("PHL",))
    assert not find_countries("Kenya")[0].by_people


def test_short_names_of_two_countries_mean_both() -> None:
    assert find_countries("Congo")[0].keys == ("COD", "COG")
    assert find_countries("North Korea")[0].keys == ("PRK",)


def test_a_code_that_the_library_means_stands_alone() -> None:
    assert found("GDP of KEN, PER capita") == []
    assert [
        one.keys for one in find_countries("GDP of KEN, PER capita", ("Kenya", "Peru"))
    ] == [("KEN",)]


def test_names_that_only_the_data_has() -> None:
    assert found("water in Transnistria") == []
    assert found("water in Transnistria", "Transnistria") == [
        [country_key("Transnistria"), "Transnistria"]
    ]
    assert country_key("Kenya") == "KEN"


def test_every_demonym_is_of_a_country_and_no_name_itself() -> None:
    assert len(demonyms()) > 200
    for demonym, codes in demonyms().items():
        assert all(map(usual_name, codes))
        assert country_code(demonym) is None
