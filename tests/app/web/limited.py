"""Two worlds that a caller limited to Kenya must not tell apart: one where only Kenya's
reports are there, and one with the reports of others and what others do.

The calls are made from the routes and the tools that the application itself names. A
new route joins by itself; one whose call cannot be made fails the test, with what to
add here.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.datastructures import FileStorage
from werkzeug.routing import Rule

from chatbot.app.services import Services
from chatbot.app.web.routes import Route, route_of
from chatbot.database.repositories import documents
from chatbot.database.repositories.access import ID_CHARACTERS, PREFIX
from chatbot.domain.figures import GlossaryEntry
from chatbot.extras.protocols.toolbox import TOOLS
from chatbot.library.pipeline import Registration
from chatbot.library.sources import document_id
from tests.app.web.knowledge import ended, post_form
from tests.conftest import ingest_file

KENYA_2023 = """# Kenya: Country Report 2023

## Economy

### Real GDP growth rate

5.4% (2023 est.)

### Exports

tea: $1.4 billion (2023 est.)

## People and Society

### Population growth rate

2.09% (2023 est.)

### Median age

total: 20.1 years (2023 est.)

male: 19.9 years (2023 est.)

TEU: Twenty-foot Equivalent Unit, the size of a container.

The port of Mombasa grew because the railway was finished in 2023.
"""
KENYA_2024 = KENYA_2023.replace("2023", "2024").replace("2.09", "2.11")
SOMALIA = """# Somalia: Country Report 2017

## Zyntharex output

total: 4,217 tonnes (2017 est.)

blorvexia share: 17.5% (2017 est.)

## Population growth rate

9.87% (2017 est.)

## Exports

camels: $9.1 billion (2017 est.)

## Glossary

QZT: Quorvane Zintel Tariff, a levy on camels.

Wobblefrax: the share of herders that own more than one krondulin.

The Quorvane Zintel Tariff (QZT) rose in 2017. The port grew, the railway did not.
"""
MALI = SOMALIA.replace("Somalia", "Mali").replace("9.87", "3.1").replace("2017", "2022")
ROWS = (
    "Text,Title,country,year\n"
    "{before},Prices of {name},{name},{year}\n"
    "Kenya mixrow tea output was 500 tonnes,Tea in Kenya,Kenya,2023\n"
    "{after},Levies of {name},{name},{year}\n"
    "Kenya mixrow coffee output was 40 tonnes,Coffee in Kenya,Kenya,2023\n"
)
"""A report of several countries. Kenya's rows are the same in both worlds."""
ROWS_ALONE = ROWS.format(
    before="Milk was sold at 7 francs",
    after="A levy was raised to 12 francs",
    name="Chad",
    year=2020,
)
ROWS_AMONG_OTHERS = ROWS.format(
    before="Zyntharex tea output was 731 shillings (GLV)",
    after="GLV: Glimmerhorst Levy Verdict of Mogadishu",
    name="Somalia",
    year=2017,
)
PDF = "application/pdf"
QUESTIONS = (
    "What is the population growth rate?",
    "What is the zyntharez output?",
    "What was the blorvexai share?",
    "What is QZT?",
    "What does wobblefrax mean?",
    "What does TEU mean?",
    "Compare Kenya and Somalia by population growth rate",
    "Which country has the highest population growth rate?",
    "How many countries are there?",
    "List all reports",
    "What changed since 2017?",
    "Why did the port grow?",
    "What is Somalia's output?",
    "tea output mixrow",
    "median age of men",
    "hello",
)
MODES = ("direct", "compare", "auto")
FOLLOW_UP = [
    {"role": "user", "content": "How fast does the population of Kenya grow?"},
    {"role": "assistant", "content": "2.09% (2023 est.)"},
]
CANARIES = (
    "zyntharex",
    "blorvexia",
    "quorvane",
    "wobblefrax",
    "krondulin",
    "glimmerhorst",
    "mogadishu",
    "9.87",
    "4,217",
    "camels",
    "secretbrief",
)
"""Words that only reports of others have."""
ROLES = ("read", "write", "admin")


