"""Where passages live and are searched. One contract suite runs over all of them."""

from ..protocols import Store
from ..registry import Registry

STORES: Registry[Store] = Registry(
    "vector search",
    {
        "atlas": "chatbot.stores.atlas",
        "faiss": "chatbot.stores.faiss",
        "pgvector": "chatbot.stores.pgvector",
    },
)
