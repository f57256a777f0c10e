"""`ask`: the chat flow on the command line; `--json` is the /query response, steps and
notes go to the error stream.
"""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from chatbot.answering.modes import MODES, needs_language_model
from chatbot.search import RETRIEVAL_METHODS
from tests.app.cli.conftest import Run
from tests.app.web.contract import ANSWER, TRACE
from tests.data import cases
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel

CASES = cases(__file__)
QUESTION = "What is the population growth rate?"


def ask(run: Run, *arguments: str, **settings: str) -> Any:
    result = run("ask", QUESTION, "--json", *arguments, **settings)
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_json_has_exactly_the_fields_of_the_contract(loaded: Run) -> None:
    body = ask(loaded, "--country", "KE", "--year", "2023")
    assert (set(body), set(body["trace"])) == (ANSWER, TRACE)
    assert body["answered"] is True
    assert body["scope"] == {
        "filters": {"country_name": ["Kenya"], "year": [2023]},
        "documents": 1,
        "chunks": 3,
    }
    assert {citation["country_name"] for citation in body["citations"]} == {"Kenya"}
    assert any("2.09%" in citation["snippet"] for citation in body["citations"])
    assert body["sources"] == ["Kenya: Country Report 2023"]


def test_options_reach_the_retrieval(loaded: Run) -> None:
    body = ask(
        loaded,
        "--retrieval-method",
        "bm25",
        "--limit",
        "1",
        "--country",
        "Kenya",
        "--country",
        "ML",
    )
    assert body["scope"]["documents"] == 2
    assert body["trace"]["retrieval_method"] == "bm25"
    assert body["trace"]["threshold"] is None
    assert len(body["trace"]["hits"]) == 1
    one, other = (ask(loaded, "--vector-weight", weight) for weight in ("0.1", "0.9"))
    assert (
        one["trace"]["hits"][0]["fused_score"]
        != other["trace"]["hits"][0]["fused_score"]
    )
    assert one["conversation_id"] != other["conversation_id"]
    assert len({one["message_id"], other["message_id"]}) == 2


def test_without_json_the_answer_and_its_sources_are_printed(loaded: Run) -> None:
    """White space around a question does not count."""
    result = loaded("ask", f" {QUESTION:4000}\n", "--country", "Kenya")
    assert result.status == 0
    assert result.out.startswith(f"You asked: {QUESTION} [1]")
    assert (
        "[1] Kenya: Country Report 2023: People and Society › Population growth rate"
        in result.out
    )


def test_an_honest_not_found_is_exit_status_0(loaded: Run) -> None:
    body = ask(loaded, "--year", "2023", RELEVANCE_FLOOR="1.0")
    assert body["answered"] is False
    assert body["citations"] == []
    assert "do not seem to answer this question" in body["response"]
    assert body["trace"]["usage"]["calls"] == 0


def test_a_scope_that_cannot_be_meant_is_wrong_usage(loaded: Run) -> None:
    """R-D4."""
    for arguments, parts in {
        ("--country", "Narnia"): ["filters.country_name", "'Narnia'", "Kenya, Mali"],
        ("--country", "France"): ["there is no report on 'France'", "Kenya, Mali"],
        ("--year", "1999"): ["no report for 1999", "2023"],
        ("--type", "poem"): ["unknown type", "country_report"],
        ("--mode", "magic"): ["mode", "'magic'", "direct"],
        ("--retrieval-method", "magic"): [
            "retrieval",
            "'magic'",
            ", ".join(RETRIEVAL_METHODS.names()),
        ],
    }.items():
        result = loaded("ask", QUESTION, *arguments)
        assert result.status == 2
        assert all(part in result.err for part in parts), result.err


@pytest.mark.parametrize(
    ("question", "said"),
    [("", "empty"), ("  \n", "empty"), ("x" * 4001, "4,000 characters (4,001)")],
)
def test_what_is_no_question_is_wrong_usage(run: Run, question: str, said: str) -> None:
    """R-A7: long input is never cut silently."""
    result = run("ask", question, "--mode", "deep")
    assert result.status == 2
    assert said in result.err
    assert result.out == ""


def test_an_empty_database_says_so_and_how_to_add_reports(run: Run) -> None:
    body = ask(run)
    assert body["answered"] is False
    assert body["trace"]["hits"] == []
    assert body["response"].startswith("There are no reports yet.")
    assert "python -m chatbot ingest FILES" in run("ask", QUESTION).out


def test_the_scope_of_the_question_is_applied_when_asked_for(loaded: Run) -> None:
    question = "What is the population growth rate of Kenya in 2023?"
    for flags, setting, filters in CASES[
        "the scope of the question is applied when asked for"
    ]:
        result = loaded("ask", question, "--json", *flags, AUTO_SCOPE=setting)
        assert json.loads(result.out)["scope"]["filters"] == filters


COMPARED = "Compare the population of Kenya and Mali"
KEYLESS = {"CHAT_MODEL": "extractive"}


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """Settings for a language model that says what a `ScriptedModel` says."""
    with FakeOpenAI() as server:
        server.always(CHAT, ScriptedModel())
        yield {**server.as_environment, "MODEL_RETRIES": "0"}


