"""The figures of an answer, drawn: what is drawn of them, that every point opens its
passage, and the files.
"""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.test_steps import ask, finished
from tests.fakes.scripted_chat import WORLD, Json, ScriptedChat, done, source

RATES = {
    "Kenya": {2020: 5.3, 2021: 6.1, 2023: 7.7, 2024: 4.5},
    "Somalia": {2020: 4.3, 2021: 4.6, 2022: 6.8},
}


def figure(subject: str, year: int | None, value: float, **fields: Any) -> Json:
    said = {
        "indicator": "Inflation rate",
        "unit": "%",
        "text": f"{value}%",
        "estimate": True,
        "edition": 2025,
    }
    where = {
        "document_id": "d",
        "chunk_id": "c",
        "newest": True,
        "citation": 1 if subject == "Kenya" else 2,
    }
    return {"subject": subject, "year": year, "value": value, **said, **where, **fields}


FIGURES = [
    figure(subject, year, value)
    for subject, years in RATES.items()
    for year, value in years.items()
]
STATED = "Kenya 4.5% [1], Somalia 6.8% [2]."
REVISED = figure("Kenya", 2021, 5.9, edition=2023, newest=False)


def show(
    page: Page,
    chat: ScriptedChat,
    figures: list[Json],
    text: str = "",
    **changed: bool,
) -> Any:
    """Show an answer that states these figures, unless it has another text."""
    stated = " ".join(f"{one['text']} [{one['citation']}]." for one in figures)
    text = text or stated or STATED
    turn = ask(page)
    name, answer = done(text, source(1), source(2, country="Somalia"))
    answer["citations"][1]["supported"] = changed.get("supported", True)
    chat.say((name, {**answer, "figures": figures}))
    finished(page, turn)
    return turn.locator(".figures")


@contextmanager
def answered(page: Page, pattern: str, answer: Json) -> Iterator[None]:
    """Answer requests of the page that its scripted server does not know."""
    page.route(pattern, lambda route: route.fulfill(json=answer))
    yield
    page.unroute(pattern)


def test_lines_over_the_years_with_their_gaps_and_revisions(
    browser: Page, chat: ScriptedChat
) -> None:
    box = show(browser, chat, [*FIGURES, REVISED, figure("Kenya", None, 1.0)])
    expect(box.locator("h3")).to_have_text("Inflation rate")
    expect(box.locator(".legend li")).to_have_text(
        ["Kenya", "Somalia", "Earlier editions, revised since"]
    )
    expect(box.locator(".legend .revised")).to_have_count(1)
    expect(box.locator(".line.series-0:not(.gap)")).to_have_attribute(
        "d", re.compile("^M[^M]+M[^M]+$")
    )
    expect(box.locator(".gap")).to_have_count(1)  # Kenya's 2022 is missing
    expect(box.locator(".line.series-1")).to_have_attribute("d", re.compile("^M[^M]+$"))
    expect(box.locator(".axis-note")).to_have_text("The axis starts at 4 %.")
    expect(box.locator(".point")).to_have_count(8)
    revised = box.locator(".point.revised")
    expect(revised).to_have_attribute(
        "aria-label",
        "Kenya, 2021: 5.9%, estimate, report of 2023, source 1, revised later",
    )


@pytest.mark.nightly
def test_money_is_drawn_with_its_sign_and_one_country_alone_is_named(
    browser: Page, chat: ScriptedChat
) -> None:
    billions = {2021: 11_815_000_000, 2022: 13_954_000_000, 2023: -1_000_000_000}
    money = [
        figure(
            "Kenya",
            year,
            value,
            indicator="Exports",
            unit="$",
            text=f"${value} in dollars",
        )
        for year, value in billions.items()
    ]
    ages = [
        figure("Kenya", year, 19.0 + year - 2020, indicator="Median age", unit="years")
        for year in billions
    ]
    box = show(browser, chat, [*money, *ages])
    expect(box.locator("h3")).to_have_text(
        ["Kenya: Exports", "Kenya: Median age (years)"]
    )
    axes = [
        one.locator(".plot > text[text-anchor=end]").all_text_contents()
        for one in box.locator(".chart").all()
    ]
    assert axes[0] == ["-$5B", "$0", "$5B", "$10B", "$15B"]
    assert axes[1][0] == "20"
    box = show(
        browser,
        chat,
        [{**money[0], "subject": name, "citation": 1} for name in ("Kenya", "Somalia")],
    )
    expect(box.locator(".point text").last).to_have_text("$11.82B")


