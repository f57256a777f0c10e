"""Questions in other languages, read as English ones by the glossary."""

import pytest

from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import Reading
from chatbot.language.country_names import find_countries
from chatbot.language.detection import language_of
from chatbot.library.derived import default_glossary
from chatbot.search.translation import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    entries = default_glossary()
    return Translator(lambda: entries)


def in_english(translator: Translator, text: str) -> str:
    reading = Reading(text, countries=find_countries(text))
    translation = translator.in_english(reading, language_of(text))
    return translation.text if translation is not None else ""


QUESTIONS = {
    "What is the literacy of Peru?": (
        "¿Cuál es la tasa de alfabetización de Perú?",
        "Quel est le taux d'alphabétisation au Pérou ?",
        "Qual é a taxa de alfabetização do Peru?",
        "ما معدل الإلمام بالقراءة والكتابة في بيرو؟",
    ),
    "Which country highest inflation?": (
        "¿Qué país tiene la inflación más alta?",
        "Quel pays a l'inflation la plus élevée ?",
        "Qual é o país que tem a inflação mais alta?",
        "أي دولة لديها أعلى تضخم؟",
    ),
    "Is Kenya bigger than Peru?": (
        "¿Es Kenia más grande que Perú?",
        "Le Kenya est-il plus grand que le Pérou ?",
        "O Quénia é maior do que o Peru?",
        "هل كينيا أكبر من بيرو؟",
    ),
    "Compare public debt in Kenya and Peru?": (
        "Compara la deuda pública de Kenia y Perú",
        "Compare la dette publique du Kenya et du Pérou",
        "Compara a dívida pública do Quénia e do Peru",
        "قارن الدين العام في كينيا وبيرو",
    ),
    "What is the military spending of Kenya between 2020 and 2023?": (
        "Gasto militar de Kenia entre 2020 y 2023",
        "Quelles sont les dépenses militaires du Kenya entre 2020 et 2023 ?",
        "Quais são as despesas militares do Quénia entre 2020 e 2023?",
        "ما الإنفاق العسكري في كينيا بين 2020 و2023؟",
    ),
}


@pytest.mark.parametrize(
    ("english", "question"),
    [(english, text) for english, texts in QUESTIONS.items() for text in texts],
)
def test_a_question_is_read_as_its_english_one(
    translator: Translator, english: str, question: str
) -> None:
    read = in_english(translator, question)
    # The rules of English do not care for the order.
    assert sorted(read.strip("?").split()) == sorted(english.strip("?").split())


@pytest.mark.parametrize(
    ("question", "bound"),
    [
        ("¿Qué países tienen menos de 1.234,5 km de costa?", "less than 1234.5"),
        ("Quels pays ont plus de 10,5 % de chômage ?", "more than 10.5 %"),
        ("Que países têm mais de 2.000.000 de refugiados?", "more than 2000000"),
        ("ما الدول التي لديها أكثر من ٥٠ مليون نسمة؟", "more than 50 million"),
    ],
)
def test_numbers_are_read_as_the_language_writes_them(
    translator: Translator, question: str, bound: str
) -> None:
    assert bound in in_english(translator, question)


@pytest.mark.parametrize(
    "question",
    [
        "¿Por qué subió la inflación en Perú?",
        "Pourquoi l'inflation a-t-elle augmenté au Pérou ?",
        "Por que motivo subiu a inflação no Peru?",
        "لماذا ارتفع التضخم في بيرو؟",
        "¿Cuántos violinistas tocan en Perú?",
    ],
)
def test_reasons_and_unknown_topics_are_not_translated(
    translator: Translator, question: str
) -> None:
    assert in_english(translator, question) == ""


def test_words_of_the_operator_are_found_in_any_language() -> None:
    entry = GlossaryEntry(
        "camp capacity",
        "Places in the camps.",
        heading="Capacity",
        translations={"de": ("Lagerplätze",), "es": ("plazas de los campamentos",)},
    )
    translator = Translator(lambda: [entry])
    for question in (
        "Wie viele Lagerplätze gibt es in Kenia?",
        "¿Cuántas plazas hay en los campamentos de Kenia?",
    ):
        read = in_english(translator, question)
        assert read == "What is the camp capacity of Kenya?", question


def test_people_are_called_after_their_country_in_each_language() -> None:
    for text in (
        "¿Cuánto viven los kenianos y los mozambiqueños?",
        "Combien de temps vivent les Kényans et les Mozambicains ?",
        "Quanto tempo vivem os quenianos e os moçambicanos?",
        "كم يعيش الكينيون والموزمبيقيون؟",
    ):
        keys = {key for country in find_countries(text) for key in country.keys}
        assert keys == {"KEN", "MOZ"}, text


def test_words_that_no_table_has_are_told(translator: Translator) -> None:
    text = "¿Cuántos refugiados violinistas acoge Perú?"
    reading = Reading(text, countries=find_countries(text))
    translation = translator.in_english(reading, "spanish")
    assert translation is not None
    assert translation.text == "What is the refugees of Peru?"
    assert translation.unused == ("violinistas",)
