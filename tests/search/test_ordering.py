"""Headings and editions order what was found."""

from dataclasses import replace
from typing import Any

import pytest

from chatbot.domain import Chunk, Range, Scope, SearchHit
from chatbot.domain.documents import HeadingCounts
from chatbot.domain.figures import GlossaryEntry
from chatbot.domain.scope import NamedYears, SearchText, Values
from chatbot.language.analysis import analyzer
from chatbot.models.embed.hashing import HashingEmbedder
from chatbot.search.features import WEIGHTS
from chatbot.search.indicators import IndicatorIndex
from chatbot.search.ordering import Refiner, by_edition

NO_YEAR = SearchText("inflation", "inflation")


def hit(
    name: str,
    edition: int | None,
    section: str = "Economy › Inflation",
    *years: int,
    score: float = 0,
) -> SearchHit:
    metadata = {"country_name": "Kenya"} | (
        {} if edition is None else {"year": edition}
    )
    chunk = Chunk(
        name,
        f"d-{edition}",
        "r.md",
        "Report",
        name,
        section,
        metadata=metadata,
        figure_years=years,
    )
    return SearchHit(
        chunk=chunk, score=0.5, keyword_score=None, fused_score=score, found_by=()
    )


def asked(*figures: int, edition: int | None = None) -> SearchText:
    years = tuple(NamedYears(year, year, 0, 4) for year in figures)
    editions = (
        () if edition is None else (NamedYears(edition, edition, 0, 4, of_report=True),)
    )
    return SearchText("inflation", "inflation", years, editions)


def ordered(
    hits: list[SearchHit],
    text: SearchText = NO_YEAR,
    scope: Scope = Scope(),  # noqa: B008
) -> list[str]:
    return [
        one.chunk.id for one in by_edition(hits, text, scope, analyzer("english").terms)
    ]


OLD, MIDDLE, NEW = (
    hit("old", 2021, "Economy › Inflation", 2019, 2020, 2021),
    hit("middle", 2023, "Economy › Inflation", 2021, 2022),
    hit("new", 2025, "Economy › Inflation", 2022, 2023, 2024),
)
OTHER = hit("other", 2021, "Economy › Exports")


def test_the_newest_edition_of_a_line_is_first() -> None:
    assert ordered([OLD, MIDDLE, OTHER, NEW]) == ["new", "middle", "old", "other"]


def test_older_editions_of_the_first_line_alone_come_behind_its_newest() -> None:
    others = [
        hit(f"{name} {year}", year, f"Economy › {name}")
        for name in "abc"
        for year in (2021, 2025)
    ]
    even_older = hit("even older", 2019)
    found = ordered([OLD, MIDDLE, NEW, even_older, *others])
    assert found[:6] == ["new", "middle", "old", "a 2025", "b 2025", "c 2025"]
    assert set(found[6:]) == {"even older", "a 2021", "b 2021", "c 2021"}


def test_to_a_question_for_reasons_older_editions_say_more_only_in_sentences() -> None:
    reasons = replace(NO_YEAR, prose=True)
    assert ordered([OLD, OTHER, NEW], reasons) == ["new", "other", "old"]
    text = "Prices rose because the harvest failed twice and imports were late."
    told = replace(OLD, chunk=replace(OLD.chunk, text=text))
    assert ordered([told, OTHER, NEW], reasons) == ["new", "old", "other"]


def test_where_another_heading_is_nearer_in_meaning_older_editions_come_after_all() -> (
    None
):
    nearer = replace(hit("nearer", 2025, "Economy › Prices"), score=0.9)
    others = [
        hit(f"other {number}", 2025, f"Economy › Other {number}") for number in range(4)
    ]
    found = ordered([NEW, OLD, nearer, *others])
    assert found == ["new", "nearer", "other 0", "other 1", "other 2", "other 3", "old"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (asked(2024), ["new", "other"]),
        (
            asked(2022),
            ["new", "middle", "other"],
        ),  # what the older edition said of that year stays beside it
        (asked(2021), ["middle", "old", "other"]),
        (asked(2019), ["old", "other"]),
        (asked(2015), ["new", "other"]),
        (asked(edition=2021), ["old", "other"]),
        (asked(2022, edition=2023), ["middle", "other"]),
    ],
)
def test_the_year_asked_decides(text: SearchText, first: list[str]) -> None:
    assert ordered([OLD, OTHER, NEW, MIDDLE], text)[: len(first)] == first