@dataclass
class World:
    """An application with its reports, and the ids that calls name."""

    app: Flask
    services: Services
    ids: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def client(self, role: str) -> FlaskClient:
        """Return a client with the key of that name."""
        client = self.app.test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {self.keys[role]}"
        return client


def build(app: Flask, folder: Path, *, others: bool) -> World:
    """Fill an application; with ``others`` also with reports and activity of others."""
    services: Services = app.extensions["services"]
    world = World(app, services)
    folder.mkdir(parents=True, exist_ok=True)
    _key(world, "owner", "admin")
    if others:
        _add(world, folder, "aaa-somalia", SOMALIA, "Somalia", 2017, type="secretbrief")
    _add(world, folder, "kenya-2023", KENYA_2023, "Kenya", 2023)
    table = folder / "table.csv"
    table.write_text(ROWS_AMONG_OTHERS if others else ROWS_ALONE, encoding="utf-8")
    _ingest(world, table, "table")
    _add(world, folder, "kenya-2024", KENYA_2024, "Kenya", 2024)
    if others:
        _add(world, folder, "zzz-mali", MALI, "Mali", 2022)
        entries = [GlossaryEntry("Zintel", "A secret levy", other_words=("zintelar",))]
        services.storage.glossary.put(world.ids["aaa-somalia"], entries)
        _busy_others(world)
    for role in ROLES:
        _key(world, role, role, {"country_name": ["Kenya"]})
        _own_rows(world, role)
    for name in ("aaa-somalia", "zzz-mali"):
        world.ids[name] = document_id(f"test/{name}")
    for record in services.storage.documents.all():
        world.ids.setdefault(f"report {record.source}", record.id)
        world.ids.setdefault(f"version of {record.source}", record.version)
    return world


def _key(
    world: World, name: str, role: str, filters: Mapping[str, Any] | None = None
) -> None:
    """Make a key that is the same in both worlds, as its owner's reports are named by
    it.
    """
    secret = f"{PREFIX}{name:0<40}"
    row = {
        "_id": secret[:ID_CHARACTERS],
        "digest": sha256(secret.encode()).hexdigest(),
        "name": name,
        "role": role,
        "created_at": "2024-01-01T00:00:00+00:00",
        "filters": dict(filters or {}),
        "revoked_at": "",
    }
    world.services.storage.database["keys"].insert_one(row)
    world.keys[name] = secret
    world.ids[f"{name} key"] = secret[:ID_CHARACTERS]


@contextmanager
def distinct_times() -> Iterator[None]:
    """Let each change of a report be a second later than the one before. Lists are
    sorted by whole seconds, which nobody waits for here.
    """
    seconds = count(int(time.time()) - 86_400)

    def later(timespec: str) -> str:
        return datetime.fromtimestamp(next(seconds), UTC).isoformat(timespec=timespec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "now", later)
        yield


def _add(
    world: World,
    folder: Path,
    name: str,
    text: str,
    country: str,
    year: int,
    **more: Any,
) -> None:
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    _ingest(world, path, name, country_name=country, year=year, **more)


def _ingest(world: World, path: Path, name: str, **metadata: Any) -> None:
    services = world.services
    about = Registration(file_id=services.storage.files.put(path))
    ingest_file(services, path, f"test/{name}", about, **metadata)
    world.ids[name] = document_id(f"test/{name}")
    record = services.storage.documents.get(world.ids[name])
    assert record is not None
    assert record.status == "ready"
    for number, chunk_id in enumerate(record.chunk_ids()[:-1]):
        world.ids[f"{name}#{number}"] = chunk_id
    world.ids[f"version of {name}"] = record.version


