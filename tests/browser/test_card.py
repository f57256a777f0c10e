"""The answer card, how to cite it, and the ways on from a question without one."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Page, expect

from chatbot.app.services import Services
from chatbot.config import SAMPLE_DATA
from chatbot.library.derived import default_glossary
from tests.app.web.live import address, application
from tests.browser.conftest import Watched
from tests.conftest import ingest_file, small_settings

__all__ = ["address"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    settings = small_settings(
        tmp_path_factory.mktemp("data"), embedding_provider="hashing"
    )
    with application(settings) as made:
        for country, year in (("Kenya", 2023), ("Kenya", 2025), ("Somalia", 2025)):
            path = SAMPLE_DATA / f"country_reports/{country.lower()}-{year}.md"
            ingest_file(
                made.extensions["services"],
                path,
                path.as_posix(),
                country_name=country,
                year=year,
            )
        sheet = tmp_path_factory.mktemp("sheet") / "stoves.csv"
        sheet.write_text(
            "Month,Village,Stoves built\nMay,Oro,20\nMay,Luz,30\nJune,Oro,7\n"
            "June,Luz,8\n",
            encoding="utf-8",
        )
        ingest_file(made.extensions["services"], sheet, "stoves.csv")
        yield made


@pytest.fixture
def page(reused: Watched, address: str) -> Iterator[Page]:
    opened, problems = reused
    problems.clear()
    opened.goto(address)
    yield opened
    assert problems == []


def ask(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer").last).to_be_visible()


def test_a_value_is_shown_large_with_its_year_and_nothing_else_is_drawn(
    page: Page,
) -> None:
    ask(page, "What is the population growth rate of Kenya?")
    card = page.locator(".card")
    expect(card.locator(".card-value")).to_have_text("2.06%")
    expect(card.locator(".card-tile")).to_contain_text(
        "Population growth rate · Kenya2.06%2024, estimate"
    )
    expect(page.locator(".figures")).to_be_hidden()
    # Steps are one grey word.
    assert page.locator(".steps-summary").evaluate("(node) => node.offsetWidth") <= 1
    card.locator(".card-source").click()
    expect(page.locator("#evidence-passage mark").first).to_contain_text("2.06%")


def test_two_values_stand_side_by_side(page: Page) -> None:
    ask(page, "Compare the inflation rate of Kenya and Somalia")
    expect(page.locator(".card-tile .eyebrow")).to_have_text(["Kenya", "Somalia"])
    expect(page.locator(".chart")).to_have_count(1)
    expect(page.locator(".chart h3")).to_contain_text("Inflation rate")


def test_sums_of_a_sheet_are_drawn_and_cannot_be_explored(page: Page) -> None:
    ask(page, "Which village has built the most stoves?")
    points = page.locator(".chart .point")
    expect(points).to_have_count(2)
    labels = [point.get_attribute("aria-label") or "" for point in points.all()]
    shown = [label.partition(", source")[0] for label in labels]
    assert shown == ["Luz: 38, sum of 2", "Oro: 27, sum of 2"]
    expect(page.locator(".explore-link")).to_have_count(0)


def test_a_figure_is_cited_in_two_clicks(page: Page) -> None:
    ask(page, "What is the population growth rate of Kenya?")
    page.locator(".cite").click()
    forms = page.locator(".cite-text")
    expect(forms).to_have_count(5)
    sentence, _, bibtex, ris, link = forms.all_inner_texts()
    assert sentence.startswith("Kenya, Population growth rate: 2.06% (2024, estimate).")
    assert "Kenya: Country Report 2025" in sentence
    assert "accessed" in sentence
    assert bibtex.startswith("@techreport{KenyaCountryReport2025")
    assert ris.splitlines()[0] == "TY  - RPRT"
    assert "/passages/" in link
    page.keyboard.press("Escape")
    expect(page.locator("dialog.cite")).to_have_count(0)


def test_the_cards_of_two_answers_are_no_landmarks_of_one_name(page: Page) -> None:
    for number in (1, 2):
        ask(page, "What is the population growth rate of Kenya?")
        cards = page.get_by_role("group", name="Answer in figures")
        expect(cards).to_have_count(number)
    expect(page.get_by_role("region", name="Answer in figures")).to_have_count(0)


def test_a_question_without_an_answer_goes_on_by_one_tap(page: Page) -> None:
    ask(page, "What was the inflation rate of Kenya in 1990?")
    ways = page.locator(".ways-on .way-on")
    expect(ways).to_have_text([re.compile(r"^Ask for \d{4}$"), "Tell who runs this"])
    nearest = ways.first.inner_text().removeprefix("Ask for ")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator(".ledger")).to_be_visible()
    page.locator(".nearest summary").click()
    expect(page.locator(".nearest .source").first).to_contain_text("Kenya")
    ways.last.click()
    expect(ways.last).to_have_text("Thank you. Your feedback is saved.")
    ways.first.click()
    expect(page.locator(".question").last).to_have_text(
        f"What was the inflation rate of Kenya in {nearest}?"
    )


def test_each_example_is_answered_as_if_asked_first(page: Page, app: Flask) -> None:
    """The small answers of the first screen, each asked after each other one."""
    cards = page.locator("#examples [data-indicator]")
    expect(cards).to_have_count(2)
    examples = {
        card.get_attribute("data-example"): card.get_attribute("data-indicator")
        for card in cards.all()
    }
    client = app.test_client()

    def asked(question: str | None, **fields: str) -> Any:
        return client.post("/query", json={"query": question, **fields}).get_json()

    for question, indicator in examples.items():
        alone = asked(question)
        assert alone["card"]["indicators"] == [indicator], question
        for other in examples:
            first = asked(other)
            after = asked(question, conversation_id=first["conversation_id"])
            assert after["response"] == alone["response"]
    cards.first.click()
    expect(page.locator(".card-value").last).to_be_visible()


LOCAL = [
    ("es", "Población: ¿cuál es la cifra de "),
    ("fr", "Population : quel est le chiffre pour "),
    ("pt", "População: qual é o valor para "),
    ("ar", "ما قيمة سكان في "),
]


@pytest.mark.parametrize(("language", "begin"), LOCAL)
def test_examples_are_asked_in_the_language_of_the_page(
    page: Page, app: Flask, language: str, begin: str
) -> None:
    services: Services = app.extensions["services"]
    services.storage.glossary.put("", default_glossary(), replace_all=True)
    page.context.add_cookies([{"name": "language", "value": language, "url": page.url}])
    page.reload()
    cards = page.locator("#examples [data-indicator]")
    expect(cards.first).to_have_attribute("data-example", re.compile(f"^{begin}"))
    expect(cards.locator("[lang=en]")).to_have_count(0)
    for card in cards.all():
        asked = {"query": card.get_attribute("data-example"), "language": language}
        answer = app.test_client().post("/query", json=asked).get_json()
        assert answer["card"]["indicators"] == [card.get_attribute("data-indicator")]
    page.context.clear_cookies()


@pytest.mark.nightly
def test_the_same_question_is_asked_of_each_document_of_a_scope(
    page: Page, app: Flask
) -> None:
    page.goto(page.url.split("?")[0] + "collection?country_name=Kenya")
    rows = page.locator("#each-rows tr")
    expect(rows).to_have_count(2)
    before = kept(app)
    page.locator("#each-question").fill("What is the population growth rate?")
    page.keyboard.press("Enter")
    expect(rows.nth(0)).to_contain_text("2.09% (2023 est.)")
    expect(rows.nth(1)).to_contain_text("2.06% (2024 est.)")
    with page.expect_download() as waiting:
        page.locator("#each-file").click()
    table = waiting.value.path().read_text("utf-8-sig").splitlines()
    assert table[0] == '"Document","What is the population growth rate?","Source"'
    assert len(table) == 3
    assert "2.09% (2023 est.)" in table[1]
    # It is no conversation.
    assert kept(app) == before
    assert page.locator("#ask-all").get_attribute("href") == "/?country_name=Kenya"


def kept(app: Flask) -> int:
    services: Services = app.extensions["services"]
    return services.storage.database["conversations"].count({})
