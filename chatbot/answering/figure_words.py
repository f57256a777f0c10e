"""A table of figures in words: one plain sentence first, computed from the table, then
the table with its citations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from ..checking.tables import markdown_table
from ..domain import ReportedFigure
from ..domain.scope import Condition, Values
from ..domain.tables import Texts
from ..language.figures import SCALE_WORD, SCALES
from ..language.markdown import escape_markdown
from ..language.reported_figures import dated_text, year_of
from ..language.words import Say, counted
from ..questions.kinds import Request
from ..questions.reading import list_in_words
from .figure_steps import with_unit
from .figure_tables import IndicatorFigures

RANKED = 5
"""Countries of a ranking that does not say how many."""
MOST_LISTED = 30
MOST_CHANGES = 12
MOST_COLUMNS = 4
"""Subjects beside each other; more of them are rows."""
AVERAGE_PLACES = 2


@dataclass(slots=True)
class Rendered:
    """``chunk_ids``: the cited passages, in the order of their numbers, from 1."""

    say: Say
    chunk_ids: list[str] = field(default_factory=list)
    figures: list[ReportedFigure] = field(default_factory=list)
    text: str = ""
    things: Texts = ()
    """The indicators of its rows."""

    def cite(self, figure: ReportedFigure) -> str:
        """Return the figure's text with its year and number: "4.5% (2024 est.) [1]"."""
        if figure.chunk_id not in self.chunk_ids:
            self.chunk_ids.append(figure.chunk_id)
        self.figures.append(figure)
        return (
            f"{dated_text(figure, self.say)} "
            f"[{self.chunk_ids.index(figure.chunk_id) + 1}]"
        )


def render(
    request: Request,
    measured: Sequence[IndicatorFigures],
    subjects: Sequence[str],
    years: Sequence[Condition],
    say: Say,
) -> Rendered | None:
    """Return the answer; None where the table has nothing for this kind of request.

    ``subjects``: those asked about, in the order of the question; none = all that the
    table has.
    """
    rendered = Rendered(say)
    if request.kind in {"ranking", "filter", "count", "aggregate"}:
        parts = [_of_all(rendered, request, one, years) for one in measured]
    elif request.kind == "series":
        parts = [_series(rendered, one, subjects, years) for one in measured]
    else:
        parts = [_side_by_side(rendered, measured, subjects, years)]
    rendered.text = "\n\n".join(filter(None, parts))
    return rendered if rendered.chunk_ids else None


def render_changes(
    changes: Sequence[tuple[ReportedFigure, ReportedFigure]],
    editions: tuple[int, int],
    say: Say,
) -> Rendered | None:
    """Return the largest changes between two editions as a table; None without any."""
    rendered = Rendered(say)
    rows = [
        [escape_markdown(new.indicator), rendered.cite(old), rendered.cite(new)]
        for old, new in changes[:MOST_CHANGES]
    ]
    if rows:
        rendered.things = tuple(new.indicator for _, new in changes[:MOST_CHANGES])
        head = say(
            "{number} figures differ, the largest changes first:", number=len(changes)
        )
        rendered.text = f"{head}\n\n{markdown_table(['', *map(str, editions)], rows)}"
    return rendered if rows else None


def _of_all(
    rendered: Rendered,
    request: Request,
    one: IndicatorFigures,
    years: Sequence[Condition],
) -> str:
    """A ranking, the countries inside a bound, their number, or the average of all."""
    say, name = rendered.say, escape_markdown(one.name)
    figures = [
        (subject, own)
        for subject in one.by_subject
        if (own := one.newest(subject, years)) is not None
    ]
    figures.sort(
        key=lambda pair: (pair[1].value if request.lowest else -pair[1].value, pair[0])
    )
    # The rows of one document's table are no countries.
    documents = {figure.document_id for _, figure in figures}
    noun = "row" if len(documents) == 1 < len(figures) else "country"
    whole = counted(say, len(figures), noun)
    listed = figures[:MOST_LISTED]
    if not figures:
        return ""
    if request.kind == "aggregate":
        text = (
            "Average {name} of {whole}: {value}, computed from the newest figure of "
            "each:"
        )
        if not request.average:
            text = (
                "Total {name} of {whole}: {value}, computed from the newest figure of "
                "each:"
            )
        total = sum((figure.value for _, figure in figures), Decimal(0))
        value = total / len(figures) if request.average else total
        scale, word = _scale_of(figures[0][1])
        value_text = with_unit(
            f"{value / scale:,.{AVERAGE_PLACES}f}{word}", figures[0][1].unit
        )
        head = say(text, name=name, whole=whole, value=value_text)
    elif request.bound is not None and request.kind != "ranking":
        bound = request.bound
        inside = [pair for pair in figures if bound.admits(pair[1].value)]
        inside.sort(
            key=lambda pair: (-pair[1].value if bound.above else pair[1].value, pair[0])
        )
        text = "{name} is below {value} in {number} of {whole}:"
        if bound.above:
            text = "{name} is above {value} in {number} of {whole}:"
        value_text = with_unit(f"{bound.value.normalize():,f}", bound.unit)
        head = say(text, name=name, value=value_text, number=len(inside), whole=whole)
        listed = inside[:MOST_LISTED]
    else:
        listed = figures[: max(request.most, RANKED)]
        first = (
            f"{escape_markdown(s)}, {rendered.cite(figure)}"
            for s, figure in listed[: max(request.most, 1)]
        )
        text = (
            "Lowest {name}: {first}." if request.lowest else "Highest {name}: {first}."
        )
        head = say(text, name=name, first=list_in_words(first, say("and"), say(", ")))
        head += " " + say("Of {whole} with a figure, the newest of each:", whole=whole)
    cited = (
        f"{escape_markdown(subject)}: {rendered.cite(figure)}"
        for subject, figure in listed
    )
    return "\n".join(
        [head, "", *(f"{place}. {text}" for place, text in enumerate(cited, 1))]
    )


