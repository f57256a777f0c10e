"""Reports and questions in other languages than English: keyword search by LANGUAGE
(R-B5), the answer's language.
"""

import unicodedata

import pytest

from chatbot.answering.answer import prompt_for
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Question, Scope
from chatbot.language.analysis import LANGUAGES, Analyzer
from chatbot.language.detection import language_of
from tests.checking.conftest import context
from tests.data import cases

CASES = cases(__file__)
INFLECTED = CASES["inflected"]
OTHER = CASES["other"]


class TestKeywordSearch:
    @pytest.fixture(params=LANGUAGES)
    def settings(self, request: pytest.FixtureRequest, settings: Settings) -> Settings:
        return settings.override(language=request.param)

    def test_an_inflected_form_is_found_and_nothing_else(
        self, settings: Settings, services: Services, add_report
    ) -> None:
        text, query = INFLECTED[settings.language]
        add_report(f"# A\n\n{text}\n", "inflected")
        add_report(f"# B\n\n{OTHER[settings.language]}\n", "other")
        found = services.runtime.store.get(
            [
                match.chunk_id
                for match in services.runtime.store.keyword_search(
                    query, top_k=5, scope=Scope()
                )
            ]
        )
        assert [chunk.text for chunk in found] == [text]


def test_every_language_is_tried() -> None:
    assert set(INFLECTED) == set(LANGUAGES)


@pytest.mark.parametrize("language", ["french", "german", "spanish"])
def test_accents_written_apart_are_the_same_letters(language: str) -> None:
    text = INFLECTED[language][0]
    assert Analyzer(language).terms(unicodedata.normalize("NFD", text)) == Analyzer(
        language
    ).terms(text)


def test_turkish_capitals_keep_or_lack_their_dot() -> None:
    terms = Analyzer("turkish").terms
    assert terms("İZMİR") == terms("izmir")
    assert terms("ISPARTA") == terms("ısparta") != terms("isparta")


def test_the_model_is_told_to_answer_in_the_language_of_the_question() -> None:
    question = Question(
        "Wie schnell wächst die Bevölkerung?", Scope(), 5, "hybrid", "direct", ()
    )
    system, *_ = prompt_for(
        question, context("The population grows by 2.09%.")
    ).messages
    assert (
        "Answer in the language of the question, also where the passages are in "
        "another one"
    ) in system.content


def test_a_question_that_may_be_in_two_languages_is_in_that_of_the_page() -> None:
    assert language_of("Como se governa Angola?") == "spanish"
    assert (
        language_of("Como se governa Angola?", preferred="portuguese") == "portuguese"
    )


def test_letters_of_names_are_no_words_of_a_language() -> None:
    rows = [
        f"Region: Segou; School: Niono {letter}; Meals per day: 505" for letter in "CEF"
    ]
    assert language_of("\n".join(rows)) == "english"
