"""Report: an outline, sections that repeat nothing, one number for each passage, the
sources at the end.
"""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from chatbot.answering.writers.report import NOTHING, NOTHING_NEW
from chatbot.checking.wording import without_numbers
from tests.answering.modes.bench import Bench, Told, bench
from tests.data import cases
from tests.fakes.openai_replies import Recorded, Reply
from tests.fakes.scripted_model import ScriptedModel, asked, passages

CASES = cases(__file__)
TASK = "Write a report on the population of Kenya and Mali"
PLAN = {
    "People of Kenya": "What is the population of Kenya?",
    "Growth": "What is the population growth rate of Kenya?",
    "People of Mali": "What is the population of Mali?",
}
Section = Callable[[Recorded], str | Reply]


def outlined(**sections: str) -> str:
    return json.dumps(
        {
            "title": "People",
            "sections": [{"title": t, "question": q} for t, q in sections.items()],
        }
    )


def title_of(request: Recorded) -> str:
    found = re.search(r'Write the section "(.+)"\.', asked(request))
    assert found
    return found[1]


def written(**texts: str | Reply) -> Section:
    """By the section's title; "{}" is the number of the passage that has the first
    figure, else of the first one.
    """

    def say(request: Recorded) -> str | Reply:
        text = texts[title_of(request)]
        if isinstance(text, Reply):
            return text
        figure = re.search(r"\d[\d.,]+\d", text)
        found = re.findall(
            r'<passage-\w+ number="(\d+)">(.+?)</passage-', asked(request), re.DOTALL
        )
        number = next(
            (n for n, shown in found if figure and figure[0] in shown),
            passages(request)[0],
        )
        return text.replace("{}", f"[{number}]")

    return say


IDEAL = CASES["ideal"]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("report")) as opened:
        yield opened


def report(reports: Bench, **changed: str | Reply) -> Told:
    return reports.ask(
        "report",
        ScriptedModel(
            outline=outlined(**PLAN), section=written(**{**IDEAL, **changed})
        ),
        TASK,
    )


def section(told: Told, title: str) -> str:
    return told.answer.response.partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def test_an_outline_its_sections_and_their_sources(reports: Bench) -> None:
    told = report(reports)
    assert told.stages == ["outline", "section", "section", "section"]
    assert told.items("plan") == told.details("section") == list(PLAN)
    lines = told.answer.response.splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# People",
        *(f"## {t}" for t in PLAN),
        "## Sources",
    ]
    assert told.answer.unsupported == ()
    assert told.answer.answered
    told = report(reports)
    sources = dict(
        re.findall(
            r"^- \[(\d+)\] (.+)$",
            told.answer.response.partition("## Sources")[2],
            re.MULTILINE,
        )
    )
    cited = {citation.number: citation.hit.chunk for citation in told.answer.citations}
    assert set(map(int, sources)) == set(cited)
    for number, chunk in cited.items():
        assert (
            sources[str(number)]
            == f"{chunk.title}, {chunk.section.rpartition(' › ')[2]}"
        )
    assert list(map(int, sources)) == sorted(cited)
    told = report(reports)
    numbers: dict[str, set[str]] = {}
    for request in told.requests[1:]:
        for number, text in re.findall(
            r'<passage-\w+ number="(\d+)">(.+?)</passage-', asked(request), re.DOTALL
        ):
            numbers.setdefault(text, set()).add(number)
    assert {len(found) for found in numbers.values()} == {1}
    assert len({number for found in numbers.values() for number in found}) == len(
        numbers
    )
    told = report(reports)
    assert told.tokens == told.answer.response


def test_where_no_section_finds_anything_the_first_look_is_written_up(
    reports: Bench,
) -> None:
    plan = outlined(One="Qwertz?", Two="Zxcvb?")
    task = "The population of Kenya"
    model = ScriptedModel(
        outline=plan, section=lambda request: f"52,428,290 [{passages(request)[0]}]."
    )
    told = reports.ask("report", model, task, retrieval_method="bm25")
    assert told.answer.answered
    assert f"## {task}" in told.answer.response
    assert told.stages == ["outline", "section"]


def test_a_section_knows_what_is_written_and_says_it_not_again(reports: Bench) -> None:
    first = (
        "What is the population growth rate of Kenya? It is 2.09% (2023 est.) of its "
        "52,428,290 people {}."
    )
    told = report(
        reports,
        Growth=f"{first} Their number grows by 2.09% {{}}.",
        **{"People of Kenya": first},
    )
    assert (
        "Already written about this elsewhere:\n- What is the population growth"
        in asked(told.requests[2])
    )
    assert section(told, "Growth").startswith("Their number grows")
    assert told.timed("compare_written") == 3
    assert "52,428,290" in told.tokens.partition("## Growth")[2]


def test_a_section_knows_all_that_is_written_before_it(reports: Bench) -> None:
    beside = "Penguins swim across rivers of ice every winter"
    told = report(reports, **{"People of Kenya": f"{beside} {{}}."})
    before = asked(told.requests[3]).partition("Already written")[2]
    # Without its number: what is beside the section has no passage of it.
    assert f"- {beside}." in before


def test_a_section_that_says_nothing_new_says_so(reports: Bench) -> None:
    told = report(reports, Growth=IDEAL["People of Kenya"])
    assert section(told, "Growth") == NOTHING_NEW