def test_what_is_piped_on_is_the_answer(loaded: Run) -> None:
    result = loaded("ask", COMPARED, "--mode", "compare", **KEYLESS)
    assert result.status == 0, result.err
    assert result.out.startswith("|  | Kenya | Mali |")
    assert result.err.splitlines()[:3] == ["What is compared", "  - Kenya", "  - Mali"]
    assert "What is compared" not in result.out


@pytest.mark.parametrize("mode", [mode for mode in MODES.names() if mode != "direct"])
def test_with_a_model(loaded: Run, model: dict[str, str], mode: str) -> None:
    result = loaded("ask", COMPARED, "--mode", mode, **model)
    assert result.status == 0, result.err
    assert "[1] " in result.out
    assert " passages" in result.err
    assert "Writing the answer" in result.err


def test_json_is_the_answer_with_its_path_alone(
    loaded: Run, model: dict[str, str]
) -> None:
    result = loaded("ask", COMPARED, "--mode", "deep", "--json", **model)
    body = json.loads(result.out)
    assert result.err == ""
    assert body["trace"]["mode"] == "deep"
    assert [
        step["name"] for step in body["trace"]["path"] if step["name"] != "found"
    ] == ["plan", "search", "relevance", "reflect", "generate"]
    assert {row["stage"] for row in body["trace"]["ledger"]} >= {
        "plan",
        "relevance",
        "reflect",
        "generate",
    }


def test_the_setting_and_the_preset_say_the_mode(loaded: Run) -> None:
    for arguments, settings, mode in CASES["the setting and the preset say the mode"]:
        result = loaded("ask", COMPARED, "--json", *arguments, **KEYLESS, **settings)
        assert json.loads(result.out)["trace"]["mode"] == mode, (arguments, settings)


def test_a_mode_that_needs_a_model_is_wrong_usage_without_one(loaded: Run) -> None:
    for mode in ("chain", "report"):
        result = loaded("ask", COMPARED, "--mode", mode, **KEYLESS)
        assert result.status == 2
        assert f"{mode!r} needs a language model" in result.err
        without = [name for name in MODES.names() if not needs_language_model(name)]
        assert f"Without one: {', '.join(without)}." in result.err


def test_an_answer_that_ends_early_says_so(loaded: Run, model: dict[str, str]) -> None:
    result = loaded("ask", COMPARED, "--mode", "deep", BUDGET_CALLS="1", **model)
    assert result.status == 0
    assert "The budget of 1 model call is used up." in result.err
    assert result.err.endswith(
        "Stopped early (calls): this is the best answer so far.\n"
    )
    assert "Stopped early" not in result.out


def test_a_report_ends_with_its_sources_once(
    loaded: Run, model: dict[str, str]
) -> None:
    """`ask --mode report > report.md` is the report, and nothing else."""
    result = loaded("ask", COMPARED, "--mode", "report", **model)
    assert result.status == 0, result.err
    body = json.loads(
        loaded("ask", COMPARED, "--mode", "report", "--json", **model).out
    )
    assert result.out == f"{body['response']}\n"
    assert result.out.count(": Country Report 2023") == result.out.count("- [") > 0


def test_the_sources_of_other_answers_stand_below_by_number(loaded: Run) -> None:
    with FakeOpenAI() as server:
        server.chat(Reply(["A river [3]. A desert [2]. People [1]."]))
        result = loaded("ask", COMPARED, **server.as_environment)
    assert result.status == 0, result.err
    _, _, below = result.out.partition("\n\n")
    assert [line.partition(" ")[0] for line in below.splitlines()] == [
        "[1]",
        "[2]",
        "[3]",
    ]


def notes_of(loaded: Run, *pieces: str, finish_reason: str = "stop") -> list[str]:
    """The lines after the steps; what is piped on has none of them."""
    with FakeOpenAI() as server:
        server.chat(Reply(pieces, finish_reason=finish_reason))
        result = loaded("ask", QUESTION, "--country", "KE", **server.as_environment)
    assert result.status == 0, result.err
    lines = result.err.splitlines()
    notes = lines[lines.index("Writing the answer") + 1 :]
    assert not any(note in result.out for note in notes)
    return notes


def test_notes_name_what_is_not_supported_and_what_was_cut(loaded: Run) -> None:
    assert notes_of(loaded, "It is 9.9%, “never said” [1][8]. It is 2.09% [9].") == [
        "Not found in [1]: 9.9%, “never said”. There is no source [8].",
        "There is no source [9].",
    ]
    assert notes_of(loaded, "So it is [1].") == []
    cut = "The answer was cut off at MAX_ANSWER_TOKENS."
    assert notes_of(loaded, "So it is [1]. And", finish_reason="length") == [cut]


def test_chat_goes_on_until_exit_and_a_wrong_question_does_not_end_it(
    loaded: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "What is the population growth rate of Kenya?",
        "",
        "x" * 5000,
        "And of Mali?",
        "exit",
        "Never asked?",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    result = loaded("chat", "--json", "--no-metadata")
    assert (result.status, "longer than 4,000 characters" in result.err) == (0, True)
    decoder, text, answers = json.JSONDecoder(), result.out.strip(), []
    while text:
        answer, end = decoder.raw_decode(text)
        answers.append(answer)
        text = text[end:].strip()
    assert len({answer["conversation_id"] for answer in answers}) == 1
    assert answers[0]["trace"]["query"] == lines[0]
    assert "growth rate of Mali" in answers[1]["trace"]["query"]
