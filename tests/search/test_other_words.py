"""Which words of a question a passage says in others."""

from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.search.other_words import in_other_words

EMBEDDER = MiniLMEmbedder()


def test_a_word_of_the_same_meaning_is_found_and_one_of_another_is_not() -> None:
    words = {"start": "start", "motorbik": "motorbike", "salari": "salary"}
    text = "Motorcycle taxis are forbidden. The meeting commenced at 7:55."
    assert in_other_words(words, text, EMBEDDER) == {"start", "motorbik"}


def test_words_of_no_meaning_and_numbers_say_nothing() -> None:
    assert in_other_words({"year": "year"}, "in 2024, and of the 12", EMBEDDER) == set()
    assert in_other_words({}, "The meeting commenced.", EMBEDDER) == set()
