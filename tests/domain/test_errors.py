"""The exception tree: its picture is true, its codes tell the errors apart."""

from __future__ import annotations

import inspect
import re

import chatbot.domain.errors as errors
from chatbot.domain.errors import ChatbotError, DatabaseError, DependencyError, IngestingError, InvalidRequestError


def classes() -> list[type[ChatbotError]]:
    found = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ChatbotError)]
    assert all(kind.__module__ == errors.__name__ for kind in found)
    return found


def drawn_tree() -> dict[str, str]:
    """Each class in the docstring's picture with the class above it."""
    parents: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").split("\n"):
        if match := re.match(r"^(?P<indent>[ │├└─]*)(?P<name>[A-Z]\w+Error)\b", line):
            depth = len(match["indent"]) // 4
            above[depth] = match["name"]
            parents[match["name"]] = above.get(depth - 1, "Exception")
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    assert drawn_tree() == {kind.__name__: kind.__bases__[0].__name__ for kind in classes()}
    assert all(len(kind.__bases__) == 1 for kind in classes())


def test_codes_are_unique_stable_words() -> None:
    codes = {kind.__name__: kind.code for kind in classes()}
    assert len(set(codes.values())) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes.values())
    expected = {"InvalidRequestError": "invalid_request", "IngestingError": "ingesting", "NotFoundError": "not_found"}
    assert codes.items() >= expected.items()
    direct = [kind for kind in classes() if kind.__bases__[0] is DependencyError]
    names = [kind.dependency for kind in direct]  # type: ignore[attr-defined]
    assert sorted(names) == ["chat_model", "database", "embedder", "python_package", "vector_search"]


def test_an_error_about_a_field_names_it_and_its_valid_values() -> None:
    error = InvalidRequestError.for_field("filters.year", "no report for 1800.", (2021, 2023))
    assert error.message == str(error) == "filters.year: no report for 1800."
    assert error.details == [{"field": "filters.year", "message": "no report for 1800.", "valid_values": [2021, 2023]}]
    assert "valid_values" not in InvalidRequestError.for_field("query", "is empty").details[0]


def test_a_failed_dependency_says_what_helps_and_when_to_try_again() -> None:
    error = DatabaseError("MongoDB does not answer.", remedy="Start it.", retry_after=5)
    assert error.message == "MongoDB does not answer. Start it."
    assert error.details == [{"dependency": "database", "remedy": "Start it."}]
    assert error.retry_after == 5
    assert DatabaseError("It failed.").retry_after is None
    assert IngestingError("Wait.").retry_after == 3
