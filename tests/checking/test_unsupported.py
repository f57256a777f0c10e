"""Figures, dates and quotations that the cited passages do not have, sentence by
sentence (beyond the seeds, 3).
"""

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot.checking.citations import MAX_CHECKED_CHARACTERS, check
from chatbot.domain import Question, Range, Scope
from chatbot.domain.chat import Unsupported
from chatbot.domain.scope import Values
from tests.checking.conftest import context
from tests.data import cases

CASES = cases(__file__)

ECONOMY = (
    "Real GDP growth rate: 5.6% (2023 est.)\nReal GDP growth rate: 4.9% (2022 est.)\n"
    "Exports: $11.983 billion (2022 est.)\nInflation fell from 7.7% in 2022 to 6.9 "
    "percent in 2023.\n"
    "Budget deficit: -5.4% of GDP. Debt: EUR 1.2 bn. Elections were held on 9 "
    "August 2022 and will be in August 2027.\n"
    "The parliament has two chambers with three hundred and sixty-seven members in "
    "2019-21. "
    "Aid of 35 to 40 million dollars went to 12 counties."
)


def unsupported(
    response: str, *texts: str, question: Question | None = None, **fields: object
) -> tuple[Unsupported, ...]:
    return check(response, context(*texts, **fields), question).unsupported


def asked(query: str, scope: Scope = Scope()) -> Question:  # noqa: B008  # frozen and empty
    return Question(query, scope, 5, "hybrid", "direct")


def test_a_country_is_not_named_by_one_whose_name_is_longer() -> None:
    passage = "South Sudan sold oil worth 4 million dollars to China."
    [name] = unsupported("Sudan sold oil worth 4 million dollars [1].", passage)
    assert name.names == ("Sudan",)
    assert (
        unsupported("South Sudan sold oil worth 4 million dollars [1].", passage) == ()
    )


@pytest.mark.parametrize("claim", CASES["figures_in_other_spellings_are_supported"])
def test_figures_in_other_spellings_are_supported(claim: str) -> None:
    assert unsupported(claim, ECONOMY) == ()


@pytest.mark.parametrize(
    ("claim", "figure"), CASES["figures_that_say_something_else_are_not"]
)
def test_figures_that_say_something_else_are_not(claim: str, figure: str) -> None:
    """A word that says how a figure is rounded is held to, and a single digit needs
    one.
    """
    (found,) = unsupported(claim, ECONOMY)
    assert (found.figures, found.quotations, found.numbers) == ((figure,), (), (1,))


@pytest.mark.parametrize(
    ("passages", "answer", "figures"),
    CASES["figures of other passages, units and languages"],
)
def test_a_figure_is_held_against_the_year_unit_and_language_of_its_passage(
    passages: list[str], answer: str, figures: list[str]
) -> None:
    assert [
        figure for found in unsupported(answer, *passages) for figure in found.figures
    ] == figures


def test_a_quotation_has_the_decimal_mark_of_its_passage_not_of_the_answer() -> None:
    comma, point = (
        "Schulen: 187; Kinder: 80.410; Anteil: 51,2 %",
        "Pupils: 80410; Share: 51.2%; Rest: 1.5%",
    )
    answer = f"- **Report:** “{comma}” [1]\n- **Report:** “{point}” [2]"
    assert unsupported(answer, comma, point, title="Report") == ()
    assert unsupported(answer.replace("80.410", "80.420"), comma, point, title="Report")


BIG_FOUR = (
    "The country\u2019s \u201cBig Four\u201d agenda \u2013 health, housing \u2013 "
    "costs 25% (2017 est.)."
)


@pytest.mark.parametrize("quotation", CASES["quotations that stand there"])
def test_a_quotation_that_stands_there_word_for_word(quotation: str) -> None:
    assert unsupported(f"It says {quotation} [1].", BIG_FOUR) == ()


@pytest.mark.parametrize("quotation", CASES["quotations that do not"])
def test_a_quotation_that_does_not_stand_there(quotation: str) -> None:
    (found,) = unsupported(f"It says {quotation} [1].", BIG_FOUR)
    assert found.quotations == (quotation[1:-1],)


def test_a_quotation_comes_from_one_passage() -> None:
    texts = ("Kenya grows by 2.09% a year.", "Mali grows by 2.95% a year.")
    assert (
        unsupported(
            "\u201cKenya grows\u201d and \u201cMali grows\u201d [1][2].", *texts
        )
        == ()
    )
    assert unsupported("\u201cKenya grows \u2026 Mali grows\u201d [1][2].", *texts)


