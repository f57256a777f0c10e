"""The index of reports says what looking at every report would say, after any
changes.
"""

import random
from collections import Counter

from chatbot.database.repositories.documents import (
    ReportIndex,
    chunks_inside,
    is_inside,
    values_inside,
)
from chatbot.domain import DocumentRecord, Range, Scope
from chatbot.domain.documents import Holdings, Part
from chatbot.domain.scope import Value, Values

FIELDS = ("country_name", "year", "document_name")
COUNTRIES = ("Kenya", "Mali", "Chad")


def report(rng: random.Random, id: str) -> DocumentRecord:
    def metadata() -> dict[str, Value]:
        country, year = (
            rng.choice((None, *COUNTRIES)),
            rng.choice((None, 2021, 2022, 2023)),
        )
        kind: Value = rng.choice(("country_report", "review"))
        said = {"country_name": country, "year": year, "type": kind}
        return {name: value for name, value in said.items() if value is not None}

    several = tuple(
        Part(metadata(), rng.randrange(9)) for _ in range(rng.choice((0, 0, 2, 3)))
    )
    status = rng.choice(("ready", "pending", "failed"))
    own = metadata() if not several else {}
    name, title, chunks = (
        rng.choice(("one", "two", id)),
        rng.choice("abc"),
        sum(part.chunks for part in several),
    )
    record = DocumentRecord(
        id,
        name,
        title,
        "s",
        rng.choice(("", "news", "c")),
        status,
        "v1",
        own,
        several=several,
    )
    return DocumentRecord(
        **{
            **{f: getattr(record, f) for f in record.__slots__},
            "chunks": chunks or rng.randrange(9),
        }
    )


def some_scope(rng: random.Random) -> Scope:
    conditions = {
        "country_name": Values(
            tuple(rng.sample(COUNTRIES, rng.randint(1, 2))), or_none=rng.random() < 0.3
        ),
        "year": rng.choice((Values((2022,)), Range(2022, None), Range(None, 2021))),
        "type": Values(("review",)),
        "document_name": Values(("one", "r3")),
    }
    chosen = rng.sample(sorted(conditions), rng.randrange(4))
    return Scope.of({name: conditions[name] for name in chosen}).within(
        rng.choice(((), (), ("news",)))
    )


def test_the_index_counts_as_looking_at_each_report_would() -> None:
    rng = random.Random(7)
    index, records = ReportIndex(FIELDS), dict[str, DocumentRecord]()
    for _ in range(60):
        ids = [f"r{rng.randrange(60)}" for _ in range(rng.choice((1, 1, 5)))]
        changes = {id: None if rng.random() < 0.2 else report(rng, id) for id in ids}
        index = index.changed(changes)
        records = {
            id: record
            for id, record in {**records, **changes}.items()
            if record is not None
        }
        for scope in (Scope(), *(some_scope(rng) for _ in range(6))):
            inside = sorted(
                (r for r in records.values() if is_inside(r, scope)),
                key=lambda r: (r.title, r.id),
            )
            assert list(index.inside(scope)) == inside
            assert index.holdings(scope) == Holdings.of(
                (r, chunks_inside(r, scope)) for r in inside
            )
            for field in (*FIELDS, "type"):
                counted = Counter(
                    value for r in inside for value in values_inside(r, field, scope)
                )
                assert index.counts(field, scope) == counted
                assert list(index.counts(field, scope)) == sorted(counted, key=str)
            assert index.named("A", scope) == [r for r in inside if r.title == "a"]
        assert set(index.unsettled) == {
            r.id for r in records.values() if r.status != "ready"
        }


def test_an_index_stays_as_it_is() -> None:
    rng = random.Random(1)
    first = ReportIndex(FIELDS).changed({id: report(rng, id) for id in ("a", "b")})
    before = (
        list(first.inside(Scope())),
        first.holdings(Scope()),
        dict(first.counts("document_name", Scope())),
    )
    first.changed({"a": None, "c": report(rng, "c")})
    assert (
        list(first.inside(Scope())),
        first.holdings(Scope()),
        first.counts("document_name", Scope()),
    ) == before
