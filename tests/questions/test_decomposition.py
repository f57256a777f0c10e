"""Sub-questions by rule: what is split, into what, and what stays whole."""

from __future__ import annotations

import re
import time

import pytest

from tests.questions.reports import Reports, scope, split


class TestQuestions:
    @pytest.mark.parametrize(
        ("text", "second"),
        [
            ("What is the population of Kenya? And its inflation?", "Kenya's inflation?"),
            ("What is the population of Kenya? And in Mali?", "What is the population of Mali?"),
            ("What is the area of Kenya? Who is the president?", "Who is the president in Kenya?"),
            ("What is Kenya's GDP in 2021? How high is debt?", "How high is debt in Kenya in 2021?"),
            ("What changed in Kenya since 2021? Who is the president?", "Who is the president in Kenya since 2021?"),
            ("What is the capital of Mali and who is its president?", "Who is Mali's president?"),
            ("What is the area of Mali? Which countries border Chile?", "Which countries border Chile?"),
            ("What is the area of Mali? Which country is the largest?", "Which country is the largest?"),
        ],
    )
    def test_each_is_one_with_the_names_of_those_before(self, text: str, second: str) -> None:
        found = split(text)
        assert len(found) == 2
        assert found[1] == second

    def test_a_question_in_capitals(self) -> None:
        assert len(split("COMPARE THE POPULATION GROWTH OF KENYA AND SOMALIA")) == 2

    def test_a_scope_says_which_country_is_meant(self) -> None:
        kenya = scope(country_name="Kenya")
        text = "What is the capital and who is its president?"
        assert split(text) == [text]
        assert split(text, kenya) == ["What is the capital?", "Who is its president?"]

    def test_a_country_named_by_its_people_is_carried_by_its_name(self) -> None:
        assert split("How high is Kenyan debt? Who is the president?")[1] == "Who is the president in Kenya?"

    def test_what_is_no_question_stays_with_one(self) -> None:
        text = "I was born in Kenya. What is the population of Mali? Thanks!"
        assert split(text) == [text]

    def test_too_many_are_asked_together_at_the_end(self) -> None:
        text = " ".join(f"What is the {thing} of Mali?" for thing in ("area", "capital", "climate", "debt", "terrain"))
        found = split(text, most=3)
        assert found[:2] == ["What is the area of Mali?", "What is the capital of Mali?"]
        assert found[2].count("?") == 3


class TestNames:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("How do Kenya and Somalia differ in life expectancy?", "Life expectancy in {}?"),
            ("Compare the area of Kenya and Somalia", "The area of {}?"),
            ("Compare Kenya with Somalia in terms of GDP", "GDP in {}?"),
            ("What is the difference between Kenya and Somalia in area?", "Area in {}?"),
            ("What is the difference in debt between Kenya and Somalia?", "Debt in {}?"),
            ("Is inflation higher in Kenya than in Somalia?", "Inflation in {}?"),
            ("Who is the president of Kenya and of Somalia?", "Who is the president of {}?"),
            (
                "Compare food insecurity in Kenya and Somalia since 2021 and explain the difference",
                "Food insecurity in {} since 2021?",
            ),
        ],
    )
    def test_one_for_each_country(self, text: str, expected: str) -> None:
        assert split(text) == [expected.format("Kenya"), expected.format("Somalia")]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("What was Kenya's debt in 2021 and in 2023?", "What was Kenya's debt in {}?"),
            ("How did the debt of Kenya change between 2021 and 2023?", "The debt of Kenya in {}?"),
            ("Compare Kenya's debt in 2021 with 2023", "Debt in {} in Kenya?"),
        ],
    )
    def test_one_for_each_year(self, text: str, expected: str) -> None:
        assert split(text) == [expected.format(2021), expected.format(2023)]

    def test_each_country_has_its_own_thing(self) -> None:
        found = split("What is the population of Kenya and the inflation of Mali?")
        assert found == ["What is the population of Kenya?", "The inflation of Mali?"]

    def test_countries_in_passing_are_none(self) -> None:
        text = "What does Kenya import from Mali and Peru?"
        assert split(text) == [text]

    def test_of_countries_without_a_report_or_outside_the_scope_the_other_one_is_left(self) -> None:
        """Without the comparing words: "Compare" finds headings that compare."""
        kenya = scope(country_name="Kenya")
        assert split("Compare inflation in Germany and Kenya") == ["Inflation in Kenya?"]
        assert split("What is the debt of Kenya, compared with France?") == ["What is the debt of Kenya?"]
        assert split("Compare the area of Kenya and Mali", kenya) == ["The area of Kenya?"]
        assert split("Compare debt and area of Kenya and France") == ["Debt of Kenya?", "Area of Kenya?"]

    def test_more_countries_than_questions(self) -> None:
        found = split("Compare the area of Kenya, Mali, Somalia, Peru and Chile", most=3)
        assert found == ["The area of Kenya?", "The area of Mali?", "The area of Somalia, Peru and Chile?"]

    def test_data_without_countries_may_be_about_any(self) -> None:
        assert len(split("Compare the area of France and Mali", reports=Reports(("", 2021)))) == 2