def test_bars_of_one_year_and_nothing_of_what_no_source_bears(
    browser: Page, chat: ScriptedChat
) -> None:
    of_2023 = [figure("Kenya", 2023, 7.7), figure("Somalia", 2023, 6.1)]
    box = show(browser, chat, of_2023)
    expect(box.locator("h3")).to_have_text("Inflation rate, 2023")
    expect(box.locator(".point")).to_have_count(2)
    for figures, supported in (([of_2023[0]], True), (of_2023, False), ([], True)):
        expect(show(browser, chat, figures, supported=supported)).to_be_hidden()


def test_rows_of_a_sheet_have_no_map_whole_names_and_one_list(
    browser: Page, chat: ScriptedChat
) -> None:
    browser.set_viewport_size({"width": 390, "height": 800})
    names = [f"2026-01-{day:02}, Fernandes, Double" for day in range(1, 9)]
    rows = [figure(name, 2026, 7.5, citation=1) for name in names]
    listed = "\n".join(f"1. {name}: 7.5% (2026) [1]" for name in names)
    box = show(browser, chat, rows, f"Paid: 8 rows.\n\n{listed}")
    expect(box.locator(".point text:first-of-type")).to_have_text(names)
    expect(box.locator("summary")).to_have_text(["Table"])
    body = browser.locator(".answer-body").last
    expect(body.locator("ol")).to_be_hidden()
    body.get_by_text("8 values", exact=True).click()
    expect(body.locator("ol li")).to_have_count(8)
    expect(body.locator("ol")).to_be_visible()


@pytest.mark.nightly
def test_a_ranking_is_drawn_as_bars_in_its_order_whatever_the_years(
    browser: Page, chat: ScriptedChat
) -> None:
    sudan = [
        figure("Sudan", year, value, citation=1)
        for year, value in ((2020, 163.3), (2021, 359.1), (2022, 3.8))
    ]
    text = (
        "1. Sudan: 3.8% (2022 est.) [1]\n2. Kenya: 4.5% (2024 est.) [1]\n3. Somalia: "
        "6.8% (2022 est.) [2]"
    )
    box = show(browser, chat, [*FIGURES, *sudan], text)
    expect(box.locator(".plot .point")).to_have_text(
        [
            re.compile(f"{name}$")
            for name in (r"3.8% \(2022\)", r"4.5% \(2024\)", "2022\\)")
        ]
    )
    others = {
        "columns": [{"indicator": "Inflation rate", "unit": "%", "year": None}],
        "rows": [
            {"subject": "Kenya", "cells": [{"value": 4.5, "text": "4.5%"}]},
            {"subject": "Mali", "cells": [{"value": 1.5, "text": "1.5%"}]},
            {"subject": "Peru", "cells": [None]},
        ],
    }
    world = {"country_name": [*WORLD, {"value": "Mali", "code": "466"}]}
    with (
        answered(browser, "**/api/figures/query", others),
        answered(browser, "**/api/facets?field=country_name*", world),
    ):
        box.get_by_text("Map", exact=True).click()
        expect(box.locator(".map .land")).to_have_count(177)
    # All countries with a figure are shaded, and those of the answer outlined.
    expect(box.locator(".map .chosen")).to_have_count(3)
    expect(box.locator(".map title").filter(has_text="Mali: 1.5%")).to_have_count(1)
    expect(box.locator(".map g:not(.chosen) > .step-1")).to_have_count(1)
    fill = box.locator(".map .land.none").first.evaluate(
        "(node) => document.querySelector(getComputedStyle(node).fill.slice(5, -2))"
        "?.closest('.map')?.checkVisibility()"
    )
    assert fill is True
    somalia = box.get_by_role("button", name="Somalia, 2022: 6.8%, source 2").last
    expect(somalia.locator(".step-4")).to_have_count(1)
    somalia.press("Enter")
    expect(browser.locator("#evidence-number")).to_have_text("Source 2")


