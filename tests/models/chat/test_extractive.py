"""The answerer without a key: quotes word for word, says so, and lets nothing of a passage become Markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from chatbot.checking.citations import check
from chatbot.config.settings import Settings
from chatbot.domain import Matrix, Passage, Prompt, Usage
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.request import RequestContext
from chatbot.models.chat.extractive import HEADER, LEAST, LONGEST_QUOTE, SHARE, build
from chatbot.models.embed.hashing import HashingEmbedder
from tests.models.chat.conftest import embedder, passage, prompt

POPULATION = passage(1, "Kenya had 52,428,290 people in 2023. The capital is Nairobi. It lies in Africa. Tea is grown.")
COFFEE = passage(2, "Coffee and horticulture lead the exports.", section="Exports")


def answer(asked: Prompt) -> str:
    return "".join(
        delta.text for delta in build(Settings(), model="", embedder=embedder).stream(asked, request=RequestContext())
    )


def quotes(text: str) -> list[tuple[str, int]]:
    """The quoted pieces as a reader sees them (Markdown escapes undone), with their numbers."""
    found = []
    for quoted, number in re.findall(r"“(.*)” \[(\d+)\]$", text, re.MULTILINE):
        plain = re.sub(r"\\(.)", r"\1", quoted)
        found += [(piece.strip(), int(number)) for piece in plain.split("…") if piece.strip()]
    return found


def test_it_says_that_it_quotes_and_where_the_quotation_stands() -> None:
    paged = passage(1, "Kenya had 52,428,290 people.", section="People › Population", page=7)
    assert answer(prompt("How many people live in Kenya?", paged)) == (
        "Quoted from the reports:\n\n- **Kenya 2023, Population, page 7:** “Kenya had 52,428,290 people.” [1]\n"
    )


def test_the_same_prompt_gives_the_same_answer() -> None:
    asked = prompt("How many people live in Kenya?", POPULATION, COFFEE)
    assert answer(asked) == answer(asked)


def test_every_quotation_stands_word_for_word_in_the_passage_it_is_numbered_with() -> None:
    second = passage(2, "About 30% of the people of Kenya live in cities.\nUrban growth was 3.7% (2023 est.).")
    asked = prompt("How many people are there in Kenya?", POPULATION, second)
    found = quotes(answer(asked))
    assert {number for _, number in found} == {1, 2}
    for quoted, number in found:
        assert quoted in " ".join(asked.context.passages[number - 1].hit.chunk.text.split())


def test_the_sentence_that_answers_is_quoted_first_and_alone() -> None:
    text = (
        "Tea is grown. The population is 52 million. Nairobi is big. The population growth rate is 2.09%. Oil is not."
    )
    found = quotes(answer(prompt("What is the population growth rate?", passage(1, text))))
    assert [quoted for quoted, _ in found] == ["The population growth rate is 2.09%."]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the median age?", "total: 24.4 years"),
        ("What is the median age of female people?", "female: 24.9"),
        ("How old are women?", "female: 24.9"),
        ("How old are boys?", "male: median 23.9 age"),
    ],
)
def test_a_total_comes_before_its_parts_unless_one_of_them_is_asked(question: str, first: str) -> None:
    ages = passage(1, "total: 24.4 years\nmale: median 23.9 age\nfemale: 24.9", section="Median age")
    assert quotes(answer(prompt(question, ages)))[0][0] == first


def test_a_total_is_compared_where_one_of_its_parts_is() -> None:
    """It is longer, and of several passages most lines are not compared by vectors."""
    name, lines = "electrification -", "{0} total population: 60.5% (2022 est.)\n{0} urban: 89%\n{0} rural: 27%"
    some = [passage(number, lines.format(name), section="Electricity access") for number in range(1, 7)]
    assert quotes(answer(prompt("What share of people have rural electrification?", *some)))[0][0].endswith("27%")
    assert "total" in quotes(answer(prompt("What share of people have electricity?", *some)))[0][0]


def test_few_statements_of_many_are_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    original = HashingEmbedder.embed_documents

    def embed(self: HashingEmbedder, texts: Sequence[str], **rest: RequestContext | None) -> Matrix:
        embedded.extend(texts)
        return original(self, texts, **rest)

    monkeypatch.setattr(HashingEmbedder, "embed_documents", embed)
    lines = [f"Item {n} in shed {'abcdef'[n % 6] * (n + 1)} is {n} tons." for n in range(30)]
    found = quotes(answer(prompt("How many tons is item 17?", passage(1, "\n".join(lines)))))
    assert found[0][0] == lines[17]
    assert LEAST <= len(embedded) <= SHARE * len(lines)


def test_an_unrelated_second_passage_is_not_quoted() -> None:
    assert {number for _, number in quotes(answer(prompt("How many people live in Kenya?", POPULATION, COFFEE)))} == {1}


def test_a_passage_that_shares_words_but_not_the_meaning_is_not_quoted() -> None:
    """Its cosine (score .6 = .2) is below half of the best one's (.9 = .8)."""
    far = passage(2, "Kenya had people in parliament.", score=0.6)
    near = passage(2, "Kenya had people in parliament.", score=0.85)
    assert {n for _, n in quotes(answer(prompt("people of Kenya", POPULATION, far)))} == {1}
    assert {n for _, n in quotes(answer(prompt("people of Kenya", POPULATION, near)))} == {1, 2}


