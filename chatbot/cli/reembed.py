"""`reembed`: another embedding model."""

from __future__ import annotations

import sys

import click

from ..caches.warm import WarmCache
from ..embedders import DEFAULT_MODELS, EMBEDDERS
from ..embedders.cached import CachedEmbedder
from ..errors import InvalidRequestError
from ..migration.reembed import GRACE_SECONDS, Reembedding
from ..migration.slot_indexes import AtlasSlotIndexes, NoSlotIndexes
from ..services import Services
from ..shipped import WARM_CACHE


@click.command()
@click.option("--provider", required=True, help="Embedding provider: openai, minilm, ...")
@click.option("--model", help="Its model. Default: the provider's default model.")
@click.option(
    "--grace",
    type=click.FloatRange(0, 3600),
    default=GRACE_SECONDS,
    show_default=True,
    help="Seconds that the old vectors stay after the switch, for answers under way.",
)
@click.pass_obj
def reembed(services: Services, provider: str, model: str | None, grace: float) -> None:
    """Embed all passages with another model, and switch to it when it is complete.

    The old model answers until then, also in other processes. Run it again after an interruption: it goes on. With
    the model that is in use, only passages without a vector are embedded.

    Example: python -m chatbot reembed --provider openai --model text-embedding-3-small
    """
    if services.engine.store == "pgvector":
        raise InvalidRequestError(
            "VECTOR_SEARCH=pgvector keeps the vectors in PostgreSQL: ingest the reports into another database instead."
        )
    EMBEDDERS.check(provider, field="--provider")
    name = model or DEFAULT_MODELS[provider]
    embedder = CachedEmbedder(EMBEDDERS.builder(provider)(services.settings, model=name), WarmCache(WARM_CACHE))
    services.prepare()
    in_process = services.engine.store != "atlas"
    work = Reembedding(
        services.database,
        collections=services.chunk_collections,
        provider=provider,
        model=name,
        embedder=embedder,
        indexes=NoSlotIndexes() if in_process else AtlasSlotIndexes(services.settings, services.database),
        grace=grace,
    )
    with click.progressbar(length=work.total(), label="Embedding", file=sys.stderr) as bar:
        stored = work.run(bar.update)
    click.echo(f"{work.embedded} passages embedded. The database's embedding model is {stored.model_id}.")
    _warn_of_settings(services, provider, name)


def _warn_of_settings(services: Services, provider: str, model: str) -> None:
    settings = services.settings
    wrong_model = settings.embedding_model not in (None, model)
    if settings.embedding_provider not in (None, provider) or wrong_model:
        click.secho(
            "EMBEDDING_PROVIDER and EMBEDDING_MODEL still name another model: unset them before the next start.",
            fg="yellow",
            err=True,
        )