def _scale_of(figure: ReportedFigure) -> tuple[Decimal, str]:
    """Return the scale of a figure's text, and its word with a space before: "
    billion"; 1 and "" where it has none.
    """
    match = SCALE_WORD.search(figure.text.lower())
    return (SCALES[match[0]], f" {match[0]}") if match else (Decimal(1), "")


def _series(
    rendered: Rendered,
    one: IndicatorFigures,
    subjects: Sequence[str],
    years: Sequence[Condition],
) -> str:
    """Write one indicator over the years: the first and last value in a sentence, all
    values as a table.
    """
    say, sentences = rendered.say, list[str]()
    shown = [
        subject for subject in subjects or one.by_subject if subject in one.by_subject
    ]
    if len(shown) > MOST_COLUMNS and not subjects:
        return ""  # of no country: nobody can read the lines of all of them
    if len(years) == 1 and isinstance(years[0], Values):
        years = ()  # one year is no series: the others are asked for, too
    points = {
        subject: [
            f
            for f in one.by_subject[subject]
            if not years or any(c.matches(year_of(f)) for c in years)
        ]
        for subject in shown
    }
    points = {subject: figures for subject, figures in points.items() if figures}
    for subject, figures in points.items():
        where = f"{escape_markdown(subject)}, {escape_markdown(one.name)}"
        first, last = figures[0], figures[-1]
        if first is last:
            sentences.append(
                say(
                    "{where}: {first}, the only figure.",
                    where=where,
                    first=rendered.cite(first),
                )
            )
            continue
        text = "{where}: rose from {first} to {last}."
        if first.value == last.value:
            text = (
                "{where}: the same at the beginning and at the end, {first} and {last}."
            )
        elif first.value > last.value:
            text = "{where}: fell from {first} to {last}."
        sentences.append(
            say(text, where=where, first=rendered.cite(first), last=rendered.cite(last))
        )
    named = {
        int(year) for one in years if isinstance(one, Values) for year in one.values
    }
    every = sorted(
        named | {year_of(figure) for figures in points.values() for figure in figures}
    )
    if len(every) < 2 or not points:
        return " ".join(sentences)
    by_year = {
        subject: {year_of(figure): figure for figure in figures}
        for subject, figures in points.items()
    }
    rows = [
        [
            str(year),
            *(
                rendered.cite(each[year]) if year in each else say("not found")
                for each in by_year.values()
            ),
        ]
        for year in every
    ]
    head = [say("Year"), *(escape_markdown(subject) for subject in points)]
    return "\n\n".join([" ".join(sentences), markdown_table(head, rows)])


def _side_by_side(
    rendered: Rendered,
    measured: Sequence[IndicatorFigures],
    subjects: Sequence[str],
    years: Sequence[Condition],
) -> str:
    """Each thing of each subject, of the newest year that all have where there is
    one.
    """
    say, sentences, cells = rendered.say, list[str](), list[list[str]]()
    shown = list(subjects) or list(
        dict.fromkeys(name for one in measured for name in one.by_subject)
    )
    for one in measured:
        have = [subject for subject in shown if subject in one.by_subject]
        year = None if years else one.shared_year(have)
        figures = {subject: one.newest(subject, years) for subject in shown}
        if year is not None:
            figures |= {
                s: next(f for f in one.by_subject[s] if year_of(f) == year)
                for s in have
            }
        ranked = sorted(
            ((f.value, s) for s, f in figures.items() if f is not None), reverse=True
        )
        if len(ranked) > 1:
            first = [
                escape_markdown(subject)
                for value, subject in ranked
                if value == ranked[0][0]
            ]
            text = (
                "{name}: highest in {first}."
                if len(ranked) > 2
                else "{name}: higher in {first}."
            )
            if (
                len(ranked) == 2
                and len({year_of(f) for f in figures.values() if f is not None}) == 1
            ):
                text = "{name}: higher in {first}, by {difference}."
            text = "{name}: the same in {first}." if len(first) > 1 else text
            top = next(
                f for f in figures.values() if f is not None and f.value == ranked[0][0]
            )
            (scale, word), unit = (
                _scale_of(top),
                top.unit.replace("%", say("percentage points")),
            )
            difference = with_unit(
                f"{((ranked[0][0] - ranked[1][0]) / scale).normalize():,f}{word}", unit
            )
            highest = list_in_words(first, say("and"), say(", "))
            sentences.append(
                say(
                    text,
                    name=escape_markdown(one.name),
                    first=highest,
                    difference=difference,
                )
            )
        cells.append(
            [
                rendered.cite(f) if f is not None else say("not found")
                for f in figures.values()
            ]
        )
    names, things = (
        [escape_markdown(s) for s in shown],
        [escape_markdown(one.name) for one in measured],
    )
    if len(shown) > MOST_COLUMNS:
        rows = [
            [name, *(row[place] for row in cells)] for place, name in enumerate(names)
        ]
        table = markdown_table(["", *things], rows)
    else:
        table = markdown_table(
            ["", *names],
            [[thing, *row] for thing, row in zip(things, cells, strict=True)],
        )
    return "\n\n".join(filter(None, [" ".join(sentences), table]))
