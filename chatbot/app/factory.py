"""`create_app`: services, blueprints, error handlers; and what it needs from the
database to start.
"""

import logging
import threading
from functools import partial

from flask import Flask
from flask_cors import CORS

from ..config import STATIC, TEMPLATES
from ..config.settings import Settings
from ..database.core import Database
from ..domain.errors import ChatbotError, SearchEngineError
from ..extras import answer, load
from ..stores.atlas.indexes import Polling, ensure_indexes
from .services import Services, build
from .services.index_changes import require_leave
from .web.asking import asking
from .web.briefs import briefs
from .web.catalog import catalog
from .web.conversations import conversations
from .web.documents import documents
from .web.files import FORM_BYTES
from .web.jobs import jobs
from .web.middleware import (
    BehindProxies,
    register_error_handlers,
    register_request_hooks,
)
from .web.monitoring import NoObserver, monitoring
from .web.pages import assets, pages
from .web.routes import PAGE, REPEATED, check_routes
from .web.server import Startup
from .web.sessions import sessions
from .web.streaming import ActiveStreams
from .web.turns import Turns
from .web.uploads import uploads

log = logging.getLogger(__name__)
RATE_LIMIT = (
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)


def create_app(
    settings: Settings | None = None, *, database: Database | None = None
) -> Flask:
    """Build the application, which also starts without its database: questions then get
    a 503. ``database`` stands in for the one that the settings name. Raises
    SettingsError, UnknownNameError, EmbedderMismatchError: it cannot serve with these
    settings.
    """
    settings = settings or Settings.from_env()
    app = Flask(__name__, template_folder=TEMPLATES, static_folder=STATIC)
    app.config["MAX_CONTENT_LENGTH"] = FORM_BYTES
    # A `$sort` means something else when its keys are sorted (`trace.pipeline`).
    app.json.sort_keys = False  # type: ignore[attr-defined]
    services = app.extensions["services"] = build(settings, database=database)
    observer = answer(services.extras, "observer", settings)
    app.extensions["observer"] = observer or NoObserver()
    startup = app.extensions["startup"] = Startup(lambda: _start(app, services))
    app.extensions["turns"] = Turns()
    app.extensions["active_streams"] = ActiveStreams(
        services, partial(startup.supervise, "resumable-answers")
    )
    CORS(
        app,
        origins=list(settings.cors_origins),
        methods=["GET", "POST", "PATCH", "DELETE"],
        expose_headers=["Retry-After", "Location", REPEATED, *RATE_LIMIT],
    )
    # First, so that hooks of extras run after the checks of host, origin and role.
    register_request_hooks(app, settings)
    for views in (
        assets,
        pages,
        asking,
        briefs,
        conversations,
        catalog,
        documents,
        jobs,
        monitoring,
        sessions,
        uploads,
    ):
        app.register_blueprint(views)
    for extra in services.extras:
        for reference in extra.blueprints:
            app.register_blueprint(load(reference))
    app.view_functions["static"] = PAGE(app.view_functions["static"])
    check_routes(app)
    app.extensions["run_worker"] = lambda: _run_worker(app)
    register_error_handlers(app)
    if settings.trusted_proxies:
        app.wsgi_app = BehindProxies(  # type: ignore[method-assign]
            app.wsgi_app, settings.trusted_proxies
        )
    try:
        startup.run()
    except ChatbotError:
        close_app(app)
        raise
    return app


def _start(app: Flask, services: Services) -> None:
    startup: Startup = app.extensions["startup"]
    services.check()
    release = services.storage.release
    release.require_alone()
    may_change_indexes = require_leave(services)
    services.prepare()
    _warn_of_unfinished_change(services)
    if may_change_indexes and services.storage.engine.traits.has_search_indexes:
        startup.background(
            "search-indexes", lambda stop: _create_indexes(services, stop)
        )
    services.ingesting.clear_up()
    has_deletions = services.ingesting.finish_deletions()
    if has_deletions or services.storage.ingestions.unfinished():
        _run_worker(app)
    if "samples" not in app.extensions and _wants_samples(services):
        samples = services.ingesting.sample_reports()
        app.extensions["samples"] = samples
        samples.start()
    startup.background("figures", lambda stop: _derive_figures(services, stop))
    tidy = services.ingesting.originals.tidy
    purge = services.retention.purge_regularly
    startup.background("retention", lambda stop: purge(stop, tidy))
    startup.background("unfinished-changes", services.ingesting.keep_up)
    startup.background("release", release.follow)
    for extra in services.extras:
        for name, reference in extra.background.items():
            startup.background(name, partial(load(reference), services))
    foreign_changes = services.storage.foreign_changes
    if foreign_changes is not None:
        startup.background("foreign-changes", foreign_changes.follow)


def _wants_samples(services: Services) -> bool:
    """Return whether the sample reports are to be added; with SAMPLE_DATA=auto only to
    an embedded database without other reports.
    """
    mode = services.settings.sample_data
    if mode != "auto":
        return mode == "on"
    if not services.storage.database.embedded:
        return False
    return all(report.sample for report in services.storage.documents.all())


def _warn_of_unfinished_change(services: Services) -> None:
    """Log the command that ends an interrupted change of the embedding model."""
    model = services.storage.facts.unfinished_change()
    if model is None:
        return
    log.warning(
        "A change of the embedding model to %s is unfinished. If nobody runs it: "
        "python -m chatbot reembed --provider %s --model %s",
        model.model_id,
        model.provider,
        model.model,
    )


def _run_worker(app: Flask) -> None:
    """Have threads read the queued files now; start them, unless they run already."""
    startup: Startup = app.extensions["startup"]
    services: Services = app.extensions["services"]
    for number in range(services.settings.ingestion_workers):
        startup.supervise(f"ingestion-{number}", services.ingesting.worker.run)
    services.ingesting.worker.wake()


def stop_work(app: Flask) -> None:
    """Have the ingestion workers release their files to another process, without
    waiting for them.
    """
    app.extensions["services"].ingesting.worker.close()


def close_app(app: Flask) -> None:
    """End what runs beside the requests, and close the services."""
    stop_work(app)
    for name in ("active_streams", "startup", "samples", "services", "observer"):
        part = app.extensions.get(name)
        if part is not None:
            part.close()


def _create_indexes(services: Services, stop: threading.Event) -> None:
    """Create the search indexes. The server needs minutes; until then questions get a
    503, and /ready says why.
    """

    def pause(seconds: float) -> None:
        if stop.wait(seconds):
            raise SearchEngineError("The server was stopped before they were ready.")

    try:
        ensure_indexes(
            services.storage.database,
            services.runtime.index_plans,
            Polling(sleep=pause),
        )
    except ChatbotError as error:
        log.warning(
            (
                "The search indexes were not created: %s See: python -m chatbot index "
                "status"
            ),
            error.message,
        )


def _derive_figures(services: Services, stop: threading.Event) -> None:
    """Store the figures of reports of an older release: until then tables lack them.
    Those of reports that other programs write are read again where these have changed.
    """
    while True:
        try:
            count = services.ingesting.derive_figures(stop.is_set)
            if count:
                log.info("The figures of %d reports were stored.", count)
        except ChatbotError as error:
            log.warning(
                "The figures were not stored: %s They are tried again.", error.message
            )
        # A minute between two looks for reports that other programs have changed.
        if services.storage.database.embedded or stop.wait(60.0):
            return
