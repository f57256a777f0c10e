"""A scope's conditions and its collections."""

from chatbot.domain import Scope
from chatbot.domain.scope import Values

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
