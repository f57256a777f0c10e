"""Follow-ups by rule: what needs the conversation, what it takes from it, and what asks for something else."""

from __future__ import annotations

import pytest

from chatbot.domain import Message, Scope
from chatbot.language import analyzer
from chatbot.questions.follow_ups import LONGEST, MOST_WORDS, FollowUps
from tests.questions.reports import REPORTS, Reports, scope

GROWTH = "What is the population growth rate of Kenya in 2023?"


def standalone(*said: str, scope: Scope = Scope(), reports: Reports = REPORTS) -> str:  # noqa: B008
    history = [Message("user", text) for text in said[:-1]]
    return FollowUps(analyzer("english"), reports).by_rule(said[-1], history, scope)


class TestExchange:
    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("and in Ethiopia?", "What is the population growth rate of Ethiopia in 2023?"),
            ("What about Mali?", "What is the population growth rate of Mali in 2023?"),
            ("and Mali and Peru?", "What is the population growth rate of Mali and Peru in 2023?"),
            ("what about 2021?", "What is the population growth rate of Kenya in 2021?"),
            ("and in Mali in 2021?", "What is the population growth rate of Mali in 2021?"),
        ],
    )
    def test_the_new_name_takes_the_place_of_the_old(self, follow_up: str, expected: str) -> None:
        assert standalone(GROWTH, follow_up) == expected

    def test_one_after_the_other(self) -> None:
        assert standalone("What is the growth rate of Kenya?", "and in Mali?", "and Peru?") == (
            "What is the growth rate of Peru?"
        )

    def test_many_one_after_the_other(self) -> None:
        said = [GROWTH, "and Ethiopia?", "and Peru?", "and Mali?", "and in Ethiopia?"]
        assert standalone(*said) == "What is the population growth rate of Ethiopia in 2023?"

    def test_small_talk_is_no_turn(self) -> None:
        said = [GROWTH, "and Ethiopia?", "thanks!", "ok", "great", "and Mali?"]
        assert standalone(*said) == "What is the population growth rate of Mali in 2023?"

    @pytest.mark.parametrize("follow_up", ["also Mali", "add Mali"])
    def test_one_more(self, follow_up: str) -> None:
        assert standalone(GROWTH, follow_up) == "What is the population growth rate of Mali in 2023?"

    def test_what_was_not_named_before_is_added(self) -> None:
        assert standalone("What is the growth rate?", "and in Kenya?") == "What is the growth rate in Kenya?"

    def test_the_same_role_is_exchanged(self) -> None:
        before = "What are Kenya's imports from France?"
        assert standalone(before, "and from Germany?") == "What are Kenya's imports from Germany?"

    @pytest.mark.parametrize(
        "follow_up",
        [
            "And those of Mali?",
            "And Mali's?",
            "its neighbour Mali",
            "How does Mali do?",
            "And how is it in Mali?",
            "Same for Mali please",
            "Is that also true of Mali?",
            "I meant Mali, not Kenya",
            "Forget Kenya, what about Mali?",
            "Forget that, what about Mali?",
        ],
    )
    def test_words_around_a_name_that_ask_for_nothing_else(self, follow_up: str) -> None:
        assert standalone("What are the exports of Kenya?", follow_up) == "What are the exports of Mali?"

    @pytest.mark.parametrize("follow_up", ["And how is it in Ethiopia?", "and Ethiopia?", "Add Ethiopia"])
    def test_after_a_comparison_the_new_country_is_a_further_side(self, follow_up: str) -> None:
        assert standalone(COMPARED, follow_up) == "Compare the population growth of Kenya, Mali and Ethiopia"

    @pytest.mark.parametrize(
        ("before", "expected"),
        [
            ("Compare Mali and Kenya's debt", "Compare Mali, Kenya and Peru's debt"),
            ("Is Kenya bigger than Mali?", "Is Kenya bigger than Mali and Peru?"),
            ("Kenya vs Mali: exports", "Kenya vs Mali and Peru: exports"),
            ("What is the debt of Kenya and Mali?", "What is the debt of Peru?"),  # nothing is compared
        ],
    )
    def test_a_further_side_goes_behind_the_last(self, before: str, expected: str) -> None:
        assert standalone(before, "and Peru?") == expected

    @pytest.mark.parametrize(
        "follow_up", ["Only Ethiopia?", "What about Ethiopia instead?", "Not Kenya, Ethiopia", "Just Ethiopia please"]
    )
    def test_unless_it_is_asked_about_instead(self, follow_up: str) -> None:
        assert standalone(COMPARED, follow_up) == "Compare the population growth of Ethiopia"

    def test_a_further_year_of_several(self) -> None:
        before = "Compare the debt of Kenya in 2021 and 2022"
        assert standalone(before, "and in 2023?") == "Compare the debt of Kenya in 2021, 2022 and 2023"
        before = "Compare the debt in the 2021 and 2022 reports on Kenya"
        expected = "Compare the debt in the 2021, 2022 and 2023 reports on Kenya"
        assert standalone(before, "and the 2023 report?") == expected

    def test_the_article_goes_with_the_name(self) -> None:
        assert standalone("What is the area of the Congo?", "and Mali?") == "What is the area of Mali?"
        assert standalone("What is the area of Mali?", "the Philippines?") == "What is the area of the Philippines?"

    @pytest.mark.parametrize(
        ("before", "follow_up", "expected"),
        [
            ("Quelle est la dette de Mali en 2021 ?", "Et en 2023 ?", "Quelle est la dette de Mali en 2023 ?"),
            ("Wie hoch ist die Inflation in Kenya?", "Und in Mali?", "Wie hoch ist die Inflation in Mali?"),
            ("Qual é a área de Kenya?", "E a de Mali?", "Qual é a área de Mali?"),
        ],
    )  # fmt: skip
    def test_in_other_languages(self, before: str, follow_up: str, expected: str) -> None:
        assert standalone(before, follow_up) == expected