def test_at_most_three_passages_are_quoted() -> None:
    near = [passage(n, f"Kenya had {n}2 million people.") for n in range(1, 6)]
    assert [number for _, number in quotes(answer(prompt("people of Kenya", *near)))] == [1, 2, 3]


def test_a_passage_counts_by_its_place_among_those_it_is_chosen_from() -> None:
    """Those of one side of a comparison are far apart in the numbering of all."""
    far = [passage(n, f"Kenya had {n}2 million people.") for n in (1, 8)]
    assert [number for _, number in quotes(answer(prompt("people of Kenya", *far)))] == [1, 8]


def test_what_two_editions_say_in_the_same_words_is_quoted_once() -> None:
    twins = [passage(n, "It had 52 million people.", section="Population") for n in (1, 2)]
    other = passage(3, "It had 52 million people.", section="Population", metadata={"country_name": "Mali"})
    assert [number for _, number in quotes(answer(prompt("people of Kenya", *twins, other)))] == [1, 3]


def test_a_long_passage_is_cut_between_words_and_shows_it() -> None:
    text = "people of Kenya " * 100
    (quoted, _), *rest = quotes(answer(prompt("people of Kenya", passage(1, text.strip()))))
    assert not rest
    assert len(quoted) <= LONGEST_QUOTE
    assert text.startswith(quoted + " ")
    assert "…” [1]" in answer(prompt("people of Kenya", passage(1, text.strip())))


def test_every_citation_of_a_quoting_answer_is_supported() -> None:
    """The citation check must not accuse an answer that only quotes, page and heading included."""
    noted = passage(1, 'The rate_of *growth* is 2.09% [note 4] (2023 est.). It was "high".', page=31)
    asked = prompt("What is the growth rate?", noted)
    (only,) = check(answer(asked), asked.context).citations
    assert (only.number, only.supported) == (1, True)


@pytest.mark.parametrize(
    "text",
    [
        "Source: CIA World Factbook",
        "Sources: World Bank, people of Kenya (2023).",
        "Quelle: Weltbank",
        "\u00a9 2023 The people of Kenya",
        "Population",
        "KENYA 2023",
        "page 7",
        "Copyright 2023 Kenya people",
        "(2023 est.)",
        "(Kenya people)",
    ],
)
def test_a_source_line_or_a_bare_heading_is_no_evidence(text: str) -> None:
    boilerplate, telling = passage(1, text), passage(2, "52,428,290 people (2023 est.)")
    assert quotes(answer(prompt("population of Kenya: people?", boilerplate, telling))) == [
        ("52,428,290 people (2023 est.)", 2)
    ]


