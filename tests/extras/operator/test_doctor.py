"""The doctor finds each planted fault by name, says how to mend it, and prints no
secret.
"""

import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr
from pymongo.errors import OperationFailure

from chatbot.app.findings import Finding
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.database.mongo import MongoDatabase
from chatbot.domain import Chunk
from chatbot.extras.operator import doctor
from chatbot.extras.operator.doctor import check_access, check_data, diagnose
from chatbot.stores.atlas.indexes import ensure_indexes, index_plans
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.openai_server import CHAT, FakeOpenAI, Reply
from tests.rows import outside

DIMENSIONS = 64
KEY = "sk-very-secret-key"


class Deployment:
    """A MongoDB with a search engine, and services over it."""

    def __init__(self, folder: Path) -> None:
        self.client = SearchClient()
        self.database = MongoDatabase(self.client, "test")
        self.settings = Settings(
            data_dir=folder,
            vector_search="atlas",
            embedding_provider="hashing",
            embedding_model=str(DIMENSIONS),
            chat_model="echo",
            sample_data="off",
        )

    def services(self, **changes: object) -> Services:
        return build(self.settings.override(**changes), database=self.database)

    def index(self, *, dimensions: int = DIMENSIONS, **changes: object) -> None:
        settings = self.settings.override(**changes)
        ensure_indexes(self.database, index_plans(settings, {"": dimensions}))

    def copy_vector_index(self, name: str) -> None:
        collection = self.database["report_chatting"]
        definition = collection.search_indexes("vector_index")[0]["latestDefinition"]
        collection.create_search_index(name, kind="vectorSearch", definition=definition)

    def findings(self, **changes: object) -> list[Finding]:
        return list(diagnose(self.services(**changes)))

    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings() if finding.severity != "ok"]


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """Two passages, no search index yet."""
    made = Deployment(tmp_path)
    services, about = made.services(), {"country_name": "Kenya", "year": 2023}
    services.prepare()
    services.runtime.remember_embedder()
    texts = enumerate(("text", "other"))
    chunks = [
        Chunk(f"doc-v-0000{n}", "doc", "Kenya", "Kenya", text, metadata=about)
        for n, text in texts
    ]
    services.runtime.store.upsert(chunks, np.eye(DIMENSIONS, dtype=np.float32)[:2])
    return made


def problems(findings: list[Finding]) -> set[str]:
    return {finding.name for finding in findings if finding.severity != "ok"}


