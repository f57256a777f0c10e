"""Each preset is its seed's system (R-P): for ten kinds of question the product makes
the same calls to the model in the same order, sends the same passages in the same
order, and embeds the same texts as the seed's loop in `seed_systems`.

On the embedded store every day; at night also on MongoDB's search engine, and
`deterministic` on pgvector. All of them with one command:

    python -m pytest -m "nightly or not nightly" tests/answering/test_presets.py
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask

from chatbot.app.factory import close_app, create_app
from chatbot.config.settings import Settings
from tests.answering import seed_systems
from tests.answering.recorded_model import (
    ANSWER,
    MARKER,
    Recording,
    Run,
    SeedModel,
    embedding,
    frame_of,
)
from tests.answering.seed_systems import (
    AGENTS,
    SYSTEMS,
    Passage,
    Request,
    round_robin,
)
from tests.app.web.knowledge import added
from tests.conftest import ingest_file, write_report
from tests.data import cases
from tests.fakes import postgres
from tests.fakes.mongomock_search import SearchClient
from tests.fakes.search_server import SearchServer

Json = dict[str, Any]
CASES = cases(__file__)
KINDS: dict[str, Json] = {case["kind"]: case for case in CASES["questions"]}
NEUTRAL: dict[str, Json] = {case["route"]: case for case in CASES["neutral"]}
"""Questions of no such kind, one for each agent of seed 002."""
FURTHER: dict[str, Json] = {case["kind"]: case for case in CASES["further"]}
"""Kinds besides the ten that something in the product treats in a way of its own."""
FILTERING = {"adaptive", "compression"}
"""Presets whose seeds filter by metadata."""
EVERY_KIND = (*KINDS, *FURTHER)
KEEPING_ANSWERS = {"hybrid"}
"""The preset whose seed has caches of answers (R-B10)."""
OFFERED = re.compile(r"^\d+\. \w+: ", re.MULTILINE)
"""An agent that the router may choose."""
SPREAD = (0.35, 0.4, 0.5)
"""Cosines of the seeds' thresholds: 000; 003 as a score of .7; 004."""


@dataclass
class System:
    """The product with one preset, and the passages that it stored."""

    preset: str
    app: Flask
    server: Recording
    base: list[Passage]
    is_by_request: bool = False
    """True if each question names the preset, and no setting does."""
    frames: dict[str, str] = field(default_factory=dict)

    def ask(self, case: Json) -> Run:
        """Ask the product over HTTP."""
        self.server.begin(case)
        names = ["query", "previous_messages"]
        if self.preset in FILTERING:
            names.append("report_context")
        body: Json = {name: case[name] for name in names if name in case}
        if self.is_by_request:
            body["preset"] = self.preset
        if case.get("attached"):
            body["attachments"] = [
                {"name": name, "text": text} for name, text in pages().items()
            ]
        response = self.app.test_client().post("/query", json=body)
        assert response.status_code == 200, response.get_json()
        run = self.server.run
        frame = frame_of(run.calls[-1], self.server.script.known) if run.calls else ""
        return replace(run, frame=frame, response=response.get_json()["response"])

    def ask_the_seed(self, case: Json) -> Run:
        """Let the seed's loop answer over the same passages, with the same model."""
        self.server.begin(case)
        context = case.get("report_context") if self.preset in FILTERING else None
        request = Request(
            case["query"],
            tuple(pages().items()) if case.get("attached") else (),
            ("country_name", context["value"]) if context else None,
        )
        seed_systems.answer(self.preset, SeedModel(self.server), request, self.base)
        return self.server.run

    def neutral_frame(self, case: Json) -> str:
        """Return the frame of a question of none of the ten kinds that the same agent
        answers.
        """
        route = case["route"] if self.preset == "deep" else "naive"
        if route not in self.frames:
            self.frames[route] = self.ask(NEUTRAL[route]).frame
        return self.frames[route]