EDITION = "What does the 2021 report say about the debt of Mali?"


class TestYears:
    """A year takes the place of one of its kind."""

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("2021", "2021"),
            ("By 2021?", "2021"),
        ],
    )
    def test_of_a_figure(self, follow_up: str, expected: str) -> None:
        assert standalone(GROWTH, follow_up) == f"What is the population growth rate of Kenya in {expected}?"

    def test_an_open_range_needs_no_other_word(self) -> None:
        assert standalone(GROWTH, "and since 2019?") == "What is the population growth rate of Kenya since 2019?"

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("What did the 2023 edition say?", "2023"),
            ("And 2023?", "2023"),
        ],
    )
    def test_of_an_edition(self, follow_up: str, expected: str) -> None:
        assert standalone(EDITION, follow_up) == f"What does the {expected} report say about the debt of Mali?"

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("What did the 2021 edition say?", " in 2023 in the 2021 report?"),
        ],
    )
    def test_an_edition_beside_the_year_of_a_figure(self, follow_up: str, expected: str) -> None:
        assert standalone(GROWTH, follow_up) == f"What is the population growth rate of Kenya{expected}"

    def test_an_edition_goes_on(self) -> None:
        assert standalone(EDITION, "and inflation?") == "Inflation in Mali in the 2021 report?"

    def test_a_year_that_is_compared_takes_no_place(self) -> None:
        assert standalone(GROWTH, "Was it higher in 2021?") == (
            "Was it higher in 2021? (population growth rate in Kenya in 2023)"
        )


