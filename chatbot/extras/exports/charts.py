"""Charts of the figures in an answer, as native charts of Office files. Which can be
drawn is decided as on the page (static/js/chat/charts.js).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from pptx.chart.data import ChartData
from pptx.enum.chart import (
    XL_CHART_TYPE,
    XL_LABEL_POSITION,
    XL_LEGEND_POSITION,
    XL_TICK_LABEL_POSITION,
)
from pptx.package import Package
from pptx.parts.chart import ChartPart
from pptx.util import Pt

from ...database.core import Json
from ...domain.errors import read_table

BOUNDS: dict[str, Any] = read_table(__package__, "bounds")


@dataclass(frozen=True, slots=True)
class FigureChart:
    """Lines over the years, or bars of one figure for each subject. ``figures`` are
    those that are drawn, in order.
    """

    is_lines: bool
    figures: Sequence[Json]

    @property
    def title(self) -> str:
        """The indicator, with what nothing else in the chart shows."""
        first = self.figures[0]
        title = str(first["indicator"])
        if len({one["subject"] for one in self.figures}) == 1:
            title = f"{first['subject']}: {title}"
        years = {one["year"] for one in self.figures}
        if not self.is_lines and len(years) == 1 and first["year"]:
            title += f", {first['year']}"
        if len(first["unit"]) > 1:
            title += f" ({first['unit']})"
        return title

    def part(self) -> ChartPart:
        """Return the chart, related to a workbook with its values."""
        return self._lines() if self.is_lines else self._bars()

    def _lines(self) -> ChartPart:
        span = self._span()
        subjects = _grouped(self.figures, "subject")
        data = ChartData(number_format="#,##0.##")
        data.categories = [str(year) for year in span]
        for subject, figures in subjects.items():
            values = {one["year"]: one["value"] for one in figures}
            data.add_series(subject, [values.get(year) for year in span])
        part = self._new(XL_CHART_TYPE.LINE_MARKERS, data)
        chart = part.chart
        (blanks,) = part._element.xpath("//c:dispBlanksAs")
        blanks.set("val", "span")  # a line bridges missing years
        chart.has_legend = len(subjects) > 1
        if chart.has_legend:
            chart.legend.position = XL_LEGEND_POSITION.BOTTOM
            chart.legend.include_in_layout = False
        elif len(self.figures) <= 10:
            for figure in self.figures:
                place = span.index(figure["year"])
                _label(part, place, figure["text"], XL_LABEL_POSITION.ABOVE)
        return part

    def _bars(self) -> ChartPart:
        data = ChartData(number_format="#,##0.##")
        data.categories = [self._bar_name(one) for one in self.figures]
        data.add_series(self.title, [one["value"] for one in self.figures])
        part = self._new(XL_CHART_TYPE.BAR_CLUSTERED, data)
        chart = part.chart
        chart.has_legend = False
        chart.plots[0].gap_width = 40
        chart.category_axis.reverse_order = True
        axis = chart.value_axis
        axis.visible = False
        axis.has_major_gridlines = False
        shown = [float(one["value"]) for one in self.figures]
        axis.minimum_scale = min(0, min(shown) * BOUNDS["room"])
        axis.maximum_scale = max(0, max(shown) * BOUNDS["room"])
        for place, figure in enumerate(self.figures):
            _label(part, place, figure["text"], XL_LABEL_POSITION.OUTSIDE_END)
        return part

    def _new(self, kind: Any, data: ChartData) -> ChartPart:
        part: ChartPart = ChartPart.new(kind, data, Package(""))
        chart = part.chart
        chart.font.size = Pt(9)
        chart.chart_title.text_frame.text = self.title
        chart.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
        return part

    def _span(self) -> range:
        years = [int(one["year"]) for one in self.figures]
        return range(min(years), max(years) + 1)

    def _bar_name(self, figure: Json) -> str:
        years = {one["year"] for one in self.figures}
        if len(years) > 1 and figure["year"]:
            return f"{figure['subject']} ({figure['year']})"
        return str(figure["subject"])


def _label(part: ChartPart, place: int, text: str, position: Any) -> None:
    """Write a text at a point of the first series."""
    label = part.chart.plots[0].series[0].points[place].data_label
    label.text_frame.text = text
    label.text_frame.word_wrap = False
    label.position = position


def charts_of(answer: Mapping[str, Any]) -> list[FigureChart]:
    """Return the charts of the figures that an answer states and that are supported by
    their source, those with most figures first. An answer that an older release stored
    has the figures of its passages, of which those with a year are drawn.
    """
    supported = {one["number"] for one in answer["citations"] if one["supported"]}
    card = answer.get("card")
    figures = answer["figures"] if card is None else card["figures"]
    usable = [
        one
        for one in figures
        if (one["year"] or card is not None)
        and one["subject"]
        and one["citation"] in supported
    ]
    text = answer["response"].replace("\\", "")
    places = {id(figure): place for place, figure in enumerate(usable)}

    def place_of(figure: Json) -> int:
        if card is None:
            return _stated_at(figure, text)
        return places[id(figure)]

    charts = [
        _chart(same, place_of)
        for same in _grouped(usable, "indicator", "unit").values()
    ]
    # A document shows the three charts with most figures.
    return sorted(filter(None, charts), key=lambda chart: -len(chart.figures))[:3]


def shown_charts(figures: Sequence[Json], *, is_lines: bool) -> Iterator[FigureChart]:
    """Yield a chart of each indicator as the explorer draws it: lines over the years,
    or bars of the newest figure of each subject, the largest first.
    """
    for of_indicator in _grouped(figures, "indicator").values():
        dated = []
        for figure in of_indicator:
            if figure["year"]:
                number = next(iter(figure["citations"]), None)
                dated.append({**figure, "citation": number})
        if not dated:
            continue
        if is_lines:
            yield FigureChart(True, dated)
            continue
        by_subject = _grouped(dated, "subject")
        newest = [same[-1] for same in by_subject.values()]
        newest.sort(key=lambda figure: -figure["value"])
        yield FigureChart(False, newest[: BOUNDS["bars"]])


def _grouped(figures: Iterable[Json], *names: str) -> Mapping[Any, Sequence[Json]]:
    groups = defaultdict[Any, list[Json]](list)
    key = itemgetter(*names)
    for figure in figures:
        groups[key(figure)].append(figure)
    return groups


def _chart(
    figures: Sequence[Json], place_of: Callable[[Json], int]
) -> FigureChart | None:
    """The chart of one indicator: of each subject and year the figure of the newest
    report; None where the answer states none of them. ``place_of`` gives where it
    states a figure, -1 = nowhere.
    """
    newest = {
        (one["subject"], one["year"]): one
        for one in sorted(figures, key=lambda one: int(one["edition"] or 0))
    }
    points = sorted(newest.values(), key=_year_of)
    by_subject = _grouped(points, "subject")
    stated = {
        name: [one for one in own if place_of(one) >= 0]
        for name, own in by_subject.items()
    }
    if not any(stated.values()):
        return None
    counts = {len(own) for own in stated.values()}
    if counts == {1} and 3 <= len(stated) <= BOUNDS["bars"]:
        # The answer is a ranking: bars in its order.
        return FigureChart(False, sorted(chain(*stated.values()), key=place_of))
    longest = max(len(own) for own in by_subject.values())
    # More lines of one chart cannot be told apart.
    if longest >= 3 and len(by_subject) <= BOUNDS["lines"] and _year_of(points[0]):
        return FigureChart(True, list(chain(*by_subject.values())))
    # Bars for the year that most subjects have, the latest of several.
    by_year = _grouped(points, "year").values()
    bars = max(by_year, key=lambda same: (len(same), _year_of(same[0])))
    if not 1 < len(bars) <= BOUNDS["bars"]:
        return None
    return FigureChart(False, sorted(bars, key=lambda one: -one["value"]))


def _year_of(figure: Json) -> int:
    return int(figure["year"] or 0)


def _stated_at(figure: Json, text: str) -> int:
    """Where the answer states a figure ("4.5% (2024 est.) [1]"); -1 if nowhere."""
    cited = rf"(?:\[[\d, ]+\])*?\[(?:\d+, ?)*{figure['citation']}\b"
    stated = (
        rf"(?<![\d.,]){re.escape(figure['text'])}(?![\d%])([^\[\]|\n]{{0,40}}){cited}"
    )
    places = (
        m
        for m in re.finditer(stated, text)
        if not re.search(r"\d{4}", m[1]) or str(figure["year"]) in m[1]
    )
    return next((place.start() for place in places), -1)