def test_without_a_figure_of_that_year_the_edition_of_that_year() -> None:
    hits = [hit("old", 2021), hit("middle", 2023), hit("new", 2025)]
    assert ordered(hits, asked(2023))[0] == "middle"


def test_two_different_reports_on_a_country_are_no_editions() -> None:
    review = replace(hit("review", 2025), chunk=replace(NEW.chunk, title="Review"))
    review = replace(review, chunk=replace(review.chunk, id="review"))
    assert ordered([OLD, review]) == ["old", "review"]
    assert ordered([OLD, NEW]) == ["new", "old"]


def test_passages_of_one_edition_keep_their_order() -> None:
    parts = [hit("first", 2025), hit("second", 2025), hit("third", 2023)]
    assert ordered(parts) == ["first", "second", "third"]
    dated = [hit("first", 2025), hit("second", 2025, "Economy › Inflation", 2021)]
    assert ordered(dated, asked(2021)) == ["second", "first"]


def test_what_has_no_edition_or_heading_stays_where_it_is() -> None:
    hits = [
        hit("page", None),
        hit("bare", 2021, ""),
        hit("also", 2025, ""),
        MIDDLE,
        NEW,
    ]
    assert ordered(hits) == ["page", "bare", "also", "new", "middle"]


@pytest.mark.parametrize("years", [Values((2021, 2023)), Range(2021, 2023)])
def test_years_that_someone_chose_are_all_there(years: Values | Range) -> None:
    assert ordered([OLD, MIDDLE], scope=Scope.of({"year": years})) == ["old", "middle"]


class Counted:
    """A catalogue that knows the headings of some documents."""

    def __init__(self, counts: dict[str, HeadingCounts]) -> None:
        self.heading_counts = counts.get


def of_another_document(name: str, score: float) -> SearchHit:
    other = hit(name, 2021, "Transport › Roadways", score=score)
    return replace(other, chunk=replace(other.chunk, document_id="another"))


