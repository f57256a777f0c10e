"""The exception tree: its codes tell the errors apart."""

import inspect
import re

import chatbot.domain.errors as errors
from chatbot.domain.errors import (
    ChatbotError,
    DatabaseError,
    DependencyError,
    IngestingError,
    InvalidRequestError,
)


def classes() -> list[type[ChatbotError]]:
    found = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, ChatbotError)
    ]
    assert all(kind.__module__ == errors.__name__ for kind in found)
    return found


def test_each_error_has_one_base_and_says_what_it_means() -> None:
    assert all(len(kind.__bases__) == 1 and kind.__doc__ for kind in classes())


def test_codes_are_unique_stable_words() -> None:
    codes = {kind.__name__: kind.code for kind in classes()}
    assert len(set(codes.values())) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes.values())
    expected = {
        "InvalidRequestError": "invalid_request",
        "IngestingError": "ingesting",
        "NotFoundError": "not_found",
    }
    assert codes.items() >= expected.items()
    direct = [kind for kind in classes() if kind.__bases__[0] is DependencyError]
    names = [kind.dependency for kind in direct]  # type: ignore[attr-defined]
    dependencies = [
        "chat_model",
        "database",
        "embedder",
        "identity_provider",
        "python_package",
        "vector_search",
    ]
    assert sorted(names) == dependencies


def test_an_error_about_a_field_names_it_and_its_valid_values() -> None:
    error = InvalidRequestError.for_field(
        "filters.year", "no report for 1800.", (2021, 2023)
    )
    assert error.message == str(error) == "filters.year: no report for 1800."
    assert error.details == [
        {
            "field": "filters.year",
            "message": "no report for 1800.",
            "valid_values": [2021, 2023],
        }
    ]
    assert (
        "valid_values"
        not in InvalidRequestError.for_field("query", "is empty").details[0]
    )


def test_a_failed_dependency_says_what_helps_and_when_to_try_again() -> None:
    error = DatabaseError("MongoDB does not answer.", remedy="Start it.", retry_after=5)
    assert error.message == "MongoDB does not answer. Start it."
    assert error.details == [{"dependency": "database", "remedy": "Start it."}]
    assert error.retry_after == 5
    assert DatabaseError("It failed.").retry_after is None
    assert IngestingError("Wait.").retry_after == 3
