"""A scope's conditions and its collections."""

from __future__ import annotations

from chatbot.schema import Scope, Values

KENYA = Scope.of({"country_name": Values(("Kenya",))})


def test_collections_make_another_scope_in_any_order_once() -> None:
    news = KENYA.within(["news", "laws", "news"])
    assert news == KENYA.within(("laws", "news"))
    assert hash(news) == hash(KENYA.within(("laws", "news")))
    assert news != KENYA
    assert news.within(()) == KENYA


def test_a_scope_of_collections_alone_leaves_something_out() -> None:
    assert Scope().within(["news"])
    assert not Scope()


def test_they_stay_when_a_condition_goes() -> None:
    assert KENYA.within(["news"]).without("country_name") == Scope().within(["news"])


def test_they_are_no_filter() -> None:
    scope = KENYA.within(["news"])
    assert scope.to_mql() == KENYA.to_mql()
    assert scope.to_json() == KENYA.to_json()
    assert scope.matches({"country_name": "Kenya"})


def test_which_collections_a_scope_holds() -> None:
    assert KENYA.holds("news")
    assert KENYA.within(["news"]).holds("news")
    assert not KENYA.within(["news"]).holds("laws")
