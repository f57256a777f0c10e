"""A server of a language model for the comparison of the product with the seeds'
systems: it replies by a script, stage by stage, and records what both of them ask.
"""

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import openai

from chatbot.models import prompts
from tests.answering.seed_systems import Passage
from tests.fakes.openai_replies import embedding_row, word_hashes
from tests.fakes.openai_server import CHAT, EMBEDDINGS, FakeOpenAI, Recorded, Reply

Json = dict[str, Any]
DIMENSIONS = 1536
MARKER = re.compile(r"\bR\d\d\b")
"""Each passage of the library and each paragraph of an attachment has one."""
STAGES = {
    "auto": "route",
    "plan": "sub_queries",
    "relevance": "relevance",
    "reflect": "reflect",
    "follow_up": "follow_up",
    "intermediate": "intermediate",
    "supported": "supported",
    "general": "answer",
    "answer": "answer",
    "plain": "answer",
}
"""The seeds' names of the stages whose prompts are the files NAME_system.txt; another
file is a stage that no seed has.
"""
ANSWER = "The model has written this."
SUB_QUERIES = ("inflation of Kenya", "inflation of Somalia")
GAPS = ("population of Chad", "population of Mali")
FOLLOW_UPS = ("water of Kenya", "camps of Somalia")
MODES = {"naive": "direct", "deep": "deep", "chain": "chain"}
"""Our modes by the agents of seed 002."""


@dataclass(frozen=True)
class Call:
    """What is compared of a call to the chat model."""

    stage: str
    passages: tuple[str, ...]
    text: str

    @property
    def question(self) -> str:
        """What a seed's loop asks: its prompts begin with STAGE: QUESTION."""
        return self.text.partition("\n")[0].partition(": ")[2]


@dataclass(frozen=True)
class Run:
    """One question, as the server of the model saw it."""

    calls: list[Call]
    embedded: list[str]
    frame: str = ""
    response: str = ""


class Script:
    """What the model says to a stage: the same to the product and to the seed."""

    def __init__(self, case: Json) -> None:
        self.case = case
        kind = case["kind"]
        self.sub_queries = [f"{kind}: {one}" for one in SUB_QUERIES]
        self.gaps = [f"{kind}: {one}" for one in GAPS]
        self.follow_ups = [f"{kind}: {one}" for one in FOLLOW_UPS]
        self.rounds = iter([self.gaps, []])
        self.links = iter([*self.follow_ups, ""])

    @property
    def known(self) -> list[str]:
        """The texts of this kind that a prompt may hold besides its passages."""
        history = [one["content"] for one in self.case.get("previous_messages", ())]
        return [
            *history,
            self.case["query"],
            *self.sub_queries,
            *self.gaps,
            *self.follow_ups,
        ]

    def says(self, stage: str, passages: int) -> Any:
        """Return the reply of a stage, which depends on the number of passages only."""
        match stage:
            case "route":
                return self.case["route"]
            case "sub_queries":
                return self.sub_queries
            case "reflect":
                return next(self.rounds, [])
            case "relevance":
                return list(range(passages))[:3]
            case "supported":
                return list(range(passages))[:2]
            case "follow_up":
                return next(self.links, "")
            case "intermediate":
                return "Found in [1] [2]."
            case _:
                return ANSWER


def as_text(stage: str, said: Any) -> str:
    """Return the reply in the form that the product's prompts ask for."""
    match stage:
        case "route":
            return json.dumps({"choice": MODES[said]})
        case "sub_queries" | "reflect":
            return json.dumps({"queries": said})
        case "relevance" | "supported":
            return json.dumps({"numbers": [one + 1 for one in said]})
        case "follow_up":
            return json.dumps({"enough": not said, "question": said})
        case _:
            return str(said)


def said_in(stage: str, text: str) -> Any:
    """Return what the reply says, as the seeds' loops use it."""
    match stage:
        case "route":
            agents = {mode: agent for agent, mode in MODES.items()}
            return agents[json.loads(text)["choice"]]
        case "sub_queries" | "reflect":
            return json.loads(text)["queries"]
        case "relevance" | "supported":
            return [number - 1 for number in json.loads(text)["numbers"]]
        case "follow_up":
            return json.loads(text)["question"]
        case _:
            return text


