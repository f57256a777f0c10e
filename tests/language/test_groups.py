"""Groups of countries in questions: their names, and words that are none."""

import pytest

from chatbot.language.countries import country_code
from chatbot.language.groups import find_groups, group_named, usual_groups


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which African country has the highest literacy?", ["Africa"]),
        ("Unemployment in East Africa: who is worst off?", ["Eastern Africa"]),
        ("West-African countries by area", ["Western Africa"]),
        ("Who drinks most in South America?", ["South America"]),
        ("Youngest people of the Sahel", ["Sahel"]),
        ("debt of EU countries and in the AU", ["European Union", "African Union"]),
        (
            "Which Latin American or Caribbean country trades most?",
            ["Latin America and the Caribbean", "Caribbean"],
        ),
        ("Inflation in sub-Saharan Africa", ["Sub-Saharan Africa"]),
        ("¿Qué países africanos exportan café?", ["Africa"]),
        ("Chômage en Afrique de l'Ouest", ["Western Africa"]),
        ("População da América Latina", ["Latin America and the Caribbean"]),
        ("ما هو عدد السكان في غرب أفريقيا؟", ["Western Africa"]),
        ("Arab states with the most oil", ["League of Arab States"]),
        (
            "Which landlocked developing country grows fastest?",
            ["Landlocked developing countries"],
        ),
        ("Among the Europeans, who emits most?", ["Europe"]),
        ("south of the Sahara, who earns most?", ["Sub-Saharan Africa"]),
        ("African swine fever", []),
        ("Le chômage au Mali", []),
        ("European settlers in the nineteenth century", []),
        ("West bank of the river", []),
    ],
)
def test_a_text_names_groups(text: str, names: list[str]) -> None:
    found = [named.group.name for named in find_groups(text, usual_groups())]
    assert found == names


def test_each_group_has_members_a_source_and_a_date() -> None:
    for group in usual_groups():
        assert group.source, group.name
        assert group.date, group.name
        assert len(group.members) > 1, group.name
        assert all(country_code(code) == code for code in group.members), group.name


def test_names_in_any_case_and_form_mean_the_group() -> None:
    for name in ("western africa", "West Africa", "west african", "WESTERN-AFRICA"):
        group = group_named(name, usual_groups())
        assert group is not None
        assert group.name == "Western Africa"
