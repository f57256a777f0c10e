"""What several searches found: in turn, each once, and each search with all of its own."""

from __future__ import annotations

from chatbot.agents.evidence import Evidence
from chatbot.schema import SearchHit
from tests.chat_models.conftest import passage

ONE, TWO, THREE = (passage(number, f"Passage {number}.").hit for number in (1, 2, 3))


def ids(hits: list[SearchHit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


def test_the_best_of_each_search_comes_first_and_each_passage_once() -> None:
    evidence = Evidence()
    new = evidence.unseen([("a", [ONE, TWO]), ("b", [ONE, THREE])], most=9)
    evidence.add(new)
    assert [(search, hit.chunk.id) for search, hit in new] == [
        ("a", ONE.chunk.id),
        ("a", TWO.chunk.id),
        ("b", THREE.chunk.id),
    ]
    assert sorted(ids(evidence.hits)) == sorted(ids([ONE, TWO, THREE]))
    assert evidence.unseen([("c", [TWO])], most=9) == []


def test_a_search_has_what_another_found_first() -> None:
    """Else the answer to one part would stand under no part at all."""
    evidence = Evidence()
    evidence.add(evidence.unseen([("the question", [ONE, TWO]), ("its part", [ONE, THREE])], most=9))
    assert ids(evidence.of("its part")) == ids([ONE, THREE])
    assert ids(evidence.of("the question")) == ids([ONE, TWO])
    assert evidence.of("another") == []


def test_what_was_judged_useless_belongs_to_no_search() -> None:
    evidence = Evidence()
    first, *_ = evidence.unseen([("a", [ONE, TWO])], most=9)
    evidence.add([first])
    assert ids(evidence.of("a")) == ids([ONE])