def _busy_others(world: World) -> None:
    """Ask, rate, upload and make keys as an administrator without a limit."""
    owner = world.client("owner")
    for query in QUESTIONS[:4]:
        answer = owner.post("/query", json={"query": query}).get_json()
        owner.post(
            f"/api/messages/{answer['message_id']}/feedback",
            json={"rating": "down", "comment": "not about Mogadishu"},
        )
        world.ids["other message"] = answer["message_id"]
        world.ids["other conversation"] = answer["conversation_id"]
    missing = owner.post("/query", json={"query": "Who is the sultan of Mogadishu?"})
    assert missing.status_code == 200
    job = ended(
        owner, post_form(owner, "/api/documents", ("mogadishu.md", SOMALIA + "More."))
    )
    world.ids["other job"] = job["ingestion_id"]
    made = owner.post("/api/keys", json={"name": "Mogadishu office"}).get_json()
    world.ids["other key"] = made["key"]["id"]
    somalia = {"name": "s", "role": "admin", "filters": {"country_name": ["Somalia"]}}
    made = owner.post("/api/keys", json=somalia).get_json()
    world.keys["somalia"] = made["secret"]
    world.client("somalia").post("/query", json={"query": "What is the sultan's age?"})


def _own_rows(world: World, role: str) -> None:
    """What the limited caller has done: a question with feedback, a link, an upload."""
    client = world.client(role)
    answer = client.post("/query", json={"query": QUESTIONS[0]}).get_json()
    world.ids[f"{role} conversation"] = answer["conversation_id"]
    world.ids[f"{role} message"] = answer["message_id"]
    client.post(f"/api/messages/{answer['message_id']}/feedback", json={"rating": "up"})
    client.post("/query", json={"query": "What is the output of Tuvalu?"})
    shared = client.post(f"/api/conversations/{answer['conversation_id']}/share")
    world.ids[f"{role} token"] = shared.get_json()["share"]
    if role == "read":
        return
    job = ended(
        client, post_form(client, "/api/documents", (f"{role}.md", KENYA_2023 + role))
    )
    world.ids[f"{role} job"] = job["ingestion_id"]
    if role == "admin":
        made = client.post("/api/keys", json={"name": "mine"}).get_json()
        world.ids["admin key"] = made["key"]["id"]
        made = client.post("/api/keys", json={"name": "spare"}).get_json()
        world.ids["admin spare key"] = made["key"]["id"]


@dataclass(frozen=True)
class Call:
    """A request. ``path`` and the body name ids of the world in braces."""

    rule: str
    method: str
    path: str
    body: Any = None
    form: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        sent = "" if self.body is None else f" {json.dumps(self.body)}"
        return f"{self.method} {self.path}{sent}"


PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "document_id": ("{kenya-2023}", "{table}", "{aaa-somalia}", "{zzz-mali}", "none"),
    "chunk_id": (
        "{kenya-2023#0}",
        "{kenya-2024#2}",
        "{table#0}",
        "{table#1}",
        "{table#2}",
        "{table#3}",
        "{aaa-somalia#0}",
        "none",
    ),
    "conversation_id": ("{ROLE conversation}", "{other conversation}", "none"),
    "message_id": ("{ROLE message}", "{other message}", "none"),
    "ingestion_id": ("{ROLE job}", "{other job}", "none"),
    "key_id": ("{other key}", "{owner key}", "{admin spare key}", "none"),
    "session_id": ("none",),
    "token": ("{ROLE token}", "none"),
    "name": ("hashing:384", "none"),
    "slug": ("population-growth-rate", "zyntharex-output", "none"),
    "version": ("0",),
    "filename": ("css/none.css",),
}
"""Values of each part of an address: what is the caller's, what is others', and what
nobody has.
"""
QUERIES: Mapping[str, tuple[str, ...]] = {
    "GET /api/reports": ("?limit=2", "?document_name=Somalia", "?type=secretbrief"),
    "GET /api/facets": ("?field=type", "?q=so", "?year=2017", "?field=none"),
    "GET /api/figures": (
        "?indicator=zyntharex%20output",
        "?indicator=population%20growth",
        "?indicator=Population%20growth%20rate",
        "?format=csv",
        "?format=csv&layout=wide",
        "?year=2017",
        "?limit=1",
    ),
    "GET /api/glossary": ("?limit=1000&labels=false",),
    "GET /api/documents": ("?q=camel", "?q=table", "?status=ready"),
    "GET /api/documents/review": (
        "?ids=" + ",".join(PARAMETERS["document_id"]),
        "?ids=none",
    ),
    "GET /api/indicators": ("?limit=1000", "?q=zyntharex"),
    "GET /api/changes": ("?limit=1", "?since=2020-01-01T00:00:00Z"),
    "GET /api/documents/<document_id>/text": ("?limit=2", "?around={table#3}"),
    "GET /api/documents/<document_id>/chunks": ("?limit=1", "?limit=1&cursor=1"),
    "GET /api/chunks/<path:chunk_id>/further": ("?q=levy",),
    "GET /api/scope": tuple(
        f"?q={query}"
        for query in ("Compare Kenya and Somalia", "Somali camels in 2017", "zyntharex")
    ),
    "GET /api/conversations": ("?search=sultan", "?shared=true"),
    "GET /api/conversations/<conversation_id>/export": (
        "?format=json",
        "?format=markdown",
    ),
    "GET /api/unanswered": ("?limit=1",),
    "GET /api/feedback": ("?rating=down", "?limit=1"),
    "GET /api/ingestions": ("?limit=1",),
    "GET /changes": ("?country_name=Kenya",),
}
BODIES: Mapping[str, tuple[Any, ...]] = {
    "POST /query": (
        *(
            {"query": query, "mode": mode}
            for query in QUESTIONS
            for mode in (
                MODES if query.startswith(("Compare", "What is t")) else MODES[:1]
            )
        ),
        {"query": QUESTIONS[0], "filters": {"country_name": ["Somalia"]}},
        {"query": QUESTIONS[0], "filters": {"year": [2017]}},
        {"query": QUESTIONS[0], "filters": {"group": "Horn of Africa"}},
        {"query": "And in Somalia?", "previous_messages": FOLLOW_UP},
        {"query": "And the zyntharex output?", "previous_messages": FOLLOW_UP},
        {"query": QUESTIONS[0], "preset": "none"},
        {"query": "port railway", "retrieval_method": "bm25"},
    ),
    "POST /api/search": (
        *({"query": query} for query in QUESTIONS),
        *({"query": query, "retrieval_method": "bm25"} for query in QUESTIONS),
        *({"query": query, "retrieval_method": "vector"} for query in QUESTIONS[:4]),
    ),
    "POST /api/figures/query": (
        {"indicators": ["zyntharex output"]},
        {"indicators": ["Population growth rate"], "steps": [{"op": "rank"}]},
        {"indicators": ["Population growth rate"], "subjects": ["Somalia"]},
        {"indicators": ["Population growth rate"], "steps": [{"op": "mean"}]},
        {"indicators": ["Population growth rate"], "every_year": True},
        {"indicators": ["Population growth rate"], "every_year": True, "format": "csv"},
    ),
    "POST /api/session": ({"key": "none"},),
    "POST /v1/embeddings": ({"model": "hashing:384", "input": "tea"},),
    "POST /v1/chat/completions": tuple(
        {"model": "report-chat", "messages": [{"role": "user", "content": query}]}
        for query in QUESTIONS[:8]
    ),
    "POST /api/keys": (
        {"name": "wide", "role": "admin", "filters": {"country_name": ["Somalia"]}},
        {"name": "year", "filters": {"year": [2017]}},
    ),
    "POST /api/documents/<document_id>/reingest": ({},),
    "PATCH /api/documents/<document_id>": (
        {"country_name": "Somalia"},
        {"country_name": "zomalia"},
    ),
    "PATCH /api/documents": tuple(
        {"documents": [{"id": id, "fields": {"country_name": country}}]}
        for id in PARAMETERS["document_id"]
        for country in ("Somalia", "zomalia")
    ),
    "POST /changes": ({},),
}
"""Bodies beside the example that a route states."""
WITHOUT_BODY = {
    "POST /api/feeds",
    "POST /api/files",
    "POST /api/messages/<message_id>/stop",
    "POST /api/ingestions/<ingestion_id>/retry",
    "POST /api/documents/<document_id>/restore",
}
ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "search": tuple({"query": query} for query in QUESTIONS),
    "ask": tuple({"question": query} for query in QUESTIONS),
    "list_reports": ({}, {"country_name": ["Somalia"]}),
    "facets": ({},),
    "read_passage": tuple({"chunk_id": id} for id in PARAMETERS["chunk_id"]),
    "read_figures": (
        {},
        {"indicator": "zyntharex output"},
        {"indicator": "Exports"},
        {"query": {"indicators": ["zyntharex output"]}},
        {"query": {"indicators": ["Population growth rate"], "subjects": ["Somalia"]}},
    ),
}
"""Arguments of each tool of the Model Context Protocol."""
IN_ANY_ORDER = {"POST /query", "GET /api/usage"}
"""Calls whose answers list what took least time, or ended first, in that order."""
SKIPPED = {"GET /static/<path:filename>": "a file of the page"}
LAST = ("DELETE", "PATCH")
"""Methods after which other calls would find less."""