class TestTheQuestionsOwn:
    """What the question says is not held against the answer."""

    SCOPE = Scope.of({"year": Range(2021, 2023), "country_name": Values(("Kenya",))})

    def test_years_of_the_scope_and_counts_of_the_question(self) -> None:
        question = asked("What were the top 5 exports in 2019?", self.SCOPE)
        assert (
            unsupported(
                "The top 5 exports of 2019, 2021 and 2023: tea [1].",
                "Tea.",
                question=question,
            )
            == ()
        )
        assert unsupported(
            "The top 6 exports of 2018: tea [1].", "Tea.", question=question
        )[0].figures == ("6", "2018")

    def test_amounts_of_the_question_are_claims_like_any_other(self) -> None:
        question = asked("Is it true that 60 million people live there, 12%?")
        (found,) = unsupported(
            "Yes, 60 million, 12% [1].", "52 million", question=question
        )
        assert found.figures == ("60 million", "12%")

    def test_a_name_that_the_question_quotes(self) -> None:
        question = asked('What is the "Big Five" plan?')
        assert (
            unsupported(
                'No "Big Five" plan is mentioned [1].', "Tea.", question=question
            )
            == ()
        )
        assert unsupported(
            'No "Big Six" plan is mentioned [1].', "Tea.", question=question
        )


class TestWhatIsTold:
    def test_the_sentence_as_it_is_read_with_all_that_is_missing(self) -> None:
        text = (
            "It is so [1].\n\n- **Growth** is *9%*, or 8.5\\% \u201cnever said\u201d "
            "since 3 May 1999 [1, 2]. Good."
        )
        assert unsupported(text, "2%", "3%") == (
            Unsupported(
                "Growth is 9%, or 8.5% \u201cnever said\u201d since 3 May 1999 [1, 2].",
                (1, 2),
                ("9%", "8.5%", "3 May 1999"),
                ("never said",),
            ),
        )

    def test_a_number_that_no_passage_has_is_told_and_accuses_no_other(self) -> None:
        checked = check("It is 2% [1][7]. It is 3% [8].", context("2%"))
        assert checked.unsupported == (
            Unsupported("It is 2% [1][7].", (1,), unknown=(7,)),
            Unsupported("It is 3% [8].", (), unknown=(8,)),
        )
        assert [(c.number, c.supported) for c in checked.citations] == [(1, True)]

    def test_a_link_is_read_by_its_text(self) -> None:
        (found,) = unsupported("See [the 9% page](http://x.example/77) [1].", "2%")
        assert (found.sentence, found.figures) == ("See the 9% page [1].", ("9%",))

    def test_a_figure_or_a_name_needs_a_source(self) -> None:
        assert unsupported("It is 9%. It is 2% [1].", "2%") == (
            Unsupported("It is 9%.", (), no_source=True),
        )
        assert [
            u.no_source
            for u in unsupported("It lies near Nairobi. It is 2% [1].", "2%")
        ] == [True]
        assert (
            unsupported(
                (
                    "## Growth of 2023\n\nThis is what they say:\n\nIt is low. It is "
                    "2% [1]."
                ),
                "2%",
            )
            == ()
        )


class TestClauses:
    """Each against its own [n]."""

    TEXTS = ("Kenya grows by 2.09% (2023 est.).", "Mali grows by 2.95% (2023 est.).")

    @pytest.mark.parametrize(
        ("response", "blamed"), CASES["only_the_passage_of_the_clause_is_blamed"]
    )
    def test_only_the_passage_of_the_clause_is_blamed(
        self, response: str, blamed: list[list[int]]
    ) -> None:
        assert [
            list(found.numbers) for found in unsupported(response, *self.TEXTS)
        ] == blamed


TURNED = (
    "In 2015, 39% of the people of Rwanda lived below the poverty line, compared "
    "to 57% in 2006. "
    "The Senate approved the loan of $25 million in May 2016. Exports rose to $4 "
    "billion in 2019."
)


@pytest.mark.parametrize(("claim", "otherwise"), CASES["what_a_passage_says_otherwise"])
def test_what_a_passage_says_otherwise(claim: str, otherwise: str) -> None:
    (found,) = unsupported(f"{claim} [1].", TURNED)
    assert otherwise in {*found.names, *found.contradicted, *found.figures}


