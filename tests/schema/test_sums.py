"""What many answers took together."""

from __future__ import annotations

from chatbot.schema import LedgerRow, Usage
from chatbot.schema.sums import DayUsage, StageSums, Sums, added_up, days_json

PLAN = LedgerRow("plan", 1, 10.0, Usage(100, 20, calls=2, failed_calls=1), 0.5)
EMBED = LedgerRow("embed", 3, 5.0, Usage(embedding_tokens=7), None)


def test_a_ledger_added_up() -> None:
    sums = Sums.of([PLAN, EMBED])
    assert sums == Sums(1, Usage(100, 20, 7, 2, 0, 1), 0.5, 7)
    assert Sums.total([sums, sums]) == Sums(2, Usage(200, 40, 14, 4, 0, 2), 1.0, 14)
    assert Sums.total([]) == Sums()


def test_the_cost_is_unknown_where_a_price_is_missing() -> None:
    assert Sums.of([PLAN]).to_json()["cost"] == 0.5
    assert Sums.of([PLAN, EMBED]).to_json()["cost"] is None
    assert Sums.of([PLAN, EMBED]).to_json()["unpriced_tokens"] == 7
    assert Sums().to_json()["cost"] == 0.0


def test_added_costs_show_no_binary_remainders() -> None:
    assert Sums.total([Sums(cost=0.1), Sums(cost=0.2)]).full_cost == 0.3


def test_stages_of_one_name_are_one() -> None:
    stages = [StageSums("plan", 1, 1, 9, ms=3.0), StageSums("embed", 1, ms=5.0), StageSums("plan", 1, 2, 1, ms=4.0)]
    assert added_up(stages) == (StageSums("plan", 2, 3, 10, 0, 7.0), StageSums("embed", 1, ms=5.0))


def test_several_days_and_all_of_them() -> None:
    days = [
        DayUsage("2026-11-22", 130, Sums.of([PLAN]), (StageSums("plan", 1, ms=10.0),)),
        DayUsage("2026-11-21", 20, Sums.of([EMBED]), (StageSums("embed", 3, ms=5.0), StageSums("plan", ms=1.0))),
    ]
    body = days_json(days)
    assert [day["day"] for day in body["days"]] == ["2026-11-22", "2026-11-21"]
    assert body["days"][0]["stages"][0]["stage"] == "plan"
    total = body["total"]
    assert (total["metered_tokens"], total["questions"], total["calls"], total["cost"]) == (150, 2, 2, None)
    assert [(stage["stage"], stage["ms"]) for stage in total["stages"]] == [("plan", 11.0), ("embed", 5.0)]
    assert "day" not in total
