"""A misspelt word is taken for the word of the library that it was meant to be; other
words stay as they are.
"""

import pytest

from chatbot.library.derived import default_glossary
from chatbot.questions.reading import read_names
from chatbot.search.spelling import Spelling
from tests.data import cases
from tests.questions.reports import MANY

CASES = cases(__file__)
GLOSSARY = default_glossary()


def written_nowhere(word: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "meant"), CASES["slips"] + [(text, text) for text in CASES["no slips"]]
)
def test_slips_are_corrected_and_other_words_stay(text: str, meant: str) -> None:
    spelling = Spelling(lambda: GLOSSARY, lambda: {"Quarries": {"granite": 2}})
    assert spelling.corrected(read_names(text, MANY), written_nowhere)[0] == meant


def test_words_of_new_reports_are_known() -> None:
    headings: dict[str, dict[str, int]] = {}
    spelling = Spelling(tuple, lambda: dict(headings))
    question = read_names("How large is the herbarum?", MANY)
    assert spelling.corrected(question, written_nowhere) == (question.text, {})
    headings["Herbarium"] = {"": 1}
    assert spelling.corrected(question, written_nowhere) == (
        "How large is the herbarium?",
        {"herbarum": "herbarium"},
    )


def test_a_word_that_a_passage_has_stays() -> None:
    spelling = Spelling(lambda: GLOSSARY, dict)
    question = read_names("How high is the inflatio of Kenya?", MANY)
    lookups: list[str] = []

    def is_written(word: str) -> bool:
        lookups.append(word)
        return True

    assert spelling.corrected(question, is_written) == (question.text, {})
    # Words that nobody would replace are not looked up.
    assert lookups == ["inflatio"]
    assert spelling.corrected(question, written_nowhere)[1] == {"inflatio": "inflation"}
