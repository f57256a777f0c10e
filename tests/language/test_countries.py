"""Countries by name, code and alias (R-D4)."""

import pycountry
import pytest

from chatbot.language.countries import (
    ALIASES,
    country_code,
    country_names,
    normalise,
    takes_article,
    usual_name,
)
from tests.data import cases

SAME = cases(__file__)


@pytest.mark.parametrize(
    ("code", "name"), [(code, name) for code, names in SAME.items() for name in names]
)
def test_every_way_to_name_a_country_gives_one_code(code: str, name: str) -> None:
    assert country_code(name) == code


@pytest.mark.parametrize("name", ["Narnia", "", "Europe", "the", "K", "Kenia2"])
def test_what_is_no_country_has_no_code(name: str) -> None:
    assert country_code(name) is None


def test_some_names_have_an_article() -> None:
    some = (
        "Bahamas",
        "Gambia",
        "Netherlands",
        "Philippines",
        "Republic of the Congo",
        "United Arab Emirates",
    )
    assert all(
        map(
            takes_article,
            (*some, "United Kingdom", "United States", "United States of America"),
        )
    )
    others = (
        "Bahamas, The",
        "Congo",
        "Congo, Republic of the",
        "Kenya",
        "South Africa",
        "The Gambia",
    )
    assert not any(map(takes_article, others))


def test_the_two_congos_the_two_koreas_and_the_guineas_stay_apart() -> None:
    names = [
        "Congo",
        "DRC",
        "North Korea",
        "South Korea",
        "Guinea",
        "Guinea-Bissau",
        "Equatorial Guinea",
        "Niger",
    ]
    codes = [country_code(name) for name in [*names, "Nigeria"]]
    assert None not in codes
    assert len(set(codes)) == len(codes)


def test_every_iso_country_is_found_by_its_name_and_both_codes() -> None:
    for country in pycountry.countries:
        found = {
            country_code(country.name),
            country_code(country.alpha_2.lower()),
            country_code(country.alpha_3),
        }
        assert found == {country.alpha_3}


def test_aliases_are_written_in_the_form_they_are_looked_up_in() -> None:
    assert [alias for alias in ALIASES if normalise(alias) != alias] == []


def test_aliases_only_fill_what_iso_lacks_or_names_otherwise() -> None:
    """An alias that ISO knows as another country would hide that country."""
    names = {
        normalise(country.name): country.alpha_3 for country in pycountry.countries
    }
    assert {
        alias: names[alias]
        for alias, code in ALIASES.items()
        if names.get(alias, code) != code
    } == {}


def test_normalise_folds_case_accents_and_punctuation() -> None:
    assert normalise("The  São-Tomé & Príncipe!") == "sao tome and principe"
    assert normalise("The") == "the"
    assert normalise("Gambia, The") == normalise("The Gambia") == "gambia"


def test_names_without_the_codes() -> None:
    names = country_names()
    assert (names["kenya"], names["drc"], names["ivory coast"]) == ("KEN", "COD", "CIV")
    assert not {"ke", "ken", "saint", "us", "xk"} & set(names)
    assert {usual_name(code) for code in names.values()} >= {
        "Kenya",
        "Bolivia",
        "Kosovo",
    }