@cache
def pages() -> dict[str, str]:
    """Return a small and a large attachment: paragraphs of which some are about the
    question.
    """
    texts = {}
    for file in CASES["attachments"]:
        paragraphs = [
            f"{marker} " + " ".join([sentence] * (900 // len(sentence)))
            for marker, sentence in file["paragraphs"]
        ]
        texts[file["name"]] = "\n\n".join(paragraphs)
    return texts


def report_of(document: Json) -> str:
    sections = [
        f"## {heading}\n\n{text}\n\n{marker}\n"
        for heading, marker, text in document["sections"]
    ]
    return "\n".join([f"# {document['name']}\n", *sections])


@pytest.fixture(scope="module")
def server() -> Iterator[Recording]:
    with Recording() as running:
        yield running


def settings_of(preset: str, server: Recording, folder: Path) -> dict[str, str]:
    """Return the environment of a preset with OpenAI's models."""
    return {
        "PRESET": preset,
        "OPENAI_API_KEY": "sk-secret-4711",
        "OPENAI_BASE_URL": server.url,
        "DATA_DIR": str(folder / "data"),
        "SAMPLE_DATA": "off",
    }


STORES = [
    *((preset, "embedded") for preset in SYSTEMS),
    *(pytest.param((preset, "atlas"), marks=pytest.mark.nightly) for preset in SYSTEMS),
    pytest.param(("deterministic", "pgvector"), marks=pytest.mark.nightly),
]


@pytest.fixture(scope="module", params=STORES, ids="-".join)
def system(
    request: pytest.FixtureRequest,
    server: Recording,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[System]:
    preset, store = request.param
    folder: Path = tmp_path_factory.mktemp("preset")
    values = settings_of(preset, server, folder)
    # The passages are the same for all presets: a section each.
    values |= {"CHUNK_STRATEGY": "sections", "CHUNK_OVERLAP": "0"}
    if store == "by request":
        del values["PRESET"]
    with ExitStack() as stack:
        if store == "atlas":
            database = stack.enter_context(SearchServer(SearchClient()))
            values |= {"MONGODB_URI": database.uri, "INDEXES": "create"}
            for name in ("chatbot_data", "report_chatting"):
                database.client.get_database("report_chat").create_collection(name)
        if store == "pgvector":
            values["VECTOR_SEARCH"] = "pgvector"
            values["POSTGRES_URI"] = postgres.empty_database()
        app = create_app(Settings.from_env(values))
        stack.callback(close_app, app)
        client = app.test_client()
        server.wait_until(lambda: client.get("/ready").status_code == 200)
        base = stored(app, server, folder)
        if store == "atlas":  # `text_index` has title, heading and text
            base = [
                replace(one, separate_fields=tuple(one.text.split("\n", 2)))
                for one in base
            ]
        yield System(preset, app, server, base, store == "by request")


def stored(app: Flask, server: Recording, folder: Path) -> list[Passage]:
    """Ingest the library, and return its passages as they were embedded."""
    server.requests.clear()
    documents = {}
    for document in CASES["documents"]:
        about = {
            name: document[name]
            for name in ("country_name", "year")
            if name in document
        }
        for _, marker, _ in document["sections"]:
            documents[marker] = (document["name"], about or None)
        name = document["name"].lower().replace(" ", "-")
        path = write_report(folder, report_of(document), name)
        ingest_file(app.extensions["services"], path, name, **about)
    base = []
    for text in server.embedded:
        [marker] = MARKER.findall(text)
        source, metadata = documents[marker]
        base.append(Passage(text, source, embedding(text), metadata))
    assert len(base) == len(documents)
    return base


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_preset_does_what_its_seed_does(system: System, kind: str) -> None:
    case = {**KINDS, **FURTHER}[kind]
    ours = system.ask(case)
    seeds = system.ask_the_seed(case)
    assert [one.stage for one in ours.calls] == [one.stage for one in seeds.calls]
    for our, seed in zip(ours.calls, seeds.calls, strict=True):
        assert our.passages == seed.passages, seed.stage
        assert seed.question in our.text
        if seed.stage == "route":
            assert len(OFFERED.findall(our.text)) == len(AGENTS)
    assert ours.embedded == seeds.embedded
    # No table, note or rewritten question stands beside passages and question.
    assert ours.frame == system.neutral_frame(case)
    assert ours.response == ANSWER


def test_a_repeated_question_is_answered_again_unless_the_seed_keeps_answers(
    system: System,
) -> None:
    case = {"kind": "repeated", "query": "Population of Ethiopia?", "route": "chain"}
    first, again = system.ask(case), system.ask(case)
    expected = first.calls if system.preset not in KEEPING_ANSWERS else []
    assert first.calls
    assert [one.stage for one in again.calls] == [one.stage for one in expected]
    assert again.response == ANSWER


@pytest.mark.parametrize("preset", SYSTEMS)
def test_an_upload_embeds_each_passage_once_and_asks_no_model(
    preset: str, server: Recording, tmp_path: Path
) -> None:
    app = create_app(Settings.from_env(settings_of(preset, server, tmp_path)))
    try:
        server.requests.clear()
        [document, *_] = CASES["documents"]
        added(app.test_client(), ("kenya.md", report_of(document)))
    finally:
        close_app(app)
    markers = [marker for text in server.embedded for marker in MARKER.findall(text)]
    assert sorted(markers) == sorted(marker for _, marker, _ in document["sections"])
    assert [call.stage for call in server.run.calls] == []


def test_the_passages_lie_on_both_sides_of_every_threshold() -> None:
    texts = [
        f"{document['name']}\n{heading}\n{text}\n\n{marker}"
        for document in CASES["documents"]
        for heading, marker, text in document["sections"]
    ]
    assert_on_both_sides(texts, [case["query"] for case in KINDS.values()])
    paragraphs = [one for page in pages().values() for one in page.split("\n\n")]
    assert_on_both_sides(paragraphs, [KINDS["attachment"]["query"]])


def assert_on_both_sides(texts: Sequence[str], queries: Sequence[str]) -> None:
    rows = np.asarray([embedding(text) for text in texts])
    for threshold in SPREAD:
        cosines = [rows @ np.asarray(embedding(query)) for query in queries]
        assert any(
            (one > threshold).any() and (one < threshold).any() for one in cosines
        )


def test_the_loop_of_seed_001_ranks_the_example_of_its_text() -> None:
    scores = [0.89, 0.87, 0.84, 0.82, 0.81, 0.79, 0.78, 0.77, 0.76, 0.75]
    sources = ["6", "6", "6", "11", "11", "28", "34", "24", "14", "35"]
    results = [
        Passage(str(score), source, score=score)
        for score, source in zip(scores, sources, strict=True)
    ]
    assert [one.score for one in round_robin(results)[:3]] == [0.89, 0.82, 0.79]
