"""Requests that nobody should send, made from the routes and the fields that the
application itself names.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote

from flask import Flask

from chatbot.app.web.asking import ChatRequest

ODD: tuple[Any, ...] = (
    "",
    " ",
    "Kenya",
    "kenya",
    "\x00",
    "a\x00b",
    "é\u0301",
    "\u202e",
    "\ud800",
    "😀" * 50,
    "'; drop table x; --",
    "../../etc/passwd",
    "..\\..\\x",
    "%00",
    "%s%n",
    "{{7*7}}",
    "$where",
    "a.b",
    "$gt",
    "a" * 5000,
    "null",
    "true",
    "-1",
    "1e400",
    "NaN",
    0,
    -1,
    1,
    2023,
    10**30,
    -(10**30),
    2**63,
    1.5,
    1e308,
    float("inf"),
    float("nan"),
    True,
    False,
    None,
    [],
    {},
    [[]],
    {"": ""},
    {"$gt": ""},
    {"$where": "1"},
    {"gte": 2020, "lte": "2023"},
    {"gte": []},
    ["Kenya", 3, None],
    {"a": {"b": {"c": []}}},
    [{"role": "user", "content": "x"}],
    [{"role": "root"}],
    [{"text": "a", "url": "b"}],
)
GOOD: dict[str, Any] = {
    "query": "What is the population growth rate?",
    "filters": {"country_name": ["Kenya"]},
    "mode": "deep",
    "retrieval_method": "bm25",
    "preset": "adaptive",
    "page": 9,
    "budget": {"calls": 2},
    "limit": 3,
    "report_context": {"type": "country", "value": "Kenya"},
    "collections": ["report_chatting"],
    "previous_messages": [{"role": "user", "content": "Hello"}],
    "cache": False,
    "conversation_id": "none",
    "attachments": [{"name": "a.md", "text": "# A\n\nB."}],
}
FIELDS = (
    *ChatRequest.model_fields,
    "key",
    "title",
    "year",
    "type",
    "labels",
    "metadata",
    "urls",
    "$set",
    "__proto__",
)
PARAMETERS = (
    "limit",
    "cursor",
    "q",
    "status",
    "field",
    "indicator",
    "year",
    "country_name",
    "collections",
    "days",
    "sort",
)
BROKEN = (
    b"",
    b"{",
    b"[" * 50_000,
    b'{"query": ' * 3_000,
    b"\xff\xfe{}",
    b'{"query": "\xed\xa0\x80"}',
    b"null",
    b"1" * 5_000,
    b'{"query": "a", "query": "b"}',
    b"\x1f\x8b\x08",
    b'"' + b"x" * 100_000 + b'"',
)
TYPES = (
    "application/json",
    "application/json; charset=utf-16",
    "text/plain",
    "multipart/form-data",
    "",
    "x" * 500,
)
HEADERS = {
    "Accept": ("text/html", "*/*;q=x", ""),
    "Authorization": ("Bearer x", "Bearer ", "Basic \xff", "bearer\tx"),
    "Cookie": ("report_chat=a.b", "report_chat=\xff; report_chat_key=;", "=;=;"),
    "Origin": ("null", "http://[", "x"),
    "Host": ("127.0.0.1:1", "[::1]", "", "a" * 3000, "127.0.0.1:port"),
    "Range": ("bytes=9-1", "bytes=-9999999"),
    "If-None-Match": ('"', "*"),
    "If-Modified-Since": ("yesterday",),
    "X-Request-ID": ("a" * 5000,),
    "traceparent": ("00-x", "00-" + "0" * 32 + "-" + "0" * 16 + "-00"),
    "Content-Length": ("-1", "x", "9" * 40),
}
"""As a server hands them on: without line breaks."""


@dataclass
class AnyRequest:
    """As Flask's test client takes it."""

    method: str
    path: str
    sent: dict[str, Any] = field(default_factory=dict)


def any_requests(
    app: Flask, count: int, seed: int, ids: dict[str, str]
) -> Iterator[AnyRequest]:
    """``ids``: of things that are there, by the name that a route gives them."""
    dice = Random(seed)
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint != "static"]
    for number in range(count):
        rule = rules[number % len(rules)]
        methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
        method = dice.choice(
            methods
            if dice.random() < 0.9
            else ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
        )
        path = rule.rule
        for name in rule.arguments:
            value = ids.get(name, "") if dice.random() < 0.5 else str(dice.choice(ODD))
            for converter in ("", "path:"):
                path = path.replace(
                    f"<{converter}{name}>",
                    quote(value or "-", safe="", errors="surrogatepass"),
                )
        asked = "&".join(
            f"{dice.choice(PARAMETERS)}={quote(str(dice.choice(ODD)), errors='surrogatepass')}"  # noqa: E501
            for _ in range(dice.choice((0, 0, 1, 3)))
        )
        sent = _body(dice) if method not in {"GET", "HEAD"} else {}
        names = dice.sample(sorted(HEADERS), dice.choice((0, 0, 1, 2)))
        sent["headers"] = {name: dice.choice(HEADERS[name]) for name in names}
        yield AnyRequest(method, f"{path}?{asked}" if asked else path, sent)


def _body(dice: Random) -> dict[str, Any]:
    kind = dice.random()
    if kind < 0.6:
        names = dice.sample(FIELDS, dice.choice((0, 1, 2, 4)))
        known = {
            name: GOOD[name]
            for name in dice.sample(sorted(GOOD), dice.choice((0, 1, 3)))
        }
        body = {**({"query": GOOD["query"]} if dice.random() < 0.7 else {}), **known}
        body |= {name: dice.choice(ODD) for name in names}
        return {
            "data": json.dumps(body),
            "content_type": dice.choice(TYPES) if dice.random() < 0.1 else TYPES[0],
        }
    if kind < 0.75:
        return {"data": json.dumps(dice.choice(ODD)), "content_type": TYPES[0]}
    if kind < 0.85:
        return {"data": dice.choice(BROKEN), "content_type": dice.choice(TYPES)}
    names = [
        str(dice.choice(ODD)).replace("\x00", "").encode("utf-8", "replace").decode()
        for _ in range(2)
    ]
    request = dice.choice(
        (json.dumps({"query": GOOD["query"]}), "{", json.dumps(dice.choice(ODD)))
    )
    files = [
        (
            io.BytesIO(dice.choice(BROKEN)),
            f"{name}{dice.choice(('.md', '.pdf', '.csv', '.xyz'))}",
        )
        for name in names
    ]
    form = {
        "request": request,
        "metadata": request,
        dice.choice(FIELDS): str(dice.choice(ODD)).replace("\ud800", ""),
    }
    return {
        "data": {**form, dice.choice(("files", "file", "x")): files},
        "content_type": "multipart/form-data",
    }
