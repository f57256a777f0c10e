"""Whether a question is about the country it names: rule by rule, as people write."""

from __future__ import annotations

import pytest

from chatbot.questions.names import find_countries
from chatbot.questions.reading import roles, subjects


def about(text: str) -> list[str]:
    named = list(find_countries(text))
    return [
        country.text
        for country, is_subject in zip(named, subjects(text, named, roles(text, named)), strict=True)
        if is_subject
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the population of France?", "France"),
        ("How many hospital beds are there per 1,000 people in France?", "France"),
        ("Which terrorist groups operate there in France?", "France"),
        ("How many refugees are there? in France", "France"),
        ("How many refugees are there in Kenya and Mali?", "Kenya Mali"),
        ("In Kenya, Mali, and Peru, what is the growth rate?", "Kenya Mali Peru"),
        ("Compare Kenya, Mali and Peru", "Kenya Mali Peru"),
        ("Compare inflation in Kenya with inflation in France", "Kenya France"),
        ("How does Kenya compare with Mali?", "Kenya Mali"),
        ("What is the difference between Kenya and Mali?", "Kenya Mali"),
        ("inflation Kenya vs France", "Kenya France"),
        ("kenya population 2023", "kenya"),
        ("France?", "France"),
        ("and in Ethiopia?", "Ethiopia"),
        ("what about Ethiopia?", "Ethiopia"),
        ("Afghanistan, 2021 report: What is the growth rate?", "Afghanistan"),
        ("What is Kenya's and Ethiopia's population?", "Kenya Ethiopia"),
        ("Is France a republic?", "France"),
        ("Tell me about France", "France"),
        ("summarise the Brazil report", "Brazil"),
        ("I would like to know the GDP of Peru", "Peru"),
        ("Which countries border Kenya?", "Kenya"),
        ("Which diseases affect Kenya?", "Kenya"),
        ("Which pipelines run through Kenya?", "Kenya"),
        ("What lies north of Kenya?", "Kenya"),
        ("Who leads Kenya?", "Kenya"),
        ("I'd like to know how many airports Kenya has", "Kenya"),
        ("Can you tell me, which crops feed Kenya?", "Kenya"),
        ("Which country is bigger, Kenya or France?", "Kenya France"),
        ("What started the war in Ukraine?", "Ukraine"),
        ("Kenya, 2023 report: I was born in France. How high is debt?", "Kenya"),
        ("¿Cuál es la población de Perú?", "Perú"),
        ("What is the Kenyan unemployment rate?", "Kenyan"),
        ("What is the unemployment rate in northern Mali?", "Mali"),
    ],
)
def test_what_the_question_is_about(question: str, expected: str) -> None:
    assert about(question) == expected.split()


@pytest.mark.parametrize(
    "question",
    [
        "What share of imports come from France?",
        "Does it share a border with Somalia?",
        "When did it gain independence from Britain?",
        "How many refugees from Syria are there?",
        "How large is trade with China?",
        "How much does it depend on China?",
        "Was it a colony of France?",
        "Compared with Germany, what is the unemployment rate?",
        "What is the unemployment rate, compared to Germany's?",
        "What is the unemployment rate, and is it higher than in Germany?",
        "What is the unemployment rate, Germany being at 3%?",
        "What is the unemployment rate - a tenth of Germany's?",
        "What is the life expectancy, which in Germany is 81?",
        "How high is inflation (Germany's is 2%)?",
        "Given that Germany reports 3%, how high is inflation?",
        "Where Germany has 3%, what is the unemployment rate here?",
        "As someone who lives in Germany, I wonder how many people use the internet?",
        "I'm from Germany: what is the growth rate?",
        "Germany buys a lot of coffee. What are the main exports?",
        "I read that Germany has 84 million people. What is the growth rate?",
        "What is the growth rate? For reference, Germany's is 3%.",
        "Not counting Germany, which countries supply most of its imports?",
        "Germany aside, which countries supply most of its imports?",
        "Which countries, Germany among them, supply most of its imports?",
        "What are the main export goods and does Germany buy any of them?",
        "My colleague in Germany asks: what share of people live in cities?",
        "How does it compare with Germany?",
        "How many people speak French?",
        "Is the rate above Germany's?",
        "Answer in Spanish: how many people live in cities?",
        "In French please",
        "What is the rate to the US dollar?",
    ],
)
def test_what_is_named_in_passing(question: str) -> None:
    assert about(question) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Unlike Germany and France, does Kenya have a coast?", "Kenya"),
        ("Compared with Germany, Kenya's inflation is how high?", "Kenya"),
        ("While Germany has 84 million people, how many live in Kenya?", "Kenya"),
        ("What are Kenya's main exports to Germany?", "Kenya"),
        ("How many French troops are there in Mali?", "Mali"),
        ("What happened in Mali after the French troops left?", "Mali"),
        ("Is the economy of Peru bigger than that of Chile?", "Peru"),
        ("How did the war in Ukraine change Egypt's imports?", "Egypt"),
        ("What is the GDP of Kenya in US dollars?", "Kenya"),
        ("How do US sanctions affect Syria?", "Syria"),
        ("How many of Kenya's troops are in Somalia?", "Kenya"),
    ],
)
def test_both_in_one_question(question: str, expected: str) -> None:
    assert about(question) == expected.split()


def test_a_long_list_is_read_in_linear_time() -> None:
    text = "in " + "Mali, " * 600
    named = list(find_countries(text))
    assert len(subjects(text, named, roles(text, named))) == 600