class TestSameQuestion:
    """What a model writes is a question about the names of the rule's text."""

    RULED = "And why? (growth rate in Kenya in 2021 in the 2023 report)"

    @pytest.mark.parametrize(
        ("written", "same"),
        [
            ("Why was the growth rate of Kenya in 2021 so high, according to the 2023 report?", True),
            ("Explain the growth rate of Kenya in 2021 according to the 2023 report.", True),
            ("Why was the growth rate of Mali in 2021 so high, according to the 2023 report?", False),
            ("Why was the growth rate of Kenya and Mali in 2021 so high, according to the 2023 report?", False),
            ("Why was the growth rate of Kenya in 2021 so high?", False),
            ("Why was the growth rate of Kenya in 2023 so high, according to the 2021 report?", False),
            ("In 2021 the growth rate of Kenya was 2% (2023 report).", False),
        ],
    )
    def test_names_and_form(self, written: str, *, same: bool) -> None:
        assert FollowUps(analyzer("english"), REPORTS).is_same_question(written, self.RULED) is same


class TestSeveral:
    """Of what was asked one after the other."""

    INFLATION = "What is the inflation rate of Kenya?"

    @pytest.mark.parametrize(
        "follow_up", ["compare it with Mali", "compare that to Mali and Peru", "Compare with Mali"]
    )
    def test_what_was_asked_is_one_side_of_a_comparison(self, follow_up: str) -> None:
        assert standalone(self.INFLATION, follow_up) == f"{follow_up}? (inflation rate in Kenya)"

    @pytest.mark.parametrize("follow_up", ["How does Mali compare?", "Is that more than in Mali?", "And versus Mali?"])
    def test_nothing_but_the_other_side(self, follow_up: str) -> None:
        assert standalone(self.INFLATION, follow_up) == f"{follow_up[:-1]}? (inflation rate in Kenya)"

    @pytest.mark.parametrize(
        "follow_up",
        [
            "compare both",
            "which is higher",
            "which of the two is higher",
            "what is the difference",
            "how do they differ",
        ],
    )
    def test_those_asked_about_are_meant_together(self, follow_up: str) -> None:
        assert standalone(self.INFLATION, "and Mali?", follow_up) == f"{follow_up}? (inflation rate in Kenya and Mali)"

    def test_only_those_of_whom_the_same_was_asked(self) -> None:
        said = ["What is the climate of Peru?", self.INFLATION, "and Mali?", "compare both"]
        assert standalone(*said) == "compare both? (inflation rate in Kenya and Mali)"

    @pytest.mark.parametrize("follow_up", ["compare both", "compare the two", "what is the difference"])
    def test_another_topic_in_between_is_asked_of_all(self, follow_up: str) -> None:
        said = [self.INFLATION, "and Mali?", "what about the death rate?", follow_up]
        assert standalone(*said) == f"{follow_up}? (death rate in Kenya and Mali)"
        compared = f"{follow_up}? (death rate in Kenya and Mali in 2021)"
        assert standalone(*said, "and in 2021?") == compared

    def test_both_are_the_last_two(self) -> None:
        said = [self.INFLATION, "and Mali?", "and Peru?"]
        assert standalone(*said, "compare both") == "compare both? (inflation rate in Mali and Peru)"
        assert standalone(*said, "compare them") == "compare them? (inflation rate in Kenya, Mali and Peru)"

    @pytest.mark.parametrize("follow_up", ["explain the difference.", "what is the cause?", "What is the trend?"])
    def test_words_of_a_topic_need_it(self, follow_up: str) -> None:
        before = "Compare the population growth of Kenya and Mali"
        assert standalone(before, follow_up) == f"{follow_up[:-1]}? (population growth in Kenya and Mali)"


