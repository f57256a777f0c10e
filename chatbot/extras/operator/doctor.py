"""The doctor: finds what is wrong with an installation before the first question does,
and says how to mend it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import partial
from ipaddress import ip_network
from typing import Any

from ...app.findings import Finding, Severity
from ...app.schema import require_known
from ...app.services import Services, build
from ...app.services.preparing import ordinary_indexes, require_own
from ...app.web.server import listen
from ...config.settings import Settings, is_loopback, misspelt_settings
from ...database.core import Collection, Database, Json
from ...database.ordinary_indexes import missing_indexes
from ...database.repositories.documents import SEVERAL
from ...database.rows import (
    TEXT_FIELD,
    WITHOUT_EMBEDDING,
    embedding_field,
    now,
    text_value,
    usable_vector,
)
from ...domain import (
    ApiKey,
    Chunk,
    Context,
    DocumentRecord,
    Embedder,
    Message,
    Passage,
    Prompt,
    Scope,
    SearchHit,
)
from ...domain.errors import (
    ChatbotError,
    DependencyError,
    MissingPackageError,
    SearchEngineError,
    read_table,
)
from ...domain.packages import install_command
from ...domain.protocols import (
    ChatModel,
    CountingStore,
    Quoter,
    RerankingStore,
    model_in_store,
)
from ...domain.request import RequestContext
from ...domain.scope import NO_VALUE
from ...language.counts import count_of, estimate_tokens
from ...library.description import unread_language
from ...models.replies.stream import Reply
from ...stores.atlas.indexes import (
    MISSING,
    OWN_INDEXES,
    IndexStatus,
    SearchTarget,
    auto_embedding_model,
    index_kind,
    index_status,
)
from ...stores.atlas.meaning import VectorField
from ...stores.atlas.pipelines import probe_search
from ...stores.chunks import chunk_from_json, is_retired
from .. import load

SAMPLED = 1_000
"""Rows of each collection that are checked."""
RERANKED, QUERY_CHARACTERS = 8, 200
PLAIN = (str, int, list, type(None))
"""Types of metadata that every engine filters."""
WRONG = {
    "path": "wrong_path",
    "numDimensions": "index_wrong_dimensions",
    "similarity": "wrong_similarity",
    "model": "index_wrong_model",
}
"""The finding about each property of a vector index that is not as expected; the first
alone is reported.
"""
_PASSAGE = Passage(
    1,
    SearchHit(Chunk("", "", "", "Doctor", "The model answers."), rank=1),
    "The model answers.",
)
FILLER = "This sentence only fills the prompt. "
_PROMPT = Prompt(
    (Message("user", "Answer with the word: yes."),),
    "Does the model answer?",
    Context((_PASSAGE,)),
)


_FINDINGS = read_table(__package__, "doctor")
_ok = partial(Finding, "ok", "")


def _found(key: str, severity: Severity | None = None, /, **values: object) -> Finding:
    """Return a finding of `doctor.toml`; ``severity`` in place of its own."""
    row = _FINDINGS[key]
    message, remedy = (
        row.get(part, "").format(**values) for part in ("message", "remedy")
    )
    return Finding(
        severity or row["severity"], "", row.get("name", key), message, remedy
    )


def check_settings(services: Services) -> Iterator[Finding]:
    for name, setting in misspelt_settings():
        yield _found("unknown_setting", variable=name, setting=setting)


def check_start(services: Services) -> Iterator[Finding]:
    """Build what the server builds, and report every setting that would stop its start;
    models, database and search engine have their own checks.
    """
    for error in services.problems():
        is_elsewhere = isinstance(error, DependencyError)
        if not is_elsewhere or isinstance(error, MissingPackageError):
            yield _failure("", error)
    storage = services.storage
    with suppress(DependencyError):  # found by the checks of database and engine
        require_own(storage)
        require_known(storage.database)
    with listen(services.settings.host, 0):
        pass  # any port: that of the settings may be the running server's


def check_hardening(services: Services) -> Iterator[Finding]:
    """Warn of what is allowed, and wrong on a server that others reach."""
    settings = services.settings
    names = {name.casefold() for name in settings.sign_in_headers}
    networks = [ip_network(each, strict=False) for each in settings.trusted_proxies]
    trusts_all = any(network.prefixlen == 0 for network in networks)
    opens_to_pages = "*" in settings.cors_origins and settings.rule == "open"
    is_reached = not is_loopback(settings.host)
    careless = {
        "everybody_is_a_proxy": trusts_all and names,
        "header_of_browsers": names & {"cookie", "authorization", "host"},
        "any_page_may_change": opens_to_pages,
        "any_page_may_embed": "*" in settings.embed_origins,
        "nobody_named": (is_reached or networks) and not settings.run_by,
        "no_https": is_reached and not networks,
        "no_secret_key": is_reached and settings.secret_key is None,
    }
    for key, is_careless in careless.items():
        if is_careless:
            yield _found(key, host=settings.host, headers=", ".join(sorted(names)))
    if is_reached:
        yield from _idle_administrators(services.storage.keys.all())


def _idle_administrators(keys: Sequence[ApiKey]) -> Iterator[Finding]:
    idle = now("seconds", days_ago=90)
    for key in keys:
        is_idle = max(key.used_at, key.created_at) < idle and not key.revoked_at
        if is_idle and key.role == "admin" and not key.limit:
            yield _found("idle_administrator", key=key.id, name=key.name)


def check_access(services: Services) -> Iterator[Finding]:
    """Report the access rule and the number of keys; warn if everybody may change
    things.
    """
    settings = services.settings
    valid = sum(not key.revoked_at for key in services.storage.keys.all())
    yield _ok("rule", f"ACCESS is {settings.rule}; {count_of(valid, 'key')}")
    if settings.rule == "open" and not is_loopback(settings.host):
        yield _found("open_to_all", host=settings.host, port=settings.port)


def check_database(services: Services) -> Iterator[Finding]:
    """Raises DatabaseError: the database does not answer."""
    database = services.storage.database
    place = f" in {services.settings.data_dir.resolve()}" if database.embedded else ""
    yield _ok("answers", f"{database.ping()}{place}")
    database.check_pages()
    if overruled := database.options_overruled():
        yield _found("uri_options_overruled", options=", ".join(overruled))
    missing = []
    if not database.embedded and not services.settings.schema:
        missing = missing_indexes(database, ordinary_indexes(services.storage))
    if missing:
        names = ", ".join(map(str, missing))
        yield _found("ordinary_indexes_missing", names=names)


def check_embedder(services: Services) -> Iterator[Finding]:
    """Embed a text, where the model does not run in the store. Raises
    EmbedderMismatchError: the database was written with another model.
    """
    if model := model_in_store(services.runtime.embedder):
        yield _found("embeds_in_store", model=model)
        return
    embedder = (
        services.runtime.embedder.uncached
    )  # a cached vector would say nothing about the endpoint
    dimensions = len(embedder.embed_query("Does the embedding model answer?"))
    if dimensions == embedder.dimensions:
        yield _ok("answers", f"{embedder.model_id}, {dimensions} dimensions")
        return
    yield _found(
        "embedder_dimensions",
        model=embedder.model_id,
        dimensions=dimensions,
        expected=embedder.dimensions,
    )


def check_chat_model(services: Services) -> Iterator[Finding]:
    """Ask for a short completion and cancel it at its first word."""
    model = services.models.chat
    small = services.models.small
    for each in (model, small)[: 1 if small is model else 2]:
        request = RequestContext()
        for _ in each.stream(_PROMPT, request=request):
            break
        request.cancel.cancel()
        yield _ok("answers", each.model_id)
        if (
            services.settings.openai_base_url
            and each.is_language_model
            and (cut := _cut_prompt(services, each))
        ):
            yield _found("prompt_cut", model=each.model_id, cut=cut)
    if isinstance(model, Quoter):
        yield _found("no_language_model")


def _cut_prompt(services: Services, model: ChatModel) -> str:
    """Send a prompt as long as one with passages may be; servers of one's own cut what
    they have no room for.
    """
    (question,) = _PROMPT.messages
    text = (
        FILLER * (services.settings.context_tokens // estimate_tokens(FILLER))
        + question.content
    )
    reply = Reply(replace(_PROMPT, messages=(replace(question, content=text),)))
    for delta in model.stream(reply.prompt, request=RequestContext(cache=False)):
        reply.add(delta)
    return reply.cut_prompt


def check_data(services: Services) -> Iterator[Finding]:
    """Count passages and reports; report unfinished ones and what older systems leave
    behind.
    """
    in_database = services.storage.engine.traits.in_database
    for name in dict.fromkeys(services.settings.chunk_collections):
        collection = services.storage.database[name]
        count = collection.estimated_count()
        if count or in_database:
            yield _ok("count", f"collection {name}: {count_of(count, 'passage')}")
        if count:
            yield from _check_values(services, collection)
            yield from _check_vectors(services, collection)
    if (model := services.storage.facts.unfinished_change()) is not None:
        yield _found("reembed_unfinished", **asdict(model))
    yield from _check_reports(services, services.storage.documents.all())


def _check_reports(
    services: Services, records: Sequence[DocumentRecord]
) -> Iterator[Finding]:
    yield _ok("count", f"{len(records)} reports registered")
    searched = {SEVERAL, *services.settings.chunk_collections}
    yield from _check_passages(services, records, searched)
    for name in sorted({record.collection for record in records} - searched):
        yield _found("collection_not_searched", collection=name)
    if missing := len(services.storage.figures.missing(records)):
        yield _found("figures_missing", count=missing)
    yield from _check_languages(services.runtime.embedder, records)
    if pending := sum(record.status != "ready" for record in records):
        yield _found("reports_pending", count=pending)


def _check_passages(
    services: Services, records: Sequence[DocumentRecord], searched: set[str]
) -> Iterator[Finding]:
    """Compare the passages of the store with those that the reports have."""
    engine = services.storage.engine
    store = services.runtime.store
    registered = sum(
        r.chunks for r in records if r.status == "ready" and r.collection in searched
    )
    stored = 0
    if registered or not engine.traits.in_database:
        stored = store.count(Scope())
    values = {"store": engine.store, "stored": stored, "registered": registered}
    if not engine.traits.in_database:
        yield _ok("count", f"{engine.store}: {count_of(stored, 'passage')}")
        if isinstance(store, CountingStore) and (count := store.without_vector()):
            yield _found(
                "rows_without_vector",
                collection=engine.store,
                count=count,
                total=stored,
            )
        is_settled = all(r.status == "ready" and not r.replacing for r in records)
        if stored > registered and is_settled:
            yield _found("passages_of_another_database", **values)
    if stored < registered:
        name = "passages_missing" if stored else "no_passages"
        yield _found(name, reports=len(records), **values)


def _check_languages(
    embedder: Embedder, records: Sequence[DocumentRecord]
) -> Iterator[Finding]:
    """Report the languages that the embedding model does not read."""
    unread = Counter(unread_language(record.proposed, embedder) for record in records)
    del unread[""]
    for language, count in sorted(unread.items()):
        yield _found(
            "language_not_embedded",
            language=language.capitalize(),
            count=count,
            install=install_command("multilingual"),
        )


def _check_values(services: Services, collection: Collection) -> Iterator[Finding]:
    """Check that a scope can find the values of the filter fields."""
    years = [
        year
        for year in collection.distinct("year")
        if isinstance(year, str) and year != NO_VALUE
    ]
    if years:
        yield _found(
            "years_as_strings",
            collection=collection.name,
            years=", ".join(sorted(years)[:5]),
        )
    in_process = (
        not services.storage.engine.traits.has_search_indexes
    )  # which finds missing fields too
    lacking = [
        name
        for name in services.settings.filter_fields
        if not in_process and collection.count({name: None})
    ]
    if lacking:
        yield _found(
            "filter_fields_left_out",
            collection=collection.name,
            fields=", ".join(lacking),
        )


def _check_vectors(services: Services, collection: Collection) -> Iterator[Finding]:
    """Count the rows of a sample that cannot be read or compared."""
    embedder = services.runtime.embedder
    facts = services.storage.facts.embedder()
    path = embedding_field(facts.slot if facts else "")
    rows = [row for row in collection.find({}, limit=SAMPLED) if not is_retired(row)]
    stored = [row[path] for row in rows if row.get(path) is not None]
    if any(isinstance(value, list) for value in stored) and not collection.read_only:
        yield _found("vectors_as_arrays", collection=collection.name)
    odd = _names_of_other_types(rows, services.settings.filter_fields)
    values = {
        "collection": collection.name,
        "total": len(rows),
        "model": embedder.model_id,
        "fields": ", ".join(set(odd)),
        "expected": embedder.dimensions,
    }
    counts = {
        "rows_without_text": sum(
            not text_value(row.get(TEXT_FIELD)).strip() for row in rows
        ),
        "rows_without_vector": _without_vector(embedder, len(rows) - len(stored)),
        "wrong_dimensions": sum(
            usable_vector(value, embedder.dimensions) is None for value in stored
        ),
        "values_of_other_types": len(odd),
    }
    for name, count in counts.items():
        severity: Severity | None = None
        if count == len(rows):
            severity = "error"
        if count:
            yield _found(name, severity, count=count, **values)
    if facts is None:
        yield _found(
            "embedder_unknown", collection=collection.name, model=embedder.model_id
        )


def _names_of_other_types(rows: Sequence[Json], fields: Sequence[str]) -> list[str]:
    """Return the name of each value that not every engine filters."""
    names = []
    for row in rows:
        for name in fields:
            if not isinstance(row.get(name), PLAIN):
                names.append(name)
    return names


def _without_vector(embedder: Embedder, without_stored: int) -> int:
    """Return the number of rows that no search by meaning finds."""
    if model_in_store(embedder):
        return 0  # the vectors are in the index alone
    return without_stored


def check_vector_search(services: Services) -> Iterator[Finding]:
    """Report which engine searches, and why. Raises SearchEngineError: MongoDB's own is
    not there.
    """
    engine = services.storage.engine
    if engine.traits.has_search_indexes:
        server = probe_search(
            services.storage.database, services.settings.report_collection
        )
        if not server.vector:
            raise SearchEngineError(
                f"VECTOR_SEARCH={engine.store}, but there is {server.detail}.",
                remedy=(
                    "Set VECTOR_SEARCH=auto or faiss, or use Atlas or MongoDB "
                    "Community 8.3+ with mongot."
                ),
                reason="no_search_engine",
            )
        yield _ok("engine", server.detail)
        store = services.runtime.store
        names = dict.fromkeys(services.settings.chunk_collections)
        if services.settings.reranker == "mongodb" and isinstance(
            store, RerankingStore
        ):
            chunks = [
                chunk_from_json(row, collection=name, fields=())
                for name in names
                for row in services.storage.database[name].find(
                    {}, WITHOUT_EMBEDDING, limit=RERANKED
                )
            ]
            # Words of one passage: no model that reads the passages finds other texts
            # equally near.
            different = list({chunk.text: chunk for chunk in chunks}.values())
            query = (
                different[0].text[:QUERY_CHARACTERS]
                if different
                else "Does the server rerank?"
            )
            scores = store.relevance(query, different)
            if len(scores) > 1 and len(set(scores.values())) == 1:
                yield _found(
                    "equal_rerank_scores",
                    count=len(scores),
                    score=next(iter(scores.values())),
                )
        return
    yield _ok(
        "engine", f"{engine.store}: {engine.detail}; {services.runtime.store.ping()}"
    )
    if (
        foreign := services.storage.foreign_changes
    ) is not None and not foreign.supported():
        yield _found("changes_in_place_unseen")


def check_indexes(services: Services) -> Iterator[Finding]:
    """Check that the search indexes exist, can be queried and have the right
    definition. A search of an index that does not exist gives no rows and no error.
    """
    if not services.storage.engine.traits.has_search_indexes:
        return
    plans = services.runtime.index_plans
    for plan in plans:
        yield from list(_check_index(services, plan)) or [
            _ok("queryable", plan.described)
        ]
        is_ours = isinstance(plan.by_meaning, VectorField) and plan.theirs is None
        if is_ours and _vector_field(plan.definition).get("indexingMethod") != "flat":
            count = services.storage.database[plan.collection].estimated_count()
            # MongoDB advises an index without a graph (`indexingMethod: "flat"`) up to
            # here.
            if 0 < count <= 10_000:
                yield _found("flat_index_fits", plan=plan.described, count=count)
    left_over = OWN_INDEXES.difference(plan.index for plan in plans)
    if services.storage.database.mapped:
        return  # whose other indexes are none of our business
    for name in dict.fromkeys(services.settings.chunk_collections):
        for left in left_over & {
            str(index["name"])
            for index in services.storage.database[name].search_indexes()
        }:
            yield _found("index_left_over", index=left, collection=name)


def _check_index(services: Services, plan: SearchTarget) -> Iterator[Finding]:
    database = services.storage.database
    by_vectors = plan.theirs is not None and isinstance(plan.by_meaning, VectorField)
    if by_vectors and (model := auto_embedding_model(database)):
        yield _found("their_texts_embedded", collection=plan.collection, model=model)
        return
    # Without a text index, questions are still answered by their vectors.
    severity: Severity = "warning" if plan.optional else "error"
    consequence = "keywords are not searched" if plan.optional else "nothing is found"
    status = index_status(database, plan)
    if status.state == MISSING:
        yield _missing_index(database, plan, severity)
        return
    values = {
        "plan": plan.described,
        "state": status.state,
        "reason": status.message,
        "consequence": consequence,
    }
    if status.state == "FAILED" or not status.queryable:
        yield _found(
            "index_failed" if status.state == "FAILED" else "index_building",
            severity,
            **values,
        )
    if status.state != "FAILED" and plan.kind == "vectorSearch":
        yield from _differences(plan, status)


def _missing_index(
    database: Database, plan: SearchTarget, severity: Severity
) -> Finding:
    indexes = database[plan.collection].search_indexes()
    of_kind = (
        str(index["name"]) for index in indexes if index_kind(index) == plan.kind
    )
    if other := next((name for name in of_kind if name != plan.index), None):
        return _found(
            "index_under_another_name",
            collection=plan.collection,
            index=plan.index,
            other=other,
        )
    return _found("index_missing", severity, plan=plan.described)


def _differences(plan: SearchTarget, status: IndexStatus) -> Iterator[Finding]:
    """Compare the vector field and the filter fields of an index with what they should
    be.
    """
    expected = _vector_field(plan.definition)
    actual = _vector_field(status.definition, str(expected["path"]))
    wrong = (
        name
        for name in WRONG
        if name in expected and actual.get(name) != expected[name]
    )
    if name := next(wrong, None):
        yield _found(
            WRONG[name],
            plan=plan.described,
            actual=actual.get(name),
            expected=expected[name],
        )
    declared = {
        field["path"]
        for field in status.definition.get("fields", [])
        if field.get("type") == "filter"
    }
    needed = [
        field["path"]
        for field in plan.definition["fields"]
        if field["type"] == "filter"
    ]
    if undeclared := [path for path in needed if path not in declared]:
        key = (
            "filter_field_undeclared"
            if plan.theirs is None
            else "their_filter_undeclared"
        )
        yield _found(key, plan=plan.described, fields=", ".join(undeclared))


def _vector_field(definition: Mapping[str, Any], path: str = "") -> Mapping[str, Any]:
    """Return the field that is searched by meaning at ``path``, else the first."""
    vectors = [
        field for field in definition.get("fields", []) if field.get("type") != "filter"
    ]
    return next(
        (field for field in vectors if field.get("path") == path),
        vectors[0] if vectors else {},
    )


CHECKS = (
    check_settings,
    check_database,
    check_start,
    check_embedder,
    check_chat_model,
    check_vector_search,
    check_indexes,
    check_data,
    check_access,
    check_hardening,
)
"""In this order; the rest of the name is the area of the findings."""


def diagnose_settings(settings: Settings) -> Iterator[Finding]:
    """Yield the findings of every check; if the database cannot be opened, this is one
    finding in place of the checks.
    """
    with ExitStack() as closing:
        try:
            services = closing.enter_context(build(settings))
        except ChatbotError as error:
            is_outage = isinstance(error, DependencyError)
            yield _failure("database" if is_outage else "settings", error)
            return
        yield from diagnose(services)


def diagnose(services: Services) -> Iterator[Finding]:
    """Yield the findings of every check. A failed check is a finding, and where the
    database or its search engine does not answer, the checks that need it are skipped.
    """
    down = is_stopped = False
    added = [load(name) for extra in services.extras for name in extra.doctor]
    for check in (*CHECKS, *added):
        area = check.__name__.removeprefix("check_")
        if down and area != "chat_model":
            continue
        try:
            for finding in check(services):
                is_stopped = is_stopped or check is check_start
                yield replace(finding, area=area)
        except ChatbotError as error:
            is_stopped = is_stopped or check is check_start
            yield _failure(area, error)
            down = down or area in ("database", "vector_search")
        if is_stopped:
            return  # the other checks need what these settings cannot build


def _failure(area: str, error: ChatbotError) -> Finding:
    """Return the finding of an error; messages of our errors never contain a secret."""
    if not isinstance(error, DependencyError):
        return Finding("error", area, error.code, error.message)
    message = error.finding
    if error.said:
        message += f" It said: {error.said}"
    return Finding("error", area, error.reason or error.code, message, error.remedy)
