"""`create_app`: services, blueprints, error handlers, headers. Nothing happens at import."""

from __future__ import annotations

import logging
import threading
import time
import uuid

from flask import Flask, Response, g, request
from flask_cors import CORS

from .database import begin_request, end_request
from .errors import ChatbotError, SearchEngineError
from .ingestion.samples import SampleReports
from .loaders import loader_for
from .schema import Scope
from .services import Services
from .settings import Settings
from .shipped import SAMPLE_DATA
from .stores.search_indexes import Polling, ensure_indexes
from .web.api import api
from .web.documents import documents
from .web.errors import register_error_handlers
from .web.health import health
from .web.ingestions import ingestions
from .web.metrics import metrics
from .web.origins import refuse_foreign_origins
from .web.pages import pages
from .web.startup import Startup
from .web.usage import usage

log = logging.getLogger("chatbot.requests")
MAX_BODY_BYTES = 1_000_000
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(settings: Settings | None = None) -> Flask:
    """The application; loads the sample reports in the background where the settings ask for them.

    Where the database does not answer yet, it is served without: questions get a 503 until it does.

    Raises:
        SettingsError, UnknownNameError, EmbedderMismatchError: it cannot serve with these settings.
    """
    settings = settings or Settings.from_env()
    app = Flask(__name__, template_folder="../templates", static_folder="../static")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    services = app.extensions["services"] = Services(settings)
    app.register_blueprint(pages)
    app.register_blueprint(api)
    app.register_blueprint(health)
    app.register_blueprint(documents)
    app.register_blueprint(metrics)
    app.register_blueprint(ingestions)
    app.register_blueprint(usage)
    app.extensions["run_worker"] = lambda: _run_worker(app)
    register_error_handlers(app)
    CORS(
        app,
        origins=list(settings.cors_origins),
        methods=["GET", "POST", "PATCH", "DELETE"],
        expose_headers=["Retry-After", "Location"],
    )
    _register_request_hooks(app, settings)
    startup = app.extensions["startup"] = Startup(lambda: _start(app, services))
    startup.run()
    return app


def _start(app: Flask, services: Services) -> None:
    services.check()
    services.prepare()
    if services.engine.store == "atlas" and services.settings.create_indexes:
        startup: Startup = app.extensions["startup"]
        startup.background("search-indexes", lambda stop: _create_indexes(services, stop))
    for record in services.documents.all():
        if record.status == "deleting":  # whoever was at it died
            services.ingestor.delete(record.id)
    if services.ingestions.active():
        _run_worker(app)
    if _wants_samples(services):
        samples = app.extensions["samples"] = sample_reports(services)
        samples.start()


def _run_worker(app: Flask) -> None:
    """Work through the queued ingestions, from now on; called again, it does nothing."""
    startup: Startup = app.extensions["startup"]
    services: Services = app.extensions["services"]
    startup.supervise("ingestion", services.worker.run)


def close_app(app: Flask) -> None:
    """Stop what runs beside the requests, and close what was opened."""
    services: Services = app.extensions["services"]
    services.worker.close()
    app.extensions["startup"].close()
    if samples := app.extensions.get("samples"):
        samples.close()
    services.close()


def _create_indexes(services: Services, stop: threading.Event) -> None:
    """The server builds them for minutes; until then questions get the reason as a 503, and /ready says it."""

    def pause(seconds: float) -> None:
        if stop.wait(seconds):
            raise SearchEngineError("The server was stopped before they were ready.")

    try:
        ensure_indexes(services.database, services.index_plans, Polling(sleep=pause))
    except ChatbotError as error:
        log.warning("The search indexes were not created: %s See: python -m chatbot index status", error.message)


def sample_reports(services: Services) -> SampleReports:
    """The loader of the sample reports, for the server and the command line."""
    return SampleReports(
        SAMPLE_DATA,
        ingestor=lambda: services.ingestor,
        loader=loader_for,
        leases=services.facts,
        summary=services.sample_summary,
        warm=lambda: services.store.count(Scope()),
    )


def _wants_samples(services: Services) -> bool:
    """SAMPLE_DATA=auto: an embedded database that holds nothing but (perhaps part of) the sample reports."""
    mode = services.settings.sample_data
    if mode != "auto":
        return mode == "on"
    return services.database.embedded and all(record.sample for record in services.documents.all())


def _register_request_hooks(app: Flask, settings: Settings) -> None:
    @app.before_request
    def begin() -> None:
        begin_request()
        g.request_id = uuid.uuid4().hex[:12]
        g.started = time.perf_counter()
        refuse_foreign_origins(settings.cors_origins)

    @app.after_request
    def finish(response: Response) -> Response:
        response.headers.update(SECURITY_HEADERS)
        response.headers["X-Request-ID"] = g.request_id
        ms = (time.perf_counter() - g.started) * 1000
        log.info("%s %s %s %.0f ms %s", request.method, request.path, response.status_code, ms, g.request_id)
        return response

    @app.teardown_request
    def end(error: BaseException | None) -> None:
        end_request()