class TestCarrying:
    def test_words_and_names_are_carried_over(self) -> None:
        assert standalone(GROWTH, "why?") == "why? (population growth rate in Kenya in 2023)"
        assert standalone(GROWTH, "How does it compare with Mali?") == (
            "How does it compare with Mali? (population growth rate in Kenya in 2023)"
        )

    @pytest.mark.parametrize(
        ("before", "follow_up", "expected"),
        [
            ("What does Mali import?", "From whom?", "From whom? (import in Mali)"),
            ("What is the highest point of Mali?", "Lowest?", "Lowest? (highest point in Mali)"),
            ("Median age in Kenya 2023?", "For women?", "For women? (Median age in Kenya in 2023)"),
            (
                "What is the population of Mali?",
                "Which share is under 15?",
                "Which share is under 15? (population age structure in Mali)",
            ),
            ("What is the population of Mali?", "How many are women?", "How many are women? (population in Mali)"),
            ("What is the debt of Mali?", "What is the share of exports?", "What is the share of exports? (Mali)"),
        ],
    )
    def test_a_part_of_the_topic(self, before: str, follow_up: str, expected: str) -> None:
        assert standalone(before, follow_up) == expected

    @pytest.mark.parametrize(
        "follow_up",
        [
            "In French please",
            "Can you say that in German?",
            "shorter, in one sentence",
            "as a table",
            "auf Deutsch bitte",
        ],
    )
    def test_another_language_or_form_keeps_the_question(self, follow_up: str) -> None:
        assert standalone(GROWTH, follow_up) == f"{GROWTH} ({follow_up.rstrip('?')})"

    def test_a_name_of_several_words_stays_whole_and_a_relation_stays_one(self) -> None:
        before = "What does the Democratic Republic of the Congo import from France?"
        assert standalone(before, "why?") == "why? (import from France in the Democratic Republic of the Congo)"

    def test_what_the_question_has_is_not_repeated(self) -> None:
        assert (
            standalone("How large is the growth rate?", "is its growth falling?")
            == "is its growth falling? (large rate)"
        )

    def test_a_complete_question_takes_only_country_and_year(self) -> None:
        assert (
            standalone(GROWTH, "How many people use the internet?")
            == "How many people use the internet? (Kenya in 2023)"
        )
        assert standalone(GROWTH, "How many people used it in 2021?").endswith(" Kenya)")

    def test_a_figures_year_without_a_report_goes_on_to_another_figure_only(self) -> None:
        before = "What is the growth rate of Kenya in 2019?"
        assert standalone(before, "How many people use the internet?") == "How many people use the internet? (Kenya)"
        assert standalone(before, "and inflation?") == "Inflation in Kenya in 2019?"

    @pytest.mark.parametrize("said", ["Thanks!", "ok thank you, bye", "hello"])
    def test_what_asks_nothing_takes_nothing(self, said: str) -> None:
        assert standalone(GROWTH, said) == said

    def test_thanks_are_passed_over(self) -> None:
        assert standalone(GROWTH, "Thanks!", "why?") == standalone(GROWTH, "why?")
        assert standalone("Good morning", "and why?") == "and why?"

    def test_it_is_bounded(self) -> None:
        words = " ".join(f"word{number}" for number in range(500))
        assert len(standalone(words, "why?").split()) == 1 + MOST_WORDS
        assert "zebra" not in standalone("x " * LONGEST + "zebra", "why?")

    def test_only_the_last_questions_count(self) -> None:
        assert "zebra" not in standalone("zebra", "first thing", "second thing", "third thing", "why?")


class TestScope:
    def test_a_chosen_country_is_not_overruled_by_an_earlier_one(self) -> None:
        mali = scope(country_name="Mali")
        assert "Kenya" not in standalone(GROWTH, "and unemployment", scope=mali)
        assert (
            standalone(GROWTH, "How many people use the internet?", scope=mali) == "How many people use the internet?"
        )

    def test_a_chosen_year_neither(self) -> None:
        assert standalone(GROWTH, "why?", scope=scope(year=2021)) == "why? (population growth rate in Kenya)"


