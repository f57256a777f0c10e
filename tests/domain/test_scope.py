"""A scope's conditions and its collections."""

import pytest

from chatbot.domain import Scope
from chatbot.domain.callers import limit_key, limit_of_key
from chatbot.domain.scope import Range, Values

KENYA = Scope.of({"country_name": Values(("Kenya",))})
NEWS = KENYA.within(["news"])


def test_collections_make_another_scope_in_any_order_once() -> None:
    news = KENYA.within(["news", "laws", "news"])
    assert news == KENYA.within(("laws", "news")) != KENYA
    assert hash(news) == hash(KENYA.within(("laws", "news")))
    assert news.within(()) == KENYA
    assert (bool(Scope().within(["news"])), bool(Scope())) == (True, False)


def test_they_are_no_filter_and_stay_when_a_condition_goes() -> None:
    assert (NEWS.to_mql(), NEWS.to_json()) == (KENYA.to_mql(), KENYA.to_json())
    assert NEWS.matches({"country_name": "Kenya"})
    assert NEWS.without("country_name") == Scope().within(["news"])
    assert [KENYA.holds("news"), NEWS.holds("news"), NEWS.holds("laws")] == [
        True,
        True,
        False,
    ]


EVERYTHING = Scope()
YEARS = Scope.of({"year": Range(2020, 2023)})
TWO_YEARS = Scope.of({"year": Values((2021, 2022))})


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (EVERYTHING, KENYA, True),
        (KENYA, EVERYTHING, False),
        (KENYA, KENYA, True),
        (KENYA, NEWS, True),
        (NEWS, KENYA, False),
        (KENYA, Scope.of({"country_name": Values(("Kenya", "Mali"))}), False),
        (Scope.of({"country_name": Values(("Kenya", "Mali"))}), KENYA, True),
        (KENYA, Scope.of({"country_name": Values(("Kenya",), or_none=True)}), False),
        (KENYA, YEARS, False),
        (YEARS, Scope.of({"year": Values((2021, 2023))}), True),
        (YEARS, Scope.of({"year": Range(2021, 2023)}), True),
        (YEARS, Scope.of({"year": Range(2021, None)}), False),
        (
            Scope.of({"year": Values((2021, 2022))}),
            Scope.of({"year": Range(2021, 2022)}),
            True,
        ),
        (
            Scope.of({"year": Values((2021,))}),
            Scope.of({"year": Range(None, 2021)}),
            False,
        ),
    ],
)
def test_a_scope_covers_what_is_not_wider(
    wide: Scope, narrow: Scope, expected: bool
) -> None:
    assert wide.covers(narrow) == expected


def test_a_scope_within_a_limit_has_what_is_in_both() -> None:
    both = YEARS.limited_to(NEWS)
    assert both is not None
    assert both.get("year") == YEARS.get("year")
    assert both.get("country_name") == KENYA.get("country_name")
    assert both.collections == ("news",)
    assert both.is_limited
    assert Scope(both.widest().conditions, both.widest().collections) == NEWS


@pytest.mark.parametrize(
    "scope",
    [
        Scope.of({"country_name": Values(("Mali",))}),
        KENYA.within(["laws"]),
    ],
)
def test_nothing_outside_of_a_limit_is_left(scope: Scope) -> None:
    assert scope.limited_to(NEWS) is None


@pytest.mark.parametrize("limit", [EVERYTHING, KENYA, NEWS, YEARS])
def test_a_row_names_the_limit_of_its_maker(limit: Scope) -> None:
    assert limit_of_key(limit_key(limit)) == limit