def calls_of(app: Flask) -> list[Call]:
    """Return the calls of all routes, those that delete last. Raises AssertionError:
    a call cannot be made.
    """
    calls: list[Call] = []
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        route = route_of(app, rule.endpoint)
        assert route is not None
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            name = f"{method} {rule.rule}"
            if name not in SKIPPED:
                calls += _calls_of_route(name, method, rule, route)
    calls += _mcp_calls()
    return sorted(calls, key=lambda call: call.method in LAST)


def first_of_each(calls: Iterable[Call]) -> list[Call]:
    """Return one call of each route and of each tool."""
    firsts: dict[tuple[str, str], Call] = {}
    for call in calls:
        tool = ""
        if call.rule == "POST /mcp" and isinstance(call.body, dict):
            tool = str(call.body.get("params", {}).get("name", call.body["method"]))
        firsts.setdefault((call.rule, tool), call)
    return list(firsts.values())


def _calls_of_route(name: str, method: str, rule: Rule, route: Route) -> Iterator[Call]:
    paths = [rule.rule]
    for part in re.findall(r"<(?:path:)?(\w+)>", rule.rule):
        assert part in PARAMETERS, f"{name}: add values of <{part}> to PARAMETERS."
        paths = [
            re.sub(rf"<(?:path:)?{part}>", value, path)
            for path in paths
            for value in PARAMETERS[part]
        ]
    if method in {"GET", "DELETE"}:
        queries = ("", *QUERIES.get(name, ()))
        for path in paths:
            for query in queries:
                yield Call(name, method, path + query)
        return
    bodies = [*([route.example] if route.example else []), *BODIES.get(name, ())]
    assert bodies or name in WITHOUT_BODY, (
        f"{name}: state an example at the route, or add a body to BODIES."
    )
    for path in paths:
        for body in bodies or [None]:
            yield Call(name, method, path, body)
    if name == "POST /api/files":
        yield Call(name, method, rule.rule, form={"file": "kenya-2023.md"})
    if name in {"POST /api/documents", "POST /api/documents/preview"}:
        for file in ("kenya-2023.md", "aaa-somalia.md", "mogadishu.md"):
            yield Call(name, method, rule.rule, form={"files": file})
            yield Call(
                name,
                method,
                rule.rule,
                form={"files": file, "country_name": "zomalia"},
            )


def _mcp_calls() -> Iterator[Call]:
    missing = sorted(TOOLS.keys() - ARGUMENTS.keys())
    assert not missing, f"Add arguments of {missing} to ARGUMENTS."
    messages: list[tuple[str, Any]] = [
        ("tools/call", {"name": name, "arguments": arguments})
        for name, several in ARGUMENTS.items()
        for arguments in several
    ]
    messages += [("resources/list", {}), ("resources/templates/list", {})]
    messages += [
        ("resources/read", {"uri": f"report://{id}"})
        for id in PARAMETERS["document_id"]
    ]
    messages += [
        ("resources/read", {"uri": f"passage://{id}"}) for id in PARAMETERS["chunk_id"]
    ]
    for method, parameters in messages:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        yield Call("POST /mcp", "POST", "/mcp", body)


@dataclass(frozen=True)
class Seen:
    """A response, with times and random ids left out."""

    status: int
    media: str
    text: str


