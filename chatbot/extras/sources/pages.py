"""The sources and their latest runs, for administrators."""

from ...app.web.access import require_everything
from ...app.web.routes import Views, answer_type, services
from ...database.core import Json
from .running import synchroniser_of
from .sync import SourceState

sources = Views("sources", __name__)


@sources.get(
    "/api/sources",
    need="admin",
    returns=answer_type("Sources", sources=list[SourceState]),
)
def list_sources() -> Json:
    """List the sources that the library is kept current with, and what their latest run
    did.
    """
    require_everything()
    return {"sources": synchroniser_of(services()).states()}
