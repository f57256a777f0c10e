"""Rerankers that compare passages with each other (mmr), or have a model judge them."""

from .. import Extra

RERANKERS = {
    "cross_encoder": "chatbot.extras.rerankers.rerankers:cross_encoder",
    "llm": "chatbot.extras.rerankers.rerankers:LlmReranker",
    "mmr": "chatbot.extras.rerankers.rerankers:MmrReranker",
    "mongodb": "chatbot.extras.rerankers.rerankers:MongoReranker",
}


def build() -> Extra:
    return Extra(
        name="rerankers",
        settings=("rerank_model",),
        adapters={"rerankers": RERANKERS},
    )
