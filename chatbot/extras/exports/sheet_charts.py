"""Native charts of Excel below the tables of a workbook."""

from collections.abc import Sequence
from typing import Any

from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.worksheet.worksheet import Worksheet

from .charts import BOUNDS


def draw(sheet: Worksheet, title: str) -> None:
    """Draw the figures of a table below it: lines, where its rows or its columns are
    years, else bars of its only column. Any other table has no chart.
    """
    head, *rows = sheet.iter_rows(values_only=True)
    width = len(head)
    height = len(rows) + 1
    if _are_years([row[0] for row in rows]):
        chart = LineChart()
        area = Reference(sheet, min_col=2, max_col=width, min_row=1, max_row=height)
        chart.add_data(area, titles_from_data=True)
        names = Reference(sheet, min_col=1, min_row=2, max_row=height)
    elif _are_years(head[1:]):
        chart = LineChart()
        area = Reference(sheet, min_col=1, max_col=width, min_row=2, max_row=height)
        chart.add_data(area, from_rows=True, titles_from_data=True)
        names = Reference(sheet, min_col=2, max_col=width, min_row=1)
    elif width == 2 and len(rows) > 1:
        chart = BarChart()
        area = Reference(sheet, min_col=2, min_row=1, max_row=height)
        chart.add_data(area, titles_from_data=True)
        names = Reference(sheet, min_col=1, min_row=2, max_row=height)
    else:
        return
    _leave_words_out(sheet)
    chart.set_categories(names)
    if isinstance(chart, LineChart):
        _set_up_lines(chart)
    else:
        _set_up_bars(chart, len(rows))
    chart.title = title
    chart.width = BOUNDS["width"]
    chart.x_axis.delete = False
    chart.y_axis.delete = False
    sheet.add_chart(chart, f"A{height + 2}")


def _are_years(values: Sequence[Any]) -> bool:
    years = [
        value
        for value in values
        if isinstance(value, int | float) and 1800 < value < 2200
    ]
    return len(values) >= BOUNDS["years"] and len(years) == len(values)


def _leave_words_out(sheet: Worksheet) -> None:
    """Empty the cells of figures that have words: Excel would draw a zero."""
    for row in sheet.iter_rows(min_row=2, min_col=2):
        for cell in row:
            if isinstance(cell.value, str):
                cell.value = None


def _set_up_lines(chart: LineChart) -> None:
    chart.height = BOUNDS["height"]
    chart.display_blanks = "span"  # a line bridges missing years
    for series in chart.series:
        series.smooth = False
        series.marker.symbol = "circle"
    if len(chart.series) == 1:
        chart.legend = None


def _set_up_bars(chart: BarChart, bars: int) -> None:
    chart.type = "bar"
    chart.height = max(BOUNDS["height"], bars * BOUNDS["bar_height"])
    chart.x_axis.scaling.orientation = "maxMin"  # the first row at the top
    chart.legend = None