class TestHeadings:
    def order(
        self,
        topic: str,
        hits: list[SearchHit],
        weight: float = 1.0,
        counts: dict[str, HeadingCounts] | None = None,
        **text: Any,
    ) -> list[str]:
        index = IndicatorIndex(HashingEmbedder(256), analyzer("english"))
        weights = {**WEIGHTS, "heading": weight, "prose_heading": weight / 2}
        catalog: Any = Counted(counts or {})
        refiner = Refiner(catalog, index, weights=weights, language="english")
        found = refiner.by_heading(SearchText(topic, topic, **text), hits, None)
        return [one.chunk.id for one in found]

    def test_what_happened_in_a_year_is_told_whatever_the_heading_says(self) -> None:
        story = "In 1998, an earthquake shook the coast and the towns behind it."
        hits = [
            hit("Frequent.", 2021, "Geography › Earthquake"),
            hit(story, 2021, "Introduction › Past", score=0.1),
        ]
        question, years = "Which earthquake struck in 1998?", asked(1998).figure_years
        assert self.order(question, hits, 3.0) == ["Frequent.", story]
        assert self.order(question, hits, 3.0, figure_years=years) == [
            story,
            "Frequent.",
        ]

    def test_the_heading_that_is_asked_comes_first(self) -> None:
        hits = [
            hit("groups", 2021, "People › Ethnic groups", score=1.0),
            hit("roads", 2021, "Transport › Roadways", score=0.9),
            hit("people", 2021, "People › Population", score=0.8),
        ]
        assert self.order("what is the population", hits, weight=2.0)[0] == "people"
        assert self.order("what is the population", hits, weight=0.0) == [
            "groups",
            "roads",
            "people",
        ]

    @pytest.mark.parametrize(
        ("kind", "first"), [("situation_report", "own"), ("country_report", "lifted")]
    )
    def test_headings_lift_nothing_above_another_kind_of_report_that_both_searches_put_first(  # noqa: E501
        self, kind: str, first: str
    ) -> None:
        def of_kind(found: SearchHit, kind: str, score: float) -> SearchHit:
            metadata = {**found.chunk.metadata, "type": kind}
            chunk = replace(found.chunk, metadata=metadata, document_id=kind + "1")
            return replace(found, chunk=chunk, score=score, keyword_score=10 * score)

        own = hit("own", 2024, "Situation › Shelter", score=0.9)
        lifted = hit("lifted", 2025, "People › Displaced families", score=0.5)
        hits = [of_kind(own, kind, 0.9), of_kind(lifted, "country_report", 0.6)]
        assert self.order("displaced families", hits, weight=9.0)[0] == first

    @pytest.mark.parametrize(
        ("indicators", "first"), [(0, "told"), (40, "heading"), (None, "heading")]
    )
    def test_headings_count_as_far_as_those_of_the_document_are_indicators(
        self, indicators: int | None, first: str
    ) -> None:
        heading = hit("heading", 2021, "People › Population", score=0.8)
        told = of_another_document("told", score=1.0)
        counts = {}
        if indicators is not None:
            counts[heading.chunk.document_id] = HeadingCounts(50, indicators)
        assert self.order("the population", [told, heading], 2.0, counts)[0] == first

    def test_a_document_of_few_headings_has_not_earned_that_they_count(self) -> None:
        heading = hit("heading", 2021, "People › Population", score=0.8)
        told = of_another_document("told", score=1.0)
        few = HeadingCounts(1, 1)
        counts = {heading.chunk.document_id: few, "another": few}
        assert self.order("the population", [told, heading], 2.0, counts)[0] == "told"

    def test_headings_order_the_passages_of_a_document_whatever_they_are(self) -> None:
        hits = [
            hit("told", 2021, "Transport › Roadways", score=1.0),
            hit("heading", 2021, "People › Population", score=0.8),
        ]
        counts = {"d-2021": HeadingCounts(50, 0)}
        assert self.order("the population", hits, 2.0, counts)[0] == "heading"

    @pytest.mark.parametrize(
        ("indicators", "first"), [(0, "Rowing club fees"), (50, "Rowing club, rowing")]
    )
    def test_words_that_most_passages_of_a_document_have_do_not_order_them(
        self, indicators: int, first: str
    ) -> None:
        """The name of a club is rare in the library, and in each passage of its own
        document.
        """
        texts = ["Rowing club, rowing", "Rowing club news", "Rowing club fees"]
        scores = (0.9, 0.5, 0.4)
        hits = [
            replace(hit(text, 2021, "Club › Page", score=score), score=0.5)
            for text, score in zip(texts, scores, strict=True)
        ]
        hits.insert(1, of_another_document("other", score=0.7))
        counts = {"d-2021": HeadingCounts(60, indicators)}
        order = self.order("fees of the rowing club", hits, 0.0, counts)
        assert order[0] == first
        # Other documents keep their places.
        assert order[1] == "other"

    @pytest.mark.parametrize("indicators", [0, 40])
    def test_a_heading_has_a_score_where_those_of_its_document_name_figures(
        self, indicators: int
    ) -> None:
        index = IndicatorIndex(HashingEmbedder(256), analyzer("english"))
        catalog: Any = Counted({"d-2021": HeadingCounts(50, indicators)})
        refiner = Refiner(catalog, index, language="english")
        text = SearchText("roads", "roads")
        hits = [hit("roads", 2021, "Transport › Roads")]
        [found] = refiner.by_heading(text, hits, None)
        assert (found.heading_score is None) == (indicators == 0)

    def test_no_heading_lifts_above_what_both_searches_put_first_in_prose(self) -> None:
        told = of_another_document("told", score=0.9)
        told = replace(told, score=0.9, keyword_score=9.0)
        # Of the same series: a heading of both.
        alike = hit("alike", 2021, "Transport › Roadways", score=0.1)
        lifted = hit("lifted", 2021, "People › Displaced families", score=0.8)
        for indicators, first in ((0, "told"), (40, "lifted")):
            counts = {"another": HeadingCounts(50, indicators)}
            counts["d-2021"] = HeadingCounts(50, 40)
            hits = [told, lifted, alike]
            order = self.order("displaced families", hits, 9.0, counts)
            assert order[0] == first

    def test_both_searches_may_put_different_passages_of_one_report_first(self) -> None:
        nearest = replace(hit("nearest", 2024, "Report › Money", score=0.8), score=0.9)
        worded = hit("displaced", 2024, "Report › Wells", score=0.9)
        worded = replace(worded, score=0.8, keyword_score=9.0)
        lifted = hit("lifted", 2025, "People › Displaced families", score=0.8)
        counts = {"d-2024": HeadingCounts(3, 0), "d-2025": HeadingCounts(50, 40)}
        hits = [nearest, worded, lifted]
        assert self.order("displaced families", hits, 9.0, counts)[0] == "displaced"

    @pytest.mark.parametrize(
        ("indicators", "first"), [(0, "fee of members"), (50, "club, the club")]
    )
    def test_within_a_document_a_passage_that_repeats_its_name_is_not_the_first(
        self, indicators: int, first: str
    ) -> None:
        """Who names the club says where to look: the search by words finds the passage
        that says what the club is, the one by meaning that which answers.
        """
        named = hit("club, the club", 2021, "Club › About", score=0.9)
        told = hit("fee of members", 2021, "Club › Page", score=0.5)
        hits = [
            replace(named, score=0.6, keyword_score=9.0),
            replace(told, score=0.8, keyword_score=0.1),
            of_another_document("other", score=0.7),
        ]
        counts = {"d-2021": HeadingCounts(60, indicators)}
        order = self.order("What do members of the club pay?", hits, 0.0, counts)
        assert next(text for text in order if text != "other") == first

    def test_a_passage_without_a_heading_is_an_average_one(self) -> None:
        """A report without headings is not behind every other."""
        hits = [
            hit("far", 2021, "Transport › Roadways", score=0.5),
            hit("page", 2021, "", score=0.5),
            hit("near", 2021, "People › Population", score=0.5),
        ]
        assert self.order("population", hits) == ["near", "page", "far"]
        assert self.order(
            "population", [hit("a", 2021, "", score=1), hit("b", 2021, "", score=2)]
        ) == ["a", "b"]


def test_a_topic_is_compared_again_with_headings_that_come_later() -> None:
    index = IndicatorIndex(HashingEmbedder(64), analyzer("english"))
    [first] = index.near("inflation", ["Inflation"])
    again, later = index.near("inflation", ["Inflation", "Inflation rate"])
    assert first == again
    assert later is not None
    assert 0 < later.score < again.score


def test_a_phrase_of_several_headings_counts_only_where_it_is_asked() -> None:
    broad = [
        GlossaryEntry("what life is like there", "", (), heading)
        for heading in ("Economy", "People", "Food")
    ]
    index = IndicatorIndex(HashingEmbedder(256), analyzer("english"), lambda: broad)
    [asked] = index.near("What is life like there?", ["Food"])
    [other] = index.near("The life of old trees in the forest", ["Food"])
    assert asked is not None
    assert other is not None
    assert asked.words == 1
    assert other.words == 0