def test_a_misspelt_setting_is_named_without_its_value(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.index()
    monkeypatch.setenv("MONGODB_URL", f"mongodb://user:{KEY}@host")
    (found,) = deployment.problems()
    assert (found.name, found.severity) == ("unknown_setting", "warning")
    assert "MONGODB_URI" in found.remedy
    assert KEY not in str(found)


def test_a_sound_deployment_has_no_findings(deployment: Deployment) -> None:
    deployment.index()
    findings = deployment.findings()
    assert problems(findings) == set()
    assert {finding.area for finding in findings} >= {
        "database",
        "embedder",
        "chat_model",
        "indexes",
        "data",
    }


def plant_no_engine(deployment: Deployment) -> None:
    deployment.client.engine.enabled = False


def plant_other_name(deployment: Deployment) -> None:
    deployment.index()
    deployment.copy_vector_index("vectors")
    deployment.database["report_chatting"].drop_search_index("vector_index")


def plant_wrong_dimensions(deployment: Deployment) -> None:
    deployment.index(dimensions=DIMENSIONS * 2)


def plant_undeclared(deployment: Deployment) -> None:
    deployment.index(filter_fields=("country_name", "document_name", "type"))


def plant_building(deployment: Deployment) -> None:
    deployment.client.engine.new_status = "BUILDING"
    for plan in index_plans(deployment.settings, {"": DIMENSIONS}):
        collection = deployment.database[plan.collection]
        collection.create_search_index(
            plan.index, kind=plan.kind, definition=plan.definition
        )


def plant_string_years(deployment: Deployment) -> None:
    deployment.index()
    outside(deployment.database, "report_chatting").insert_one(
        {"_id": "old", "data": "text", "year": "2021"}
    )


def plant_missing_passages(deployment: Deployment) -> None:
    deployment.index()
    about = {
        "name": "Mali",
        "title": "Mali",
        "source": "",
        "collection": "report_chatting",
        "version": "v",
    }
    rest = {"metadata": {}, "status": "ready", "chunks": 7}
    outside(deployment.database, "documents").insert_one(
        {"_id": "mali", **about, **rest}
    )


@pytest.mark.parametrize(
    ("plant", "name", "message", "remedy"),
    [
        (plant_missing_passages, "passages_missing", "", "copied in part"),
        (plant_no_engine, "no_search_engine", "", "VECTOR_SEARCH"),
        (lambda deployment: None, "index_missing", "", "index create"),
        (
            plant_other_name,
            "index_under_another_name",
            "'vector_index', but one named 'vectors'",
            "index create",
        ),
        (plant_wrong_dimensions, "index_wrong_dimensions", "", "index create"),
        (plant_undeclared, "filter_field_undeclared", "year", "index create"),
        (plant_building, "index_building", "", "index status"),
        (plant_string_years, "years_as_strings", "", "migrate"),
    ],
)
def test_planted_fault_is_found_by_name(
    deployment: Deployment,
    plant: Callable[[Deployment], None],
    name: str,
    message: str,
    remedy: str,
) -> None:
    plant(deployment)
    found = [finding for finding in deployment.findings() if finding.name == name]
    assert found, f"{name} was not found"
    assert (
        found[0].severity,
        message in found[0].message,
        remedy in found[0].remedy,
    ) == ("error", True, True)


@pytest.mark.parametrize("community", [True, False])
@pytest.mark.parametrize("state", ["BUILDING", "FAILED"])
def test_a_text_index_that_cannot_answer_is_a_warning_with_the_servers_words(
    deployment: Deployment, state: str, community: bool
) -> None:
    deployment.index()
    deployment.client.engine.community = community
    index = deployment.client.engine.index("report_chatting", "text_index")
    index.serving = None
    index.become(state, "disk full")
    (found,) = deployment.problems()
    assert (found.severity, found.name) == ("warning", f"index_{state.lower()}")
    assert "'text_index' of 'report_chatting'" in found.message
    assert "keywords are not searched" in found.message
    assert state != "FAILED" or "disk full" in found.message


def test_an_engine_that_is_away_is_one_finding(deployment: Deployment) -> None:
    deployment.index()
    away = "Error connecting to localhost:28000 :: caused by :: Connection refused"
    deployment.client.engine.failure = OperationFailure(away, 6, {"errmsg": away})
    (found,) = deployment.problems()
    assert found.area == "vector_search"
    assert "cannot reach its search engine" in found.message


def test_an_index_that_an_earlier_reembed_left_is_named_with_what_drops_it(
    deployment: Deployment,
) -> None:
    deployment.index()
    deployment.copy_vector_index("vector_index_b")
    (found,) = deployment.problems()
    assert (found.severity, found.name) == ("warning", "index_left_over")
    assert found.remedy == (
        "In mongosh: "
        'db.getCollection("report_chatting").dropSearchIndex("vector_index_b")'
    )


def test_a_server_that_should_rerank_and_cannot_is_named(
    deployment: Deployment,
) -> None:
    deployment.index()
    assert problems(deployment.findings(reranker="mongodb")) == {"search_unavailable"}
    deployment.client.engine.reranks = True
    assert problems(deployment.findings(reranker="mongodb")) == set()
    deployment.client.engine.constant_score = 0.5987
    (found,) = (
        one
        for one in deployment.findings(reranker="mongodb")
        if one.severity == "warning"
    )
    assert (found.name, "the same score (0.5987)" in found.message) == (
        "equal_rerank_scores",
        True,
    )
    said = (
        'MmsApiError(HttpError { status: 429, message: "Too many requests. Retry after '
        '7 s." })'
    )
    deployment.client.engine.failure = OperationFailure(said, 8, {"errmsg": said})
    (found,) = (
        one
        for one in deployment.findings(reranker="mongodb")
        if one.severity == "error"
    )
    assert found.remedy.startswith("Wait 7 s.")


def test_a_small_collection_needs_no_graph(deployment: Deployment) -> None:
    deployment.index()
    (found,) = {
        one.message for one in deployment.findings() if one.name == "flat_index_fits"
    }
    assert "few enough to compare all of them" in found
    flat = '{"indexingMethod": "flat"}'
    assert "flat_index_fits" not in {
        one.name for one in deployment.findings(index_options=flat)
    }


def test_another_embedding_model_than_the_stored_one(deployment: Deployment) -> None:
    deployment.index()
    findings = deployment.findings(embedding_model="128")
    found = next(finding for finding in findings if finding.name == "embedder_mismatch")
    assert "hashing:64" in found.message
    assert "hashing:128" in found.message


def test_model_endpoint_that_refuses_the_key(deployment: Deployment) -> None:
    deployment.index()
    with FakeOpenAI() as server:
        server.always(CHAT, Reply(status=401))

        findings = deployment.findings(
            chat_model="openai:gpt-4o", openai_api_key=KEY, openai_base_url=server.url
        )
    found = next(finding for finding in findings if finding.name == "key_refused")
    assert found.area == "chat_model"
    assert "OPENAI_API_KEY" in found.remedy
    assert KEY not in repr(findings)


def test_a_wrong_password_of_the_database_is_named(
    deployment: Deployment, tmp_path: Path
) -> None:
    class Locked(SearchClient):
        def server_info(self, session: object = None) -> dict[str, object]:
            raise OperationFailure(
                "bad auth : authentication failed", 8000, {"errmsg": "bad auth"}
            )

    deployment.database = MongoDatabase(Locked(), "test")
    findings = deployment.findings()
    assert [finding.name for finding in findings if finding.severity == "error"] == [
        "auth_refused"
    ]
    assert "MONGODB_URI" in findings[0].remedy


def test_a_dead_database_is_one_finding_not_six(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        mongodb_uri="mongodb://user:hunter2@127.0.0.1:1/?directConnection=true",
        mongodb_timeout=0.3,
        embedding_provider="hashing",
        chat_model="echo",
    )
    with build(settings) as services:
        findings = list(diagnose(services))
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [finding.area for finding in errors] == ["database"]
    assert "hunter2" not in repr(findings)


def test_embedded_database_needs_no_indexes(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        embedding_provider="hashing",
        chat_model="extractive",
        sample_data="off",
    )
    with build(settings) as services:
        findings = list(diagnose(services))
    assert problems(findings) == {"no_language_model"}
    assert "indexes" not in {finding.area for finding in findings}
    (database,) = (
        finding.message for finding in findings if finding.area == "database"
    )
    assert database == f"embedded database report-chat.sqlite in {tmp_path}"


def test_passages_in_postgresql_that_no_vector_finds(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        embedding_provider="hashing",
        chat_model="echo",
        sample_data="off",
    )
    settings = settings.override(
        vector_search="pgvector", postgres_uri=SecretStr(postgres.empty_database())
    )
    with build(settings) as services:
        vectors = np.ones((3, services.runtime.embedder.dimensions), np.float32)
        vectors[0] = 0
        chunks = [
            Chunk(f"{n}", "d", "d.md", "D", "Coffee.", ordinal=n) for n in range(3)
        ]
        services.runtime.store.upsert(chunks, vectors)
        with postgres.connect() as other_program:  # which takes zeros for a vector
            columns = (
                "SELECT column_name FROM information_schema.columns WHERE udt_name = "
                "'vector'"
            )
            [(name,)] = other_program.execute(columns).fetchall()
            other_program.execute(
                f"UPDATE chunks SET {name} = {name} - {name} WHERE id = '1'"
            )
        messages = {finding.name: finding.message for finding in check_data(services)}
    assert "pgvector: 2 of 3 rows" in messages["rows_without_vector"]


@pytest.mark.parametrize(
    ("host", "found"), [("127.0.0.1", set()), ("0.0.0.0", {"open_to_all"})]
)
def test_a_server_that_is_open_to_all_is_noticed(
    tmp_path: Path, host: str, found: set[str]
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        embedding_provider="hashing",
        chat_model="echo",
        access="open",
        host=host,
    )
    with build(settings) as services:
        warned = {
            finding.name
            for finding in check_access(services)
            if finding.severity == "warning"
        }
    assert warned == found


def test_every_finding_of_the_table_is_one_of_a_check() -> None:
    source = inspect.getsource(doctor)
    table = tomllib.loads(Path(doctor.__file__).with_suffix(".toml").read_text("utf-8"))
    assert [name for name in table if f'"{name}"' not in source] == []


def test_the_careless_operator_is_warned(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path,
        embedding_provider="hashing",
        host="0.0.0.0",
        access="open",
        cors_origins=("*",),
        embed_origins=("*",),
        trusted_proxies=("0.0.0.0/0",),
        sign_in_headers=("Cookie",),
        sign_in_groups=tmp_path / "groups.toml",
    )
    (tmp_path / "groups.toml").write_text('["*"]\nrole = "read"\n')
    with build(settings) as services:
        services.storage.keys.create("unused", "admin")
        row = {"$set": {"created_at": "2020-01-01T00:00:00+00:00"}}
        services.storage.database["keys"].update_many({}, row)
        names = {each.name for each in doctor.check_hardening(services)}
    assert names == {
        "everybody_is_a_proxy",
        "header_of_browsers",
        "any_page_may_change",
        "any_page_may_embed",
        "no_secret_key",
        "nobody_named",
        "idle_administrator",
    }


@pytest.mark.parametrize("page", range(1, 10))
def test_a_broken_page_is_one_line_with_a_remedy(tmp_path: Path, page: int) -> None:
    settings = Settings(data_dir=tmp_path, embedding_provider="hashing")
    with build(settings) as services:
        services.prepare()
        services.storage.audit.record("x" * 100_000, "fills a page")
        services.storage.database.empty_log()
    (file,) = tmp_path.glob("*.sqlite")
    data = bytearray(file.read_bytes())
    size = 16_384
    broken = page * (len(data) // size - 1) // 9
    data[broken * size : (broken + 1) * size] = b"\xff" * size
    file.write_bytes(data)
    errors = [
        finding
        for finding in doctor.diagnose_settings(settings)
        if finding.severity == "error"
    ]
    assert len(errors) == 1
    assert "backup restore" in errors[0].remedy
