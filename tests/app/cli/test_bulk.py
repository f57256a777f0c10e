"""`ask --from questions.csv --to answers.csv`: a table answered, broken off, and gone
on with.
"""

import csv
import io
import json
from pathlib import Path

import pytest

from chatbot.app.cli import ask as bulk
from tests.app.cli.conftest import Run
from tests.data import cases

CASES = cases(__file__)
TABLE = """question,country_name,note
What is the population growth rate?,Kenya,first
=What is the capital?,Kenya,second
How many live in Atlantis?,Atlantis,third
"""


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def test_a_table_is_answered_and_gone_on_with(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, answers = tmp_path / "questions.csv", tmp_path / "answers.csv"
    questions.write_text(TABLE, "utf-8")
    result = loaded("ask", "--from", str(questions), "--to", str(answers))
    assert result.status == 1
    assert "2 answered, 1 failed" in result.err
    first, second, third = table(answers)
    assert (first["note"], first["answered"], first["error"]) == ("first", "yes", "")
    assert first["citations"].startswith("[1] ")
    assert second["question"] == "'=What is the capital?"
    assert (third["response"], "Kenya" in third["error"]) == ("", True)
    asked = []
    answer = bulk._answered
    monkeypatch.setattr(
        bulk,
        "_answered",
        lambda *given: asked.append(given[2]["note"]) or answer(*given),
    )
    questions.write_text(TABLE + "And the birth rate?,Kenya,fourth\n", "utf-8")
    assert loaded("ask", "--from", str(questions), "--to", str(answers)).status == 1
    assert asked == ["third", "fourth"]
    assert [row["note"] for row in table(answers)] == [
        "first",
        "second",
        "third",
        "fourth",
    ]


def test_without_reports_nothing_is_kept_as_answered(run: Run, tmp_path: Path) -> None:
    questions, answers = tmp_path / "questions.csv", tmp_path / "answers.csv"
    questions.write_text("question\nWhat is the capital?\n", "utf-8")
    result = run("ask", "--from", str(questions), "--to", str(answers))
    assert (result.status, bulk.NO_REPORTS in result.err, answers.exists()) == (
        1,
        True,
        False,
    )
    assert (
        run(
            "ask", "--from", str(questions), "--to", str(answers), ON_EMPTY="general"
        ).status
        == 0
    )


def test_what_was_answered_stays_when_it_is_broken_off(
    loaded: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, answers = tmp_path / "questions.csv", tmp_path / "answers.jsonl"
    questions.write_text(TABLE.replace("Atlantis,third", "Kenya,third"), "utf-8")
    answer = bulk._answered

    def broken_off(*given):  # type: ignore[no-untyped-def]
        if given[2]["note"] == "second":
            raise KeyboardInterrupt
        return answer(*given)

    with monkeypatch.context() as patched:
        patched.setattr(bulk, "_answered", broken_off)
        result = loaded("ask", "--from", str(questions), "--to", str(answers))
    assert (result.status, "run the command again" in result.err) == (1, True)
    (line,) = map(json.loads, answers.read_text("utf-8").splitlines())
    assert (line["note"], line["answer"]["answered"]) == ("first", True)
    assert loaded("ask", "--from", str(questions), "--to", str(answers)).status == 0
    lines = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    assert [line["note"] for line in lines] == ["first", "second", "third"]


def test_what_is_no_table(run: Run, tmp_path: Path) -> None:
    for content, arguments, said in CASES["what is no table"]:
        questions = tmp_path / "questions.csv"
        questions.write_text(content, "utf-8")
        given = [
            str(tmp_path / one) if one.startswith("answers") else one
            for one in arguments
        ]
        result = run("ask", "--from", str(questions), *given)
        assert result.status in {1, 2}
        assert said in result.err