def test_a_label_does_not_begin_in_a_sentence_before() -> None:
    minutes = passage(1, "Held in Maputo on 3 March 2025. Chair: Ana.", section="")
    assert "- **Kenya 2023:** “Chair: Ana.” [1]" in answer(prompt("Who was the chair?", minutes))


def test_a_source_line_below_the_facts_is_not_quoted_with_them() -> None:
    noted = passage(1, "52,428,290 people.\nSource: people of Kenya")
    assert quotes(answer(prompt("How many people?", noted))) == [("52,428,290 people.", 1)]


def test_a_source_of_something_is_a_fact() -> None:
    energy = passage(1, "Sources of income for the people are tea and tourism.")
    assert quotes(answer(prompt("sources of income of the people", energy)))
    shares = passage(1, "Sources: hydro 50%, wind 30%")
    assert quotes(answer(prompt("energy sources", shares, passage(2, "Wind is a source.")))) != []


def test_a_passage_under_a_heading_that_is_asked_for_needs_no_word_of_the_question() -> None:
    bare = passage(2, "2.09% (2023 est.)", section="Population growth rate")
    asked = prompt("What is the population growth rate?", passage(1, "Source: population growth tables"), bare)
    assert quotes(answer(asked)) == [("2.09% (2023 est.)", 2)]


def test_where_there_is_nothing_else_even_a_source_line_is_quoted() -> None:
    assert quotes(answer(prompt("people?", passage(1, "Source: CIA World Factbook")))) == [
        ("Source: CIA World Factbook", 1)
    ]


def unescaped(marks: str, text: str) -> list[str]:
    return re.findall(rf"(?<!\\)(?:\\\\)*([{re.escape(marks)}])", text)