def run(world: World, role: str, call: Call) -> Seen:
    """Send a call as the limited caller with that role."""
    client = world.client(role)

    def filled(text: str) -> str:
        for name, value in world.ids.items():
            text = text.replace(f"{{{name.replace(role, 'ROLE', 1)}}}", value)
            text = text.replace(f"{{{name}}}", value)
        return re.sub(r"\{[\w ]+\}", "none", text) if "{" in text else text

    path = re.sub(r"\{[^{}]*\}", lambda found: filled(found[0]), call.path)
    headers = {"Accept": "application/json, text/event-stream", **call.headers}
    if call.form is not None:
        sent: dict[str, Any] = dict(call.form)
        field = "file" if "file" in sent else "files"
        sent[field] = FileStorage(BytesIO(KENYA_2024.encode()), call.form[field])
        response = client.post(path, data=sent, headers=headers)
    elif call.body is None:
        response = client.open(path, method=call.method, headers=headers)
    else:
        text = re.sub(
            r"\{[\w# -]+\}", lambda found: filled(found[0]), json.dumps(call.body)
        )
        response = client.open(
            path,
            method=call.method,
            data=text,
            content_type="application/json",
            headers=headers,
        )
    if response.status_code == 202 and "ingestion_id" in response.text:
        ended(client, response)
    text = response.get_data(as_text=True)
    if call.rule in IN_ANY_ORDER and response.status_code == 200:
        text = _in_order(text)
    disposition = response.headers.get("Content-Disposition", "")
    return Seen(
        response.status_code,
        response.mimetype,
        plain(world, f"{disposition}\n{text}"),
    )


def _in_order(text: str) -> str:
    """Return an answer whose searches, which run at the same time, are sorted, or
    usage whose stages, which are sorted by their time, are sorted by their names.
    """
    answer = json.loads(text)
    lists = [day["stages"] for day in answer.get("days", ())]
    if "total" in answer:
        lists.append(answer["total"]["stages"])
    if "trace" in answer:
        lists.append(answer["trace"]["path"])
        lists.append(answer["trace"]["steps"])
        lists.append(answer["trace"]["pipeline"] or [])
    for one in lists:
        one.sort(key=lambda step: json.dumps({**step, "ms": 0}, sort_keys=True))
    return json.dumps(answer)


_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z)?")
_KEY = re.compile(r"rck_[\w-]+")
_MILLISECONDS = re.compile(r'("(?:ms|beat|created|reset|expires_at)": ?)[\d.e-]+')
_RANDOM = re.compile(r"(?<![.\d])\b(?:[0-9a-f]{12,}|[\w-]{22,43})\b")
_DATE = re.compile(r'"day": ?"[\d-]+"')


def plain(world: World, text: str) -> str:
    """Return a text without times, keys and random ids; of the report of several
    countries also without its version, which names the content of all of it.
    """
    text = text.replace(world.ids["version of table"], "<version>")
    for name, value in world.ids.items():
        if name.endswith(" token"):
            text = text.replace(value, "<token>")
    text = text.replace(str(world.services.settings.data_dir), "<folder>")
    stable = {
        value
        for name, value in world.ids.items()
        if name.startswith(("report ", "version ", "aaa-", "zzz-"))
    }
    text = _DATE.sub('"day": ""', _TIME.sub("<time>", _KEY.sub("<key>", text)))
    text = _MILLISECONDS.sub(r"\1 0", text)

    def random(found: re.Match[str]) -> str:
        word = found[0]
        is_stable = any(word.startswith(one) or one in word for one in stable)
        is_hex = re.fullmatch(r"[0-9a-f]{12,}|[\w-]*\d[\w-]*", word)
        return word if is_stable or not is_hex else "<id>"

    return _RANDOM.sub(random, text)


def difference(before: Seen, after: Seen) -> str:
    """Return where two responses begin to differ."""
    if before.status != after.status:
        first, second = before.text[:200], after.text[:200]
        return f"{before.status} {first!r} | {after.status} {second!r}"
    pairs = zip(before.text, after.text, strict=False)
    place = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
    start = max(0, place - 60)
    return f"{before.text[start : place + 60]!r} | {after.text[start : place + 60]!r}"
