"""Values that a report does not have are no answer."""

import pytest

from chatbot.language.statements import is_unavailable


@pytest.mark.parametrize(
    "text",
    ["NA", "NA (2021 est.)", "total population: NA\n\nmale: NA\n\nfemale: NA"],
)
def test_nothing_but_values_that_are_not_available(text: str) -> None:
    assert is_unavailable(text)


@pytest.mark.parametrize(
    "text", ["", "NATO member", "total: 5%; male: NA", "N. America: 5", "0"]
)
def test_anything_else_is_stated(text: str) -> None:
    assert not is_unavailable(text)