@pytest.mark.nightly
def test_many_lines_have_their_names_with_signs_at_their_ends_and_no_legend(
    browser: Page, chat: ScriptedChat
) -> None:
    """A stroke from a line that ends early to its name looked like figures, and so did
    a sign between the two.
    """
    names = ("Chad", "Iraq", "Kenya", "Laos", "Mali", "Oman", "Somalia")
    figures = [
        figure(name, year, float(place + year % 7), citation=1)
        for place, name in enumerate(names)
        for year in range(2020, 2023 if name == "Chad" else 2025)
    ]
    box = show(browser, chat, figures)
    expect(box.locator(".end-label > path")).to_have_count(len(names))
    shown = {"Chad (2022)", *names} - {"Chad"}
    assert set(box.locator(".end-label").all_text_contents()) == shown
    gaps = box.locator(".end-label").evaluate_all(
        "(labels) => labels.map((label) => {"
        "  const boxOf = (node) => node.getBoundingClientRect();"
        "  const [name, sign] = [...label.children].map(boxOf);"
        "  const plot = boxOf(label.closest('svg'));"
        "  return [sign.left - name.right, plot.right - sign.right];"
        "})"
    )
    assert all(0 < behind < 12 and inside >= 0 for behind, inside in gaps), gaps
    expect(box.locator(".legend")).to_be_hidden()
    expect(box.locator(".line")).to_have_count(len(names))
    browser.set_viewport_size({"width": 320, "height": 800})
    expect(box.locator(".end-label")).to_have_count(0)
    expect(box.locator(".legend")).to_be_visible()


def test_long_rows_of_citations_and_lists_of_sources_are_folded(
    browser: Page, chat: ScriptedChat
) -> None:
    turn = ask(browser)
    numbers = range(1, 21)
    marks = "".join(f"[{number}]" for number in numbers)
    stated = [figure("Kenya", 2004 + number, 1.0 + number) for number in numbers]
    sources = [source(number) for number in numbers]
    name, answer = done(f"Total of 20 rows: 7 {marks}. One [1].", *sources)
    chat.say((name, {**answer, "figures": stated}))
    finished(browser, turn)
    for box, shown in ((".answer-body .citation", 4), (".sources .source", 8)):
        assert turn.locator(box).filter(visible=True).count() == shown
    row, rest = turn.locator(".more-citations").all()
    expect(row).to_have_text("17 more")
    expect(rest).to_have_text("12 more")
    rest.click()
    expect(turn.locator(".source").nth(8)).to_be_focused()
    row.click()
    expect(turn.locator(".answer-body .citation").nth(3)).to_be_focused()
    assert turn.locator(".answer-body .citation").filter(visible=True).count() == 21
    expect(turn.locator(".more-citations")).to_have_count(0)


