"""Write `static/img/world.json`, the outlines of the countries for the page's map.

    npm install world-atlas
    python -m benchmarks.world_outlines node_modules/world-atlas/countries-110m.json

Source: Natural Earth (public domain) as the npm package world-atlas 2.0.2 (ISC) ships
it. The map is a few hundred pixels wide: points that move a line by less than
`TOLERANCE` degrees are left out, and the rest is rounded to `STEP` degrees, which
halves the file. The package is needed for this script only.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

OUTLINES = Path(__file__).parents[1] / "static" / "img" / "world.json"
STEP = 0.1
TOLERANCE = 0.1
MIN_RING_POINTS = 4
Point = tuple[float, float]


def lines_of(topology: dict[str, Any]) -> list[list[Point]]:
    """Return the lines of a topology in degrees."""
    (width, height), (left, bottom) = (
        topology["transform"]["scale"],
        topology["transform"]["translate"],
    )
    lines = []
    for deltas in topology["arcs"]:
        sums = itertools.accumulate(
            deltas, lambda point, step: [point[0] + step[0], point[1] + step[1]]
        )
        lines.append([(x * width + left, y * height + bottom) for x, y in sums])
    return lines


def distance(point: Point, start: Point, end: Point) -> float:
    """Return how far a point is from the line through two others."""
    length = math.dist(start, end)
    if not length:
        return math.dist(point, start)
    (x, y), (x0, y0), (x1, y1) = point, start, end
    return abs((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / length


def simplified(line: list[Point]) -> list[Point]:
    """Leave out points that change a line by less than the tolerance."""
    if len(line) <= 2:
        return line
    between = range(1, len(line) - 1)
    farthest = max(between, key=lambda at: distance(line[at], line[0], line[-1]))
    if distance(line[farthest], line[0], line[-1]) <= TOLERANCE:
        return [line[0], line[-1]]
    return simplified(line[: farthest + 1])[:-1] + simplified(line[farthest:])


def deltas_of(line: list[Point]) -> list[int]:
    """Return a line in steps: its first point, then the way to each next one."""
    points = simplified(line)
    if line[0] == line[-1] and len(points) < MIN_RING_POINTS:
        points = line  # a small island stays a ring
    rounded = [(round(x / STEP), round(y / STEP)) for x, y in points]
    deltas = list(rounded[0])
    for (x0, y0), (x1, y1) in itertools.pairwise(rounded):
        if (x0, y0) != (x1, y1):
            deltas += [x1 - x0, y1 - y0]
    return deltas


def main(source: str) -> None:
    topology = json.loads(Path(source).read_text("utf-8"))
    countries = []
    for country in topology["objects"]["countries"]["geometries"]:
        polygons = country["arcs"]
        if country["type"] == "Polygon":
            polygons = [polygons]
        rings = [ring for polygon in polygons for ring in polygon]
        countries.append([country.get("id"), rings])
    outlines = {
        "source": "Natural Earth by world-atlas 2.0.2, simplified",
        "step": STEP,
        "countries": countries,
        "lines": [deltas_of(line) for line in lines_of(topology)],
    }
    OUTLINES.write_text(json.dumps(outlines, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
