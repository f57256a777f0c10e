"""The scope that an answer shows is the one that its passages are from."""

from types import SimpleNamespace
from typing import Any

import pytest

from chatbot.answering.stages.finish import used_scope
from chatbot.domain import Answer, Scope
from chatbot.domain.chat import Citation, ScopeSummary, Trace
from chatbot.domain.documents import Holdings
from chatbot.domain.scope import Values
from tests.checking.conftest import chunk, hits

JORDAN = Scope.of({"country_name": Values(("Jordan",))})


class Library:
    """A catalogue that counts four reports of a scope, and nine without one."""

    def holdings(self, scope: Scope) -> Holdings:
        count = 4 if scope else 9
        return Holdings(documents=count, ready=count)


def shown(earlier: Scope, *countries: str | None) -> ScopeSummary:
    passages = []
    for number, country in enumerate(countries):
        metadata = {"country_name": country}
        passages.append(chunk(number, "Visits: 5", metadata=metadata))
    cited = [Citation(hit.rank, hit, "", "", supported=True) for hit in hits(*passages)]
    summary = ScopeSummary(JORDAN, 4, 40)

    def with_origins(scope: ScopeSummary) -> ScopeSummary:
        origins: dict[str, Any] = {"from_earlier": earlier}
        return ScopeSummary(scope.scope, scope.documents, scope.chunks, **origins)

    turn: Any = SimpleNamespace(
        events=SimpleNamespace(with_origins=with_origins), catalog=Library()
    )
    trace = Trace("fast", "hybrid", "visits")
    return used_scope(turn, Answer("5 [1].", True, tuple(cited), summary, trace))


def test_a_country_from_earlier_is_not_that_of_passages_without_one() -> None:
    scope = shown(JORDAN, None, None)
    assert (scope.scope, scope.from_earlier, scope.documents) == (Scope(), Scope(), 9)


@pytest.mark.parametrize("countries", [("Jordan",), ("Jordan", None), ()])
def test_it_is_that_of_an_answer_from_it_or_from_nowhere(
    countries: tuple[str | None, ...],
) -> None:
    scope = shown(JORDAN, *countries)
    assert (scope.scope, scope.from_earlier, scope.documents) == (JORDAN, JORDAN, 4)


def test_a_country_of_the_question_stays() -> None:
    assert shown(Scope(), None).scope == JORDAN