@contextmanager
def in_french(page: Page) -> Iterator[None]:
    """Show the page in French, with French names of countries."""

    def add_labels(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        for one in body["country_name"]:
            one["label"] = {"Somalia": "Somalie"}.get(one["value"], one["value"])
        route.fulfill(response=response, json=body)

    page.route("**/api/facets*", add_labels)
    cookie = {"name": "language", "value": "fr", "url": page.url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.reload()
    yield
    page.unroute("**/api/facets*")
    page.context.clear_cookies()
    page.reload()


def test_names_and_numbers_are_those_of_the_language_of_the_page(
    browser: Page, chat: ScriptedChat
) -> None:
    text = "Somalie : 6,8% [2], Kenya : 4,5% [1]."
    name, answer = done(text, source(1), source(2, country="Somalia"))
    with in_french(browser):
        browser.locator("#question").fill("Inflation ?")
        browser.locator("#send").click()
        chat.say((name, {**answer, "figures": FIGURES}))
        box = browser.locator(".turn").last.locator(".figures")
        expect(box.locator(".legend li")).to_have_text(["Kenya", "Somalie"])
        point = box.locator(".point[aria-label^='Somalie, 2022: 6,8%']")
        expect(point).to_have_count(1)
        box.locator("summary", has_text="Tableau").click()
        cells = box.locator(".figures-table tbody tr", has_text="2022").locator("td")
        expect(cells.first).to_have_text("Somalie")
        expect(cells.nth(2)).to_contain_text("6,8%")
        bold = browser.locator(".turn").last.locator(".answer-body strong")
        expect(bold).to_have_text(["6,8%", "4,5%"])


@pytest.mark.nightly
def test_sentences_that_say_a_table_again_are_folded(
    browser: Page, chat: ScriptedChat
) -> None:
    table = (
        "| Year | Kenya | Somalia |\n|---|---|---|\n"
        "| 2020 | 5.3% [1] | 4.3% [2] |\n| 2021 | 6.1% [1] | 4.6% [2] |\n\n"
    )
    again = (
        "Kenya: rose from 5.3% (2020) [1] to 6.1% (2021) [1]. "
        "Somalia: rose from 4.3% (2020) [2] to 4.6% (2021) [2]."
    )
    show(browser, chat, FIGURES, f"{table}{again}\n\nOnly 4.5% [1].")
    body = browser.locator(".turn .answer-body").last
    folded = body.locator("details")
    expect(folded.locator("summary")).to_have_text("In words")
    expect(folded.locator(".citation")).to_have_text(["1", "1", "2", "2"])
    show(browser, chat, FIGURES, f"{table}{again} Chad: 4.1% [1].")
    expect(body.locator("table")).to_be_visible()
    expect(body.locator("details")).to_have_count(0)


def test_a_quoted_row_is_shown_without_heads_that_say_nothing(
    browser: Page, chat: ScriptedChat
) -> None:
    rows = (
        "“Item: Boreholes; Value: 55 · **Item: Pumps; Value: 4** · Sex: Male; Value: 2”"
    )
    show(browser, chat, FIGURES, f"- **Kenya 2024:** {rows} [1]")
    expect(browser.locator(".turn .answer-body li").last).to_contain_text(
        "“Boreholes: 55 · Pumps: 4 · Sex: Male; Value: 2”"
    )


def test_the_keyboard_goes_from_point_to_point_and_opens_the_passage(
    browser: Page, chat: ScriptedChat
) -> None:
    box = show(browser, chat, FIGURES)
    points = box.locator(".point")
    expect(points).to_have_count(len(FIGURES))
    assert (
        points.evaluate_all("(all) => all.filter((one) => one.tabIndex === 0).length")
        == 1
    )
    points.first.focus()
    browser.keyboard.press("ArrowRight")
    expect(points.nth(1)).to_be_focused()
    browser.keyboard.press("ArrowLeft")
    browser.keyboard.press("ArrowLeft")
    expect(points.last).to_be_focused()
    browser.keyboard.press("Enter")
    expect(browser.locator("#evidence-number")).to_have_text("Source 2")
    browser.keyboard.press("Escape")
    expect(points.last).to_be_focused()


@pytest.mark.nightly
def test_the_table_is_sorted_and_all_of_it_can_be_kept(
    browser: Page, chat: ScriptedChat, tmp_path: Path
) -> None:
    box = show(browser, chat, [*FIGURES, figure("=HYPERLINK(1)", 2020, 1.0)])
    box.get_by_text("Table", exact=True).click()
    box.get_by_role("button", name="Figure", exact=True).click()
    values = [
        float(text.split("%")[0])
        for text in box.locator("tbody td:nth-child(3)").all_text_contents()
    ]
    assert values == sorted([*(one["value"] for one in FIGURES), 1.0])
    kept: dict[str, Path] = {}
    for kind in ("CSV", "SVG", "PNG"):
        with browser.expect_download() as waiting:
            box.get_by_role("button", name=f"{kind}: download Inflation rate").click()
        waiting.value.save_as(path := tmp_path / waiting.value.suggested_filename)
        kept[kind] = path
    assert [path.name for path in kept.values()] == [
        "Inflation rate.csv",
        "Inflation rate.svg",
        "Inflation rate.png",
    ]
    table = kept["CSV"].read_text("utf-8-sig")
    assert (
        "Inflation rate,Kenya,2023,7.7,%,7.7%,true,2025,Kenya: Country Report "
        "2023,1,http"
    ) in table
    assert "'=HYPERLINK(1)" in table
    drawn = kept["SVG"].read_text("utf-8")
    for text in (">Kenya<", ">Somalia<", "Sources: Kenya: Country Report 2023"):
        assert text in drawn
    assert "var(" not in drawn
    assert "class=" not in drawn
    assert kept["PNG"].read_bytes().startswith(base64.b64decode("iVBORw0KGgo="))
    assert unquote(drawn).count("<path") >= 7


def test_of_a_quotation_only_the_sentence_that_answers_is_bold(
    browser: Page, chat: ScriptedChat
) -> None:
    """Other values of the source are not made bold beside it, also with signs of
    Markdown in the sentence and on a phone.
    """
    browser.set_viewport_size({"width": 390, "height": 800})
    marked = "**\\*6.1%\\* (2021) \\[1\\] \\[so\\]**"
    text = f"- **Kenya 2025, Inflation:** “4.5% · {marked} · 5.3%” [1]"
    show(browser, chat, FIGURES, text)
    body = browser.locator(".turn .answer-body").last
    expect(body.locator("strong")).to_have_text(
        ["Kenya 2025, Inflation:", "*6.1%* (2021) [1] [so]"]
    )
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