class TestNotNeeded:
    @pytest.mark.parametrize(
        "question",
        [
            "What is the population growth rate of Mali?",
            "How many refugees are there in Kenya?",
            "Why is inflation high in Kenya?",
            "So what are the exports of Mali?",
            "Which country has the highest inflation?",
            "population Mali 2021",
        ],
    )
    def test_a_complete_question_stays_as_it_is(self, question: str) -> None:
        assert standalone(GROWTH, question) == question

    @pytest.mark.parametrize("question", ["And why?", "it", "What about Mali?", ""])
    def test_without_a_history_nothing_happens(self, question: str) -> None:
        assert standalone(question) == question

    def test_without_countries_in_the_data_none_is_carried(self) -> None:
        plain = Reports(("", 0))
        assert (
            standalone(GROWTH, "How many people use the internet?", reports=plain)
            == "How many people use the internet?"
        )

    @pytest.mark.parametrize(
        "follow_up", ["How do I bake bread?", "how can you fix a bike", "Who are you?", "Should I learn French?"]
    )
    def test_what_is_asked_for_oneself_takes_no_country(self, follow_up: str) -> None:
        assert standalone("Compare Kenya and Mali by area", follow_up).rstrip("?") == follow_up.rstrip("?")

    def test_of_data_without_countries_it_may_go_on(self) -> None:
        said = ("What is a dedicated host?", "And how do I create one?")
        assert "dedicated host" in standalone(*said, reports=Reports(("", 0)))

    def test_it_is_no_turn_of_the_conversation(self) -> None:
        assert standalone(GROWTH, "How do I bake bread?", "and why?") == standalone(GROWTH, "and why?")

    def test_what_is_asked_of_the_country_for_oneself_does(self) -> None:
        assert standalone(GROWTH, "How do I get a visa?") == "How do I get a visa? (Kenya in 2023)"

    def test_answers_are_not_read(self) -> None:
        history = [Message("user", GROWTH), Message("assistant", "zebra")]
        follow_ups = FollowUps(analyzer("english"), REPORTS)
        assert "zebra" not in follow_ups.by_rule("why?", history, Scope())
        assert follow_ups.by_rule("why?", [Message("assistant", "zebra")], Scope()) == "why?"

    def test_only_what_needs_it_is_changed_by_it(self) -> None:
        assert standalone(GROWTH, "why?") != "why?"
        assert standalone(GROWTH, "What is the area of Mali?") == "What is the area of Mali?"
        assert standalone(GROWTH, "What is the area?") != "What is the area?"
        assert standalone(GROWTH, "What is the area?", scope=scope(country_name="Kenya")) == "What is the area?"


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
            ("Why is inflation so high?", "Why is inflation so high? (Kenya in 2023)"),
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
            "Why do they differ? (inflation in Kenya and Mali)"
        )

    @pytest.mark.parametrize(
        ("follow_up", "expected"),
        [
            ("Different question: terrain?", "Terrain in Kenya in 2023?"),
            ("Thanks. Now something else: how long is Mali's border?", "how long is Mali's border?"),
            ("Forget that. What is the capital of Mali?", "What is the capital of Mali?"),
            ("Never mind, what is the capital?", "what is the capital? (Kenya in 2023)"),
        ],
    )
    def test_it_is_said(self, follow_up: str, expected: str) -> None:
        assert standalone(GROWTH, follow_up) == expected

    @pytest.mark.parametrize(
        "follow_up",
        [
            "How many airports does it have?",
            "What are the neighbours of this country?",
            "Which ports does the country have?",
            "How many people live there?",
            "How long are its railways?",
        ],
    )
    def test_of_the_country_itself(self, follow_up: str) -> None:
        assert standalone("Does Kenya have volcanoes?", follow_up) == f"{follow_up} (Kenya)"

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
        assert standalone(COMPARED, follow_up) == f"{follow_up.rstrip('?')}? (population growth in Kenya and Mali)"

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
        assert standalone(COMPARED, asked) == f"{asked}? (population growth in Kenya and Mali)"

    def test_another_country_or_year_keeps_it(self) -> None:
        assert standalone(COMPARED, "and in 2023?") == f"{COMPARED} in 2023?"
        assert standalone(COMPARED, "and Mali?") == "Compare the population growth of Mali"
        assert standalone(COMPARED, "same for Mali") == "Compare the population growth of Mali"

    def test_where_no_country_is_named_the_topic_is_all_there_is(self) -> None:
        assert standalone("What is chunking?", "and overlap?") == "and overlap? (chunking)"