def test_a_heading_and_a_lead_in_tell_nothing_new(reports: Bench) -> None:
    told = report(
        reports,
        Growth=f"### People\n\nThese are the figures:\n\n- {IDEAL['People of Kenya']}",
    )
    assert section(told, "Growth") == NOTHING_NEW


def test_a_number_that_a_section_was_not_shown_is_not_that_of_another_section(
    reports: Bench,
) -> None:
    """Models like to begin anew with [1], which is a passage of the first section."""
    said = "Mali has 20,137,527 (July 2021 est.) people [1] {}. They are many [1]."
    told = report(reports, **{"People of Mali": said})
    (own, *_) = shown = passages(told.requests[-1])
    assert "1" not in shown
    assert (
        section(told, "People of Mali")
        == f"Mali has 20,137,527 (July 2021 est.) people [{own}]. They are many."
    )


def test_what_an_earlier_section_says_may_be_cited_again(reports: Bench) -> None:
    first = "The population of Mali, people of Mali, is another matter [1]."
    told = report(
        reports,
        **{
            "People of Kenya": first,
            "People of Mali": "It is another matter, as was said [1].",
        },
    )
    assert f"- {first}" in asked(told.requests[-1])
    assert section(told, "People of Mali") == "It is another matter, as was said [1]."


def test_a_title_that_the_model_repeats_is_taken_out(reports: Bench) -> None:
    told = report(reports, Growth=f"## **Growth**\n\n{IDEAL['Growth']}")
    assert section(told, "Growth").startswith("Their number grows")


def test_a_failing_section_is_quoted_and_the_rest_goes_on(reports: Bench) -> None:
    told = report(reports, **{"People of Kenya": Reply(status=500)})
    assert section(told, "People of Kenya").startswith("The language model is not")
    assert "Quoted from the reports instead:" in section(told, "People of Kenya")
    assert "“52,428,290 (2023 est.)”" in section(told, "People of Kenya")
    assert section(told, "Growth").startswith("Their number grows")
    assert section(told, "People of Mali").startswith("Mali has")
    assert told.answer.trace.stopped_by == "model"


def test_a_model_that_keeps_failing_is_not_asked_for_ever(reports: Bench) -> None:
    told = report(
        reports, **{"People of Kenya": Reply(status=500), "Growth": Reply(status=500)}
    )
    assert told.answer.trace.usage.failed_calls == 2
    assert "“20,137,527 (July 2021 est.)”" in section(told, "People of Mali")
    assert told.answer.response.rstrip().splitlines()[-1].startswith("- [")


def test_wrong_figures_are_marked_and_the_sources_are_not(reports: Bench) -> None:
    told = report(reports, Growth="Their number grows by 7.5% a year {}.")
    (doubt,) = told.answer.unsupported
    assert doubt.figures == ("7.5%",)
    assert "- [" not in doubt.sentence


def test_a_long_task_makes_no_long_title(reports: Bench) -> None:
    task = (
        "Write a report on the population of Kenya " + "and on what comes of it " * 30
    )
    told = reports.ask("report", ScriptedModel(outline="No."), task.strip())
    assert all(
        len(line) < 130
        for line in told.answer.response.splitlines()
        if line.startswith("#")
    )


class TestNothing:
    def test_a_section_without_passages_says_so(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        with bench(tmp_path_factory.mktemp("floor"), relevance_floor=0.62) as opened:
            plan = outlined(**PLAN, Moon="Who walked across lunar craters?")
            told = opened.ask(
                "report", ScriptedModel(outline=plan, section=written(**IDEAL)), TASK
            )
        assert section(told, "Moon") == NOTHING
        assert told.stages.count("section") == 3

    def test_a_report_on_nothing_is_no_report(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        with bench(tmp_path_factory.mktemp("nothing"), relevance_floor=0.999) as opened:
            told = opened.ask("report", ScriptedModel(outline=outlined(**PLAN)), TASK)
        assert told.stages == ["outline"]
        assert "do not seem to answer this question" in told.answer.response
        assert "The closest passages:" in told.answer.response
        assert not told.answer.answered


class TestBudget:
    @pytest.mark.parametrize(("calls", "sections"), [(1, 1), (2, 1), (3, 2), (4, 3)])
    def test_a_report_out_of_calls_names_what_it_did_not_write(
        self, tmp_path_factory: pytest.TempPathFactory, calls: int, sections: int
    ) -> None:
        """What is left is written with what there is; the rest is named."""
        with bench(tmp_path_factory.mktemp("calls"), budget_calls=calls) as opened:
            task = "Compare the population of Kenya and Mali" if calls == 1 else TASK
            model = ScriptedModel(
                outline=outlined(**PLAN),
                section=lambda request: f"So it is [{passages(request)[0]}].",
            )
            told = opened.ask("report", model, task)
        assert told.stages.count("section") == sections
        assert told.answer.trace.usage.calls == calls
        assert told.answer.trace.stopped_by == ("calls" if calls < 4 else "")
        assert ("Not written: " in told.answer.response) == (calls < 4)
        # The finished text has its citations numbered as they appear.
        assert without_numbers(told.tokens).rstrip() == without_numbers(
            told.answer.response
        )