class TestThings:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("inflation, unemployment and GDP of Kenya", ["Inflation", "Unemployment", "GDP"]),
            ("What are the population growth rate and the capital of Kenya?", ["population growth rate", "capital"]),
            ("What is Kenya's inflation, debt, and area?", ["inflation", "debt", "area"]),
            ("How have inflation and unemployment changed in Kenya?", ["inflation", "unemployment"]),
        ],
    )
    def test_one_for_each(self, text: str, expected: list[str]) -> None:
        found = split(text)
        assert len(found) == len(expected)
        for question, thing in zip(found, expected, strict=True):
            assert thing in question
            assert "Kenya" in question
            assert not any(other in question for other in expected if other != thing)

    @pytest.mark.parametrize(
        "text",
        [
            "What does the health and education ministry do in Kenya?",
            "people and society of Kenya",
            "oil and gas exports of Kenya",
            "How high are wheat exports and imports of Kenya?",
            "health, inflation and debt of Kenya",
            "inflation and unemployment benefits in Kenya",
            "What is the relationship between inflation and unemployment in Kenya?",
            "What share of people who live in cities and who have electricity is there?",
            "What is the unemployment rate in Kenya and who and when?",
            "Who fought in the French and Indian war?",
            "Why is there more poverty in the United States and Europe than in Mali?",
            "What was the profit of MST 2019 in 2014 compared to 2013?",
            "How many people did they kill between 2020 to 2024?",
            "The Rhine Gorge is between Koblenz and what other city?",
            "What new office is there, and who is leading it?",
            "Who wrote the music, and what was unique about the themes?",
            "Can a packet be sent empty? If so, is it billable?",
            "What is the population?",
            "and",
            "",
        ],
    )
    def test_what_stays_whole(self, text: str) -> None:
        assert split(text) == [text]


class TestBoth:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Which was higher in Kenya in 2023, exports or imports?", "{} in Kenya in 2023?"),
            ("Which is larger, the exports or the imports of Mali?", "The {} of Mali?"),
            ("In Mali, which is lower: exports or imports?", "{} in Mali?"),
            ("Are Kenya's exports higher than its imports?", "Kenya's {}?"),
            ("Were exports larger than imports in Kenya in 2021?", "{} in Kenya in 2021?"),
        ],
    )
    def test_of_two_things_of_which_one_is_more_each_is_asked(self, text: str, expected: str) -> None:
        parts = [expected.format(thing) for thing in ("exports", "imports")]
        assert split(text) == [part[:1].upper() + part[1:] for part in parts]

    @pytest.mark.parametrize(
        "text", ["Which is higher in Kenya, coffee or tea exports?", "Is the debt of Kenya more than 5 billion?"]
    )
    def test_what_may_be_one_thing_is_not_parted(self, text: str) -> None:
        assert split(text) == [text]

    def test_each_thing_of_all_countries_before_the_next(self) -> None:
        found = split("Compare inflation and unemployment in Kenya and Mali")
        assert found == ["Inflation in Kenya?", "Inflation in Mali?", "Unemployment in Kenya?", "Unemployment in Mali?"]

    def test_where_that_is_too_many_the_things_stay_together(self) -> None:
        found = split("What are the languages and religions in Peru, Chile and Mali?")
        assert found == [f"What are the languages and religions in {name}?" for name in ("Peru", "Chile", "Mali")]

    def test_clauses_and_countries(self) -> None:
        found = split("Who is president of Kenya and Mali and what is their population?")
        assert found[2:] == ["What is Kenya's population?", "What is Mali's population?"]

    @pytest.mark.parametrize("most", [1, 2, 3, 4, 8])
    def test_never_more_than_asked_for(self, most: int) -> None:
        text = (
            "Compare inflation, debt and area of Kenya, Mali and Peru in 2021 and 2023? And their exports and imports?"
        )
        assert len(split(text, most=most)) <= most


PIECES = (
    "Kenya and |in |, and |between |inflation and |how do |than |2021 and |\ue000 |, |?|a? |What is it? |and what is x "
    "|and how many live there |tell me about a, b and c |drought, hunger and |Kenya: |which has more |they "
)


@pytest.mark.parametrize("piece", PIECES.split("|"))
def test_a_long_text_takes_no_longer_than_a_search(piece: str) -> None:
    started = time.process_time()
    split(piece * (4000 // len(piece)))
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tell me about {} in Somalia in 2023", "clan violence, drought and hunger"),
        ("Tell me about {} in Somalia in 2023", "food prices, the drought and hunger"),
        ("What do the reports say about {} in Kenya?", "gangs, elections, and HIV"),
        ("What about {}?", "coffee, tea & flowers"),
        ("Kenya, 2021: {}", "Drought, hunger and floods"),
    ],
)
def test_a_list_of_anything(text: str, expected: str) -> None:
    for question, thing in zip(split(text.format(expected)), re.split(r",? and | & |, ", expected), strict=True):
        assert question.rstrip(".?") == text.format(thing).rstrip(".?")


@pytest.mark.parametrize(
    "text",
    [
        "Tell me about war and peace in Mali",
        "Tell me about oil, gas and coal exports of Kenya",
        "Tell me about infant, child and maternal mortality in Kenya",
        "Tell me about health, law and order in Kenya",
        "Tell me about Paul, John and Mary",
        "Tell me about the supply, demand and price of oil and of what is traded",
        "Tell me about how, why and when it began",
        "Why do drought, hunger and floods kill?",
        "Name the parties: left, right and centre",
        "Kenya, 2021 report: What is the area?",
    ],
)
def test_a_list_that_may_be_one_thing_stays_whole(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What are the inflation and the main exports of Kenya?", ("is the inflation", "are the main exports")),
        ("What is the population and exports of Kenya?", ("is the population", "are the exports")),
        ("How have inflation and imports changed in Kenya?", ("has inflation", "have imports")),
        ("Why are both inflation and debt in Kenya high?", ("is inflation", "is debt")),
    ],
)
def test_the_verb_agrees(text: str, expected: tuple[str, str]) -> None:
    for question, words in zip(split(text), expected, strict=True):
        assert words in question


def test_the_verb_agrees_with_one_country() -> None:
    found = split("How have Kenya and Somalia changed?")
    assert found == ["How has Kenya changed?", "How has Somalia changed?"]