@pytest.mark.parametrize("claim", CASES["the_same_in_other_words_is_borne"])
def test_the_same_in_other_words_is_borne(claim: str) -> None:
    assert unsupported(f"{claim} [1].", TURNED) == ()


@pytest.mark.parametrize(("response", "answered"), CASES["what_counts_as_an_answer"])
def test_what_counts_as_an_answer(response: str, answered: bool) -> None:
    assert check(response, context(TURNED)).answered is answered


@pytest.mark.parametrize("limit", CASES["an_honest_limit_needs_no_source"])
def test_an_honest_limit_needs_no_source(limit: str) -> None:
    assert unsupported(f"It was 39% in 2015 [1].\n\n{limit}", TURNED) == ()


@pytest.mark.parametrize("answer", CASES["other_forms_of_citations_are_read"])
def test_other_forms_of_citations_are_read(answer: str) -> None:
    found = check(answer, context(TURNED, TURNED))
    assert (found.answered, found.unsupported, found.citations[0].number) == (
        True,
        (),
        1,
    )


NUMBERS = st.integers(11, 99_999_999)


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1, max_size=8, unique=True), st.data())
def test_every_figure_of_a_passage_may_be_cited_in_any_grouping(
    numbers: list[int], data: st.DataObject
) -> None:
    group = data.draw(st.sampled_from(["", ",", "\u202f", "\u00a0", "'"]))
    text = "; ".join(
        f"row {chr(97 + place)}: {number:,}" for place, number in enumerate(numbers)
    )
    claims = " and ".join(f"{number:,}".replace(",", group) for number in numbers)
    assert unsupported(f"They are {claims} [1].", text) == ()


@given(
    NUMBERS,
    NUMBERS.filter(lambda n: n != 2023),
    st.sampled_from(["%", " percent", " million", "", " people"]),
)
def test_another_figure_is_never_supported(true: int, said: int, unit: str) -> None:
    """But for 2023, which is in the title of each passage, and a rounded one: 270 for
    265.
    """
    found = unsupported(f"They are {said}{unit} [1].", f"They are {true:,}{unit}.")
    assert bool(found) == (true != said) or 20 * abs(said - true) <= true


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_written_makes_the_check_fail(response: str, text: str) -> None:
    check(f"{response} [1].", context(text), asked(response))
    check(response, context(text))


def calls(response: str) -> int:
    """How many functions the check of an answer calls."""
    made = Counter[str]()
    sys.setprofile(lambda frame, event, argument: made.update([event]))
    try:
        check(response, context(TURNED))
    finally:
        sys.setprofile(None)
    return made["call"]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "7 August {} ",
        "{}.5% ",
        "{} in Kenya, Uganda ",
        "{} [1], ",
        "{}. [1] (",
        "| {} [1] ",
    ],
)
def test_a_long_answer_is_checked_in_linear_time(piece: str) -> None:
    once, twice = (
        "".join(map(piece.format, range(1900, 1900 + count))) + "[1]."
        for count in (40, 80)
    )
    calls(once), calls(twice)  # what is read or cached once
    assert calls(twice) < 2.5 * calls(once)


@pytest.mark.slow
def test_a_passage_is_read_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Counter[str]()
    monkeypatch.setattr(
        "chatbot.checking.citations.evidence_of",
        lambda passage: read.update([passage.wider_text]),
    )
    found = check(
        "It grew by 9% [1].", context("It grew by 5%. " * MAX_CHECKED_CHARACTERS)
    )
    assert (found.unsupported, found.citations[0].supported, read.total()) == (
        (),
        True,
        0,
    )


INFLATION = (
    "4.5% (2024 est.)\n\n7.7% (2023 est.)\n\n7.7% (2022 est.)\n\nnote: annual % change "
    "based on consumer prices"
)
HEADING = "Economy › Inflation rate (consumer prices)"


def test_a_line_of_a_list_of_years_is_quoted_as_it_stands() -> None:
    """Behind its title and heading, which are longer than the line."""
    lines = ("4.5% (2024 est.)", "7.7% (2023 est.)", "7.7% (2022 est.)")
    quotes = "\n".join(
        f"- **Kenya: Report, Inflation rate (consumer prices):** “{line}” [1]"
        for line in lines
    )
    cited = context(INFLATION, title="Kenya: Report", section=HEADING)
    assert check(quotes, cited).unsupported == ()