@cache
def beginnings() -> dict[str, str]:
    """Return how the product's prompts for the system message begin."""
    folder = Path(prompts.__file__).parent
    return {
        path.read_text("utf-8").split("$")[0][:60]: path.stem.removesuffix("_system")
        for path in folder.glob("*_system.txt")
    }


def call_of(request: Recorded) -> Call:
    messages = request.body["messages"]
    text = "\n".join(str(message["content"]) for message in messages)
    found = [name for begins, name in beginnings().items() if begins in text]
    name = found[0] if found else text.partition(":")[0]
    return Call(STAGES.get(name, name), tuple(MARKER.findall(text)), text)


def frame_of(call: Call, known: Sequence[str]) -> str:
    """Return the prompt without its passages, their numbers, the texts that are
    ``known``, the scope and the random mark of its tags: the same for every question.
    """
    text = re.sub(
        r"(\[\d+\]\n)?<(passage-\w+) .*?</\2>", "", call.text, flags=re.DOTALL
    )
    for one in sorted(filter(None, known), key=len, reverse=True):
        text = text.replace(one, "")
    text = re.sub(r"(?m)^(Scope chosen: .*|Relevant knowledge base .*|- *)$", "", text)
    text = re.sub(r"the mark \w+", "the mark", text)
    return " ".join(text.split())


@cache
def embedding(text: str) -> list[float]:
    """Return a vector whose cosine to others rises with the words in common. Every two
    texts have something in common, as with the models of the seeds, and no two
    cosines are equal.
    """
    shared = np.zeros(DIMENSIONS)
    shared[0] = 1.0
    words = np.asarray(word_hashes(text, DIMENSIONS))
    own = np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIMENSIONS)
    parts = [(0.33, shared), (0.64, words), (0.03, own)]
    total = sum(np.sqrt(share) * one / np.linalg.norm(one) for share, one in parts)
    return [float(number) for number in total / np.linalg.norm(total)]


def embeddings_reply(request: Recorded) -> Reply:
    texts = texts_of(request)
    encoded = request.body.get("encoding_format") == "base64"
    rows = [
        embedding_row(number, embedding(text), encoded=encoded)
        for number, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    body = {"object": "list", "model": "fake", "data": rows, "usage": usage}
    return Reply(body=body)


def texts_of(request: Recorded) -> list[str]:
    given = request.body["input"]
    return [given] if isinstance(given, str) else list(given)


class Recording(FakeOpenAI):
    """A server that says what the script of a question says, and records the calls."""

    def __init__(self) -> None:
        super().__init__(dimensions=DIMENSIONS)
        self.script = Script({"kind": "none", "query": "", "route": "naive"})
        self.always(EMBEDDINGS, embeddings_reply)
        self.always(CHAT, self.chat_reply)

    def chat_reply(self, request: Recorded) -> Reply:
        call = call_of(request)
        said = self.script.says(call.stage, len(call.passages))
        return Reply([as_text(call.stage, said)])

    def begin(self, case: Json) -> None:
        """Forget what was asked, and follow the script of this question."""
        self.script = Script(case)
        self.requests.clear()

    @property
    def run(self) -> Run:
        """What was asked and embedded since `begin`; searches of one round run at the
        same time, so their calls are put in order.
        """
        calls: list[Call] = []
        asked = [call_of(request) for request in self.received(CHAT)]
        for stage, of_stage in groupby(asked, key=lambda call: call.stage):
            together = list(of_stage)
            if stage == "relevance":
                together.sort(key=lambda call: call.passages)
            calls += together
        return Run(calls, self.embedded)

    @property
    def embedded(self) -> list[str]:
        texts = [text for one in self.received(EMBEDDINGS) for text in texts_of(one)]
        return sorted(texts)


class SeedModel:
    """The recording server as the seeds' loops ask it."""

    def __init__(self, server: Recording) -> None:
        self.client = openai.OpenAI(base_url=server.url, api_key="sk", max_retries=0)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        created = self.client.embeddings.create(
            model="fake", input=list(texts), encoding_format="float"
        )
        return [one.embedding for one in created.data]

    def chat(self, stage: str, question: str, passages: Sequence[Passage] = ()) -> Any:
        prompt = "\n".join([f"{stage}: {question}", *(one.text for one in passages)])
        reply = self.client.chat.completions.create(
            model="fake", messages=[{"role": "user", "content": prompt}]
        )
        return said_in(stage, str(reply.choices[0].message.content))
