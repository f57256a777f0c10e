"""`calibrate`: from questions to a floor that every worker uses."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain import Question, RequestContext, Scope
from tests.app.cli.conftest import Run
from tests.asking import Finished, by_mode


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Twelve times the same question: what they score does not matter here, only that
    it is the same.
    """
    path = tmp_path / "mine.csv"
    row = "What is the population growth rate?,kenya-2023.md,2.09%\n"
    path.write_text("question,expected_document,answer\n" + row * 12, encoding="utf-8")
    return path


def calibrate(run: Run, *arguments: str) -> Any:
    result = run("calibrate", *arguments, "--json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_the_floor_is_measured_and_stored_for_all_workers(
    loaded: Run, environment, questions: Path
) -> None:
    body = calibrate(loaded, str(questions))
    assert (body["model_id"], body["origin"], body["dataset"]) == (
        "hashing:256",
        "measured",
        "mine",
    )
    assert body["pairs"]["answerable"] == body["pairs"]["relevant"] == 12
    assert 0 < body["floor"] < 1
    out = loaded("calibrate", str(questions)).out
    assert (
        f"\nRelevance floor {body['floor']:.2f}, {body['floor']:.2f} before "
        "(measured, mine); stored."
    ) in out
    for heading in (
        "best hit, answerable (12)",
        "best hit, unrelated (30)",
        "passage with the answer (12)",
    ):
        assert heading in out
    assert " floor\n" in out or " threshold\n" in out
    assert "Suggested: THRESHOLD_START=0." in out


def test_a_worker_that_is_already_running_uses_it_at_once(
    loaded: Run, environment, questions: Path
) -> None:
    settings = Settings.from_env(environment)
    question = Question(
        "people", Scope(), 5, "hybrid", "direct", cache=False
    )  # a heading itself would stay near
    with build(settings) as worker:
        before = by_mode(worker, question, request=RequestContext())[-1]
        calibrate(loaded, str(questions))
        after = by_mode(worker, question, request=RequestContext())[-1]
        with build(settings.override(relevance_floor=0.0)) as fixed:
            own = by_mode(fixed, question, request=RequestContext())[-1]
        loaded("calibrate", "--forget")
        forgotten = by_mode(worker, question, request=RequestContext())[-1]
    answered = [
        event.answer.answered
        for event in (before, after, own, forgotten)
        if isinstance(event, Finished)
    ]
    assert answered == [True, False, True, True]


def test_a_dry_run_stores_nothing(loaded: Run, questions: Path) -> None:
    out = loaded("calibrate", str(questions), "--dry-run").out
    assert "none before; not stored." in out
    assert loaded("calibrate", "--forget").out == "There is no stored calibration.\n"
    calibrate(loaded, str(questions))
    assert loaded("calibrate", "--forget").out == "The stored calibration is removed.\n"


def test_own_reports_need_enough_own_questions(loaded: Run, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("question,expected_document\nx,kenya-2023.md\n", encoding="utf-8")
    result = loaded("calibrate", str(path))
    assert result.status == 1
    assert "few has 1 questions with an answer; 10 are needed" in result.err
    result = loaded("calibrate")
    assert result.status == 1
    assert "no report" in result.err
    assert "run: python -m chatbot calibrate my_questions.csv" in result.err


@pytest.mark.nightly
def test_the_built_in_embedder_on_a_fresh_machine(run: Run) -> None:
    """The shipped questions alone, few as they are, lead to a floor below the shipped
    one and not far from it.
    """
    result = run("calibrate", "--json", EMBEDDING_PROVIDER="minilm", SUMMARIES="auto")
    assert result.status == 0, result.err
    body = json.loads(result.out)
    assert 0.5 < body["floor"] <= 0.62
    assert 0.65 < body["threshold"] < 0.75
    assert body["pairs"]["answerable"] >= 25
