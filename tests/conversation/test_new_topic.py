"""Follow-ups that ask for something else of the same countries and years, and those that only seem to."""

from __future__ import annotations

import pytest

from tests.conversation.test_follow_up import GROWTH, standalone

COMPARED = "Compare the population growth of Kenya and Mali"


class TestAnotherTopic:
    """Its own words are enough: those of the topic before would outweigh them."""

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("And inflation?", "Compare inflation in Kenya and Mali."),
            ("And the inflation rate?", "Compare the inflation rate in Kenya and Mali."),
            ("same for inflation", "Compare inflation in Kenya and Mali."),
            ("the same for exports please", "Compare exports in Kenya and Mali."),
            ("How about exports?", "Compare exports in Kenya and Mali."),
            ("and their food insecurity?", "Compare food insecurity in Kenya and Mali."),
            ("no, I meant the military in both countries", "Compare the military in Kenya and Mali."),
            ("And inflation in Mali?", "Inflation in Mali?"),
            ("What are their exports?", "What are their exports? (Kenya and Mali)"),
            ("And how high is inflation?", "And how high is inflation? (Kenya and Mali)"),
        ],
    )
    def test_it_is_asked_of_the_countries_before_and_compared_again(self, follow_up: str, expected: str) -> None:
        assert standalone(COMPARED, follow_up) == expected

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("And inflation?", "Inflation in Kenya in 2023?"),
            ("and inflation in 2021?", "Inflation in 2021 in Kenya?"),
            ("and inflation in Mali?", "Inflation in Mali in 2023?"),
            ("Why is inflation so high?", "Why is inflation so high? (Kenya 2023)"),
        ],
    )
    def test_it_is_asked_of_the_year_before(self, follow_up: str, expected: str) -> None:
        assert standalone(GROWTH, follow_up) == expected

    def test_a_change_between_years_is_compared_again(self) -> None:
        before = "How did Kenya's debt change between 2021 and 2023?"
        assert standalone(before, "and inflation?") == "Compare inflation in Kenya between 2021 and 2023."

    def test_one_after_the_other(self) -> None:
        assert standalone(COMPARED, "And inflation?", "And exports?") == "Compare exports in Kenya and Mali."
        assert standalone(COMPARED, "And inflation?", "Why do they differ?") == (
            "Why do they differ? (inflation Kenya Mali)"
        )

    @pytest.mark.parametrize(
        "follow_up",
        [
            "and why?", "Why do they differ?", "And the causes?", "and for men?", "and in rural areas?",
            "and per capita?", "And by how much?", "and the trend?", "Which is higher?", "Which one has the most?",
            "Which of them is larger?",
            "Explain why", "and compared with Peru?",
        ],
    )  # fmt: skip
    def test_what_needs_the_topic_keeps_it(self, follow_up: str) -> None:
        assert standalone(COMPARED, follow_up) == f"{follow_up.rstrip('?')}? (population growth Kenya Mali)"

    @pytest.mark.parametrize(
        ("before", "follow_up", "kept"),
        [
            ("What does the report say about floods in Kenya?", "deaths?", "floods"),
            ("What does the report say about elections in Kenya?", "and the opposition?", "elections"),
            ("What percent of people in Kenya have electricity?", "and water?", "percent"),
            ("Exports of Kenya", "top five", "Exports"),
            ("Unemployment in Kenya in 2023", "and Mombasa?", "Unemployment"),
            ("What is the inflation rate in Kenya in 2023?", "OK, how is it today?", "inflation"),
        ],
    )
    def test_a_part_or_an_effect_of_the_topic_keeps_it(self, before: str, follow_up: str, kept: str) -> None:
        assert kept in standalone(before, follow_up)

    def test_a_whole_sentence_is_no_topic(self) -> None:
        asked = "ok, now please give me an overview of tea"
        assert standalone(COMPARED, asked) == f"{asked}? (population growth Kenya Mali)"

    def test_another_country_or_year_keeps_it(self) -> None:
        assert standalone(COMPARED, "and in 2023?") == f"{COMPARED} in 2023?"
        assert standalone(COMPARED, "and Ethiopia?") == "Compare the population growth of Ethiopia"
        assert standalone(COMPARED, "same for Mali") == "Compare the population growth of Mali"

    def test_where_no_country_is_named_the_topic_is_all_there_is(self) -> None:
        assert standalone("What is chunking?", "and overlap?") == "and overlap? (chunking)"
