"""Marks of a country besides its name."""

import pytest

from chatbot.language.places import find_places


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Maize in Garissa and Mombasa.", {"KEN": ("Garissa", "Mombasa")}),
        ("Call +254 700 or write to a@health.go.ke.", {"KEN": ("+254", ".ke")}),
        ("It cost KES 3,000.", {"KEN": ("KES",)}),
        ("They came from San Pedro Sula.", {"HND": ("San Pedro Sula",)}),
        ("Suva, Lautoka. The rain", {"FJI": ("Suva", "Lautoka")}),
    ],
)
def test_cities_amounts_telephones_and_addresses_mark_their_country(
    text: str, marks: dict[str, tuple[str, ...]]
) -> None:
    assert find_places(text) == marks


@pytest.mark.parametrize(
    "text",
    [
        "a nice bath and a split",
        "Sofia and Austin read it",
        "Write to me@start.io.",
        "The NET was 3 and TRY it",
        "The Southern and the Central district",
    ],
)
def test_common_words_and_names_of_people_mark_no_country(text: str) -> None:
    assert find_places(text) == {}
