"""What an answer says and its sources do not is told on the command line, too, on the error stream."""

from __future__ import annotations

from tests.cli.conftest import Run
from tests.fakes.openai_server import FakeOpenAI, Reply


def said(loaded: Run, *pieces: str, finish_reason: str = "stop") -> list[str]:
    """The lines after the steps; what is piped on has none of them."""
    with FakeOpenAI() as server:
        server.chat(Reply(pieces, finish_reason=finish_reason))
        settings = {"CHAT_MODEL": "openai:fake", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": server.url}
        result = loaded("ask", "What is the population growth rate?", "--country", "KE", **settings)
    assert result.status == 0, result.err
    lines = result.err.splitlines()
    notes = lines[lines.index("Writing the answer") + 1 :]
    assert not any(note in result.out for note in notes)
    return notes


def test_figures_quotations_and_unknown_sources_are_named(loaded: Run) -> None:
    assert said(loaded, "It is 9.9%, “never said” [1][8]. It is 2.09% [9].") == [
        "Not found in [1]: 9.9%, “never said”. There is no source [8].",
        "There is no source [9].",
    ]


def test_nothing_is_said_below_a_supported_answer(loaded: Run) -> None:
    assert said(loaded, "So it is [1].") == []


def test_an_answer_cut_at_its_limit_names_the_setting(loaded: Run) -> None:
    assert said(loaded, "So it is [1]. And", finish_reason="length") == ["The answer was cut off at MAX_ANSWER_TOKENS."]