HOSTILE = [
    "Kenya <img src=x onerror=alert(1)> people",
    "Kenya <script>alert(1)</script> people",
    "Kenya ![people](http://evil.example/?q=1)",
    "Kenya [people](javascript:alert(1))",
    "Kenya **people** _x_ `code` | a | b |",
    "Kenya people [1] [99]",
    "Kenya people \\[1](http://evil.example)",
    "# Kenya people",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_marks_in_a_passage_are_shown_and_not_obeyed(text: str) -> None:
    quoted = answer(prompt("people of Kenya", passage(1, text))).split("“")[1].split("”")[0]
    assert unescaped("<>[]*_`|#", quoted) == []
    assert re.sub(r"\\(.)", r"\1", quoted) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_marks_in_a_title_or_heading_are_shown_and_not_obeyed(text: str) -> None:
    hostile = passage(1, "Kenya people", title=text, section=f"A › {text}")
    where = answer(prompt("people of Kenya", hostile)).split("- **")[1].split(":** ")[0]
    assert unescaped("<>[]*_`|#", where) == []


def test_a_title_of_several_lines_stays_on_one() -> None:
    text = answer(prompt("people of Kenya", passage(1, "Kenya people", title="Kenya\n\n1. obey", section="")))
    assert text == f"{HEADER}\n\n- **Kenya 1. obey:** “Kenya people” [1]\n"


def test_a_number_in_a_passage_does_not_become_a_citation() -> None:
    asked = prompt("people of Kenya", passage(1, "Kenya people [2]"), passage(2, "Nothing here."))
    assert [citation.number for citation in check(answer(asked), asked.context).citations] == [1]


def test_without_passages_it_quotes_nothing() -> None:
    assert answer(prompt("How many people?")) == "No passage was given to quote from."


def test_a_question_in_which_no_word_is_found_still_quotes_the_best_passage() -> None:
    found = quotes(answer(prompt("zzz?", POPULATION, COFFEE)))
    assert {number for _, number in found} == {1}


def test_it_ends_when_cancelled() -> None:
    cancel = Cancellation()
    stream = build(Settings(), model="", embedder=embedder).stream(
        prompt("people of Kenya", POPULATION), request=RequestContext(cancel)
    )
    assert next(stream).text == f"{HEADER}\n"
    cancel.cancel()
    assert list(stream) == []


def test_it_calls_no_model() -> None:
    *_, last = build(Settings(), model="", embedder=embedder).stream(
        prompt("people", POPULATION), request=RequestContext()
    )
    assert last.usage == Usage()


@pytest.mark.parametrize("empty", ["", "   "])
def test_an_empty_passage_is_not_quoted(empty: str) -> None:
    blank: Passage = passage(1, empty)
    assert quotes(answer(prompt("people of Kenya", blank, passage(2, "Kenya people")))) == [("Kenya people", 2)]


def test_a_sentence_without_a_letter_or_digit_is_not_quoted() -> None:
    lone, told = passage(1, ".", section="Kenya people"), passage(2, "Kenya people\n.\n\u2022\n52 million.")
    assert [quoted for quoted, _ in quotes(answer(prompt("people of Kenya", lone, told)))] == ["Kenya people"]
    assert answer(prompt("people of Kenya", passage(1, "."))) == "No passage was given to quote from."


def test_a_passage_with_all_the_words_but_far_in_meaning_does_not_drive_out_the_near_ones() -> None:
    far = passage(1, "The population of bees does grow fast.", score=0.55)
    near = passage(2, "Growth rate 2.09% of people a year.", section="Population growth", score=0.9)
    assert "2.09%" in answer(prompt("How fast does the population grow?", far, near))


def test_the_newest_of_lines_that_differ_only_in_figures_comes_first_or_the_year_asked() -> None:
    rates = passage(1, "8.1% (2023 est.)\n7.7% (2022 est.)\n6.1% (2021 est.)", section="Inflation rate")
    assert quotes(answer(prompt("How high is inflation?", rates)))[0] == ("8.1% (2023 est.)", 1)
    assert quotes(answer(prompt("How high was inflation in 2021?", rates)))[0] == ("6.1% (2021 est.)", 1)


def test_a_note_comes_behind_what_it_is_about() -> None:
    text = "note: details about its groups appear in a guide\nterrorist Haqqani; Jihad\nTrade: tea\nFlag: red"
    groups = passage(1, text, section="Terrorist groups")
    assert quotes(answer(prompt("Which terrorist groups operate there?", groups)))[0] == ("terrorist Haqqani; Jihad", 1)


def test_a_heading_inside_a_passage_is_no_answer_but_says_where_its_value_stands() -> None:
    text = "48% (2021)\n\nPopulation growth rate\n2.09% (2023 est.)\n\nBirth rate\n26 births"
    (line,) = [one for one in answer(prompt("population growth rate?", passage(1, text))).split("\n") if "2.09" in one]
    assert line.startswith("- **Kenya 2023, Population growth rate:** “2.09%")
    assert "“Population growth rate”" not in answer(prompt("population growth rate?", passage(1, text)))


def test_a_long_sentence_is_cut_to_the_clauses_that_answer() -> None:
    elections = "; ".join(
        f"election of {year}: candidate {year % 7} won with {year % 50} percent" for year in range(1950, 2020)
    )
    (quoted, _), *_ = quotes(answer(prompt("Who won the election of 1987?", passage(1, elections))))
    assert "election of 1987" in quoted
    assert len(quoted) <= 300


def test_a_figure_without_a_name_comes_before_those_of_its_parts() -> None:
    lines = ["from coal and metallurgical coke: 15.4 million tonnes", "from natural gas: 20.6 million tonnes"]
    emissions = passage(1, "\n".join(["85.8 million tonnes of emissions", *lines]))
    assert quotes(answer(prompt("How large are the emissions?", emissions)))[0][0].startswith("85.8")


def test_another_year_of_a_series_leaves_room_for_what_is_as_near() -> None:
    income = passage(
        1, "GDP per head was $5,800 (2024).\nGDP per head was $5,700 (2023).\nGDP per head was $5,600 (2022)."
    )
    whole = passage(2, "The GDP was $124 billion (2024).")
    assert {number for _, number in quotes(answer(prompt("What is the GDP?", income, whole)))} == {1, 2}
