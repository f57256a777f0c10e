"""The page in Spanish, because the browser asks for it, then in French and Arabic,
because the person does.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from chatbot.config import STATIC
from tests.browser.test_start import address

__all__ = ["address"]
VISIBLE = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement.closest("script, style, noscript, [lang]:not(html)")) texts.push(node.data.trim());
  const names = ["aria-label", "title", "placeholder"];
  for (const node of document.querySelectorAll("*")) texts.push(...names.map((name) => node.getAttribute(name) ?? ""));
  return texts.filter(Boolean);
}"""  # noqa: E501


@pytest.fixture
def page(launched: Browser, address: str) -> Iterator[Page]:
    context = launched.new_context(locale="es-MX")
    opened, problems = context.new_page(), list[str]()
    opened.on(
        "console",
        lambda m: problems.append(m.text) if m.type in {"error", "warning"} else None,
    )
    opened.goto(address)
    yield opened
    context.close()
    assert problems == []


def ask(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".answer-footer").last).to_be_visible()


def is_all_in(page: Page, language: str) -> bool:
    """Whether no text of the interface is left in English."""
    words = json.loads(Path(STATIC / "words" / f"{language}.json").read_text("utf-8"))
    english = {text for text, said in words.items() if said != text}
    return english.isdisjoint(page.evaluate(VISIBLE))


@pytest.mark.nightly
def test_spanish_by_the_browser_and_french_by_the_switch(
    page: Page, address: str
) -> None:
    expect(page.locator("html")).to_have_attribute("lang", "es")
    expect(page.locator("#welcome h1")).to_have_text("¿Qué quiere saber?")
    expect(page.locator("#contents")).to_contain_text(
        "3 informes sobre 2 países, 2021 a 2023"
    )
    ask(page, "What is the growth rate of Kenya in the 2023 report?")
    answer = page.locator(".turn").last
    expect(answer.locator(".answer-body")).to_contain_text("Citado de los informes:")
    expect(answer.locator(".sources-title")).to_have_text("Fuentes")
    expect(answer.locator(".scope-line")).to_contain_text(
        "informe de 2023 (de su pregunta)"
    )
    answer.locator(".ledger summary").click()
    ask(page, "What is the growth rate of Atlantis and Peru?")
    expect(page.locator(".turn").last.locator(".answer-body")).to_contain_text(
        "No hay ningún informe sobre Peru"
    )
    page.locator("#scope-button").click()
    assert is_all_in(page, "es")
    page.locator("#scope-done").click()
    page.locator("#language").select_option("fr")
    expect(page.locator("html")).to_have_attribute("lang", "fr")
    expect(page.locator(".sources-title").first).to_have_text("Sources")
    expect(page.locator("#question")).to_have_attribute(
        "placeholder", "Interrogez vos rapports"
    )
    page.goto(f"{address}/documents")
    expect(page.locator("#total")).to_have_text("3 documents")
    expect(page.locator("h1")).to_have_text("Base de connaissances")
    assert is_all_in(page, "fr")
    page.locator("#language").select_option("ar")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    ask(page, "What is the growth rate of Kenya in the 2023 report?")
    assert page.evaluate("[document.dir, document.documentElement.scrollWidth]") == [
        "rtl",
        390,
    ]
    page.locator(".answer-body .citation").first.click()
    expect(page.locator("#evidence-number")).to_have_text("المصدر 1")
    expect(page.locator("#evidence-passage:dir(ltr) mark")).to_contain_text(
        "Kenya grows by 2.3%"
    )
    assert is_all_in(page, "ar")
    page.goto(f"{address}/documents")
    page.locator("#file-input").set_input_files(
        {"name": "no.pdf", "mimeType": "application/pdf", "buffer": b"Text"}
    )
    expect(page.locator("#staged .file-error")).to_contain_text("أعد تسميته")


def test_the_pages_differ_by_language_for_caches_too(page: Page, address: str) -> None:
    answered = page.request.get(address, headers={"Accept-Language": "fr;q=0.9, de"})
    assert '<html lang="fr"' in answered.text()
    assert {"Accept-Language", "Cookie"} <= {
        name.strip() for name in answered.headers["vary"].split(",")
    }
    assert (
        "Page introuvable"
        in page.request.get(
            f"{address}/no", headers={"Accept-Language": "fr", "Accept": "text/html"}
        ).text()
    )
    assert (
        '<html lang="en"'
        in page.request.get(address, headers={"Accept-Language": "de"}).text()
    )
