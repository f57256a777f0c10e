"""Report: one text with headings that repeats nothing, the sources at the end."""

import re
from collections.abc import Iterator

import pytest

from chatbot.answering.writers.report import LENGTH, WANTED
from chatbot.language.markdown import escape_markdown
from tests.answering.modes.bench import Bench, Told, bench
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel, asked, passages

TASK = "Write a report on the population of Kenya and Mali"
KENYA = "Kenya has 52,428,290 (2023 est.) people"


def written(*parts: str) -> ScriptedModel:
    """The parts of a text; "{}" is the number of the first passage that has the first
    figure of its part.
    """

    def say(request: Recorded) -> str:
        shown = re.findall(
            r'<passage-\w+ number="(\d+)">(.+?)</passage-', asked(request), re.DOTALL
        )
        texts = []
        for part in parts:
            figure = re.search(r"\d[\d.,]+\d", part)
            numbers = [n for n, text in shown if figure and figure[0] in text]
            number = (numbers or passages(request))[0]
            texts.append(part.replace("{}", f"[{number}]"))
        return "\n\n".join(texts)

    return ScriptedModel(answer=say)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("report")) as opened:
        yield opened


def report(reports: Bench, *parts: str, task: str = TASK) -> Told:
    return reports.ask("report", written(*parts), task)


def test_it_is_written_in_one_call_and_ends_with_its_sources(reports: Bench) -> None:
    told = report(reports, "# People", f"## Kenya\n\n{KENYA} {{}}.")
    assert told.stages[-1] == "answer"
    assert told.stages.count("answer") == 1
    assert told.requests[-1].body["max_tokens"] == LENGTH * 1024
    assert WANTED in asked(told.requests[-1])
    lines = told.answer.response.splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings == ["# People", "## Kenya", "## Sources"]
    listed = told.answer.response.partition("## Sources")[2]
    sources = re.findall(r"^- \[(\d+)\] (.+)$", listed, re.MULTILINE)
    (cited,) = told.answer.citations
    chunk = cited.hit.chunk
    section = chunk.section.rpartition(" › ")[2]
    assert sources == [("1", escape_markdown(f"{chunk.title}, {section}"))]
    assert told.answer.answered
    assert not told.answer.unsupported


def test_a_section_repeats_nothing_of_an_earlier_one(reports: Bench) -> None:
    """R-A6."""
    first = f"{KENYA}, more than all its neighbours {{}}."
    told = report(
        reports,
        "# People",
        f"## Kenya\n\n{first}",
        f"## Again\n\n{first} They work {{}}.",
    )
    assert told.answer.response.count("52,428,290") == 1
    assert "They work" in told.answer.response


def test_wrong_figures_are_marked_and_the_sources_are_not(reports: Bench) -> None:
    told = report(reports, "Their number grows by 7.5% a year {}.")
    (doubt,) = told.answer.unsupported
    assert doubt.figures == ("7.5%",)
    assert "- [" not in doubt.sentence


def test_where_the_model_fails_it_is_quoted(reports: Bench) -> None:
    told = reports.ask("report", ScriptedModel(answer=Reply(status=500)), TASK)
    assert "52,428,290" in told.answer.response
    assert told.answer.degraded is not None


def test_a_report_on_nothing_is_no_report(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with bench(tmp_path_factory.mktemp("nothing"), relevance_floor=0.999) as opened:
        told = opened.ask("report", ScriptedModel(), TASK)
    assert "answer" not in told.stages
    assert "The closest passages:" in told.answer.response
    assert not told.answer.answered


def test_few_tokens_make_a_short_report(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with bench(tmp_path_factory.mktemp("tokens"), budget_tokens=5_000) as opened:
        told = report(opened, f"{KENYA} {{}}.")
    most = told.requests[-1].body["max_tokens"]
    assert 1024 <= most < LENGTH * 1024
