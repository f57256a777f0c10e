"""Groups of countries in questions: their names, and words that are none."""

import pytest

from chatbot.language.countries import country_code
from chatbot.language.groups import find_groups, group_named, usual_groups
from tests.data import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("text", "names"), CASES["named"])
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
