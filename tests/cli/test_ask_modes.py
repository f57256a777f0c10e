"""`ask --mode`: the steps on the error stream, the answer on the other; `--json` is the /query response."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Run
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.fakes.scripted_model import ScriptedModel

COMPARED = "Compare the population of Kenya and Mali"
KEYLESS = {"CHAT_MODEL": "extractive"}


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """Settings for a language model that says what a `ScriptedModel` says."""
    with FakeOpenAI() as server:
        server.always(CHAT, ScriptedModel())
        yield {
            "CHAT_MODEL": "openai:fake",
            "OPENAI_API_KEY": "sk-x",
            "OPENAI_BASE_URL": server.url,
            "MODEL_RETRIES": "0",
        }


def test_what_is_piped_on_is_the_answer(loaded: Run) -> None:
    result = loaded("ask", COMPARED, "--mode", "compare", **KEYLESS)
    assert result.status == 0, result.err
    assert result.out.startswith("Quoted from the reports (no language model is configured):\n\n| Kenya | Mali |")
    assert result.err.splitlines()[:4] == ["What is compared", "  - Kenya", "  - Mali", "2 searches at once"]
    assert "Kenya: 3 passages" in result.err
    assert "2 searches at once" not in result.out


@pytest.mark.parametrize("mode", ["deep", "chain", "compare", "report", "auto"])
def test_with_a_model(loaded: Run, model: dict[str, str], mode: str) -> None:
    result = loaded("ask", COMPARED, "--mode", mode, **model)
    assert result.status == 0, result.err
    assert "[1] " in result.out
    assert " passages" in result.err
    assert "Writing the answer" in result.err


def test_json_is_the_answer_with_its_path_alone(loaded: Run, model: dict[str, str]) -> None:
    result = loaded("ask", COMPARED, "--mode", "deep", "--json", **model)
    body = json.loads(result.out)
    assert result.err == ""
    assert body["trace"]["mode"] == "deep"
    assert [step["name"] for step in body["trace"]["path"] if step["name"] != "found"] == [
        "plan", "search", "relevance", "reflect", "generate"
    ]  # fmt: skip
    assert {row["stage"] for row in body["trace"]["ledger"]} >= {"plan", "relevance", "reflect", "generate"}


def test_the_setting_and_the_preset_say_the_mode(loaded: Run) -> None:
    for arguments, settings, mode in (
        ((), {}, "direct"),
        ((), {"MODE": "compare"}, "compare"),
        ((), {"PRESET": "deep"}, "deep"),
        (("--preset", "deep"), {}, "deep"),
        (("--preset", "deep", "--mode", "compare"), {}, "compare"),
    ):
        result = loaded("ask", COMPARED, "--json", *arguments, **KEYLESS, **settings)
        assert json.loads(result.out)["trace"]["mode"] == mode, (arguments, settings)


def test_a_mode_that_needs_a_model_is_wrong_usage_without_one(loaded: Run) -> None:
    for mode in ("chain", "report"):
        result = loaded("ask", COMPARED, "--mode", mode, **KEYLESS)
        assert result.status == 2
        assert f"{mode!r} needs a language model" in result.err
        assert "Without one: auto, compare, deep, direct." in result.err


def test_an_answer_that_ends_early_says_so(loaded: Run, model: dict[str, str]) -> None:
    result = loaded("ask", COMPARED, "--mode", "deep", BUDGET_CALLS="1", **model)
    assert result.status == 0
    assert "The budget of 1 model call is used up." in result.err
    assert result.err.endswith("Stopped early (calls): the best answer so far.\n")
    assert "Stopped early" not in result.out


def test_a_report_ends_with_its_sources_once(loaded: Run, model: dict[str, str]) -> None:
    """`ask --mode report > report.md` is the report, and nothing else."""
    result = loaded("ask", COMPARED, "--mode", "report", **model)
    assert result.status == 0, result.err
    body = json.loads(loaded("ask", COMPARED, "--mode", "report", "--json", **model).out)
    assert result.out == f"{body['response']}\n"
    assert result.out.count("Kenya: Country Report 2023") == result.out.count("- [") > 0


def test_the_sources_of_other_answers_stand_below_by_number(loaded: Run) -> None:
    with FakeOpenAI() as server:
        server.chat(Reply(["A river [3]. A desert [2]. People [1]."]))
        settings = {"CHAT_MODEL": "openai:fake", "OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": server.url}
        result = loaded("ask", COMPARED, **settings)
    assert result.status == 0, result.err
    _, _, below = result.out.partition("\n\n")
    assert [line.partition(" ")[0] for line in below.splitlines()] == ["[1]", "[2]", "[3]"]
