"""What changed when reports arrived: for programs, as an Atom feed (RFC 4287), and as a
page that needs no script.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from xml.etree.ElementTree import Element, SubElement, tostring

from flask import Response, make_response, render_template, request, url_for
from pydantic import Field

from ...app.web.access import library, query_scope
from ...app.web.callers import caller, may_read
from ...app.web.cookies import with_owner
from ...app.web.routes import (
    PAGE,
    Number,
    Page,
    ScopeQuery,
    Views,
    answer_type,
    listing,
    page_size,
    services,
)
from ...database.core import Json
from ...domain import DocumentRecord
from ...language.counts import count_of
from ...questions.reading import COUNTRY
from .comparison import ChangeLog, ReportChanges

changes = Views("changes", __name__)
ATOM = "application/atom+xml"


class ChangesQuery(Page, ScopeQuery):
    limit: Number = page_size(20, 100)
    since: Annotated[
        datetime | None,
        Field(description="Only reports that arrived then or later (ISO 8601)."),
    ] = None
    document_id: Annotated[str, Field(description="Only this report.")] = ""

    def arrivals(self) -> tuple[ChangeLog, Sequence[DocumentRecord]]:
        """Return the reports of the query, the latest first, and what their changes are
        read from.
        """
        reader = library().reader
        scope = query_scope(self)
        index = reader.documents.index()
        least = (
            ""
            if self.since is None
            else self.since.astimezone(UTC).isoformat(timespec="seconds")
        )
        records = [
            one
            for one in index.inside(scope)
            if one.status == "ready" and one.updated_at >= least
        ]
        if self.document_id:
            records = [one for one in records if one.id == self.document_id]
        records.sort(key=lambda one: (one.updated_at, one.title), reverse=True)
        limit = scope.widest()
        log = ChangeLog(index.inside(limit), reader.figures, limit)
        return log, records

    def changed(self, log: ChangeLog, records: Sequence[DocumentRecord]) -> Json:
        """Return this page of the reports in which something is different. Those that
        were compared count, so that no page has to compare them all.
        """
        listed = self.of("changes", log.compared(records), log.of)
        listed["changes"] = [one for one in listed["changes"] if not one.is_empty]
        return listed


@changes.get(
    "/api/changes", need="read", returns=listing("Changes", "changes", ReportChanges)
)
def list_changes(query: ChangesQuery) -> Json:
    """List the reports in which something is different, the latest first: the figures
    that differ from the edition before, and the figures and sentences that differ from
    the report's own former version.

    `total` counts the reports that were compared; those without a difference are left
    out of `changes`.
    """
    return query.changed(*query.arrivals())


class FeedQuery(ChangesQuery):
    token: Annotated[
        str, Field(description="Of `POST /api/feeds`, where reading needs a key.")
    ] = ""


@changes.get("/api/changes.atom", need="feed", media=(ATOM,))
def get_feed(query: FeedQuery) -> Response:
    """Get the same as an Atom feed, for mail, Teams, Slack or a feed reader."""
    log, records = query.arrivals()
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    page = url_for("changes.show_changes", _external=True)
    _add(feed, "id", page)
    _add(feed, "title", "What changed in the reports")
    _add(
        feed,
        "updated",
        records[0].updated_at
        if records
        else datetime.now(UTC).isoformat(timespec="seconds"),
    )
    SubElement(feed, "link", rel="alternate", href=page)
    SubElement(feed, "link", rel="self", href=request.base_url)
    for one in query.changed(log, records)["changes"]:
        report = one.report
        entry = SubElement(feed, "entry")
        _add(entry, "id", f"urn:report-chat:{report.document_id}:{one.at}")
        since = "; ".join(_sentences(one))
        _add(entry, "title", f"{report.title}: {since}")
        _add(entry, "updated", one.at)
        SubElement(SubElement(entry, "author"), "name").text = "Ask your reports"
        SubElement(entry, "link", href=f"{page}#{report.document_id}")
        # A feed reader shows an entry whole.
        table = render_template(
            "_changes_table.html", figures=[*one.corrected, *one.figures][:40]
        )
        table += render_template("_changes_text.html", passages=one.text.passages[:40])
        _add(entry, "content", table, type="html")
    response = Response(
        tostring(feed, encoding="utf-8", xml_declaration=True),
        content_type=f"{ATOM}; charset=utf-8",
    )
    response.add_etag()
    response.make_conditional(request)
    return response


def _sentences(changes: ReportChanges) -> list[str]:
    """Return how much changed, and since when."""
    sentences = []
    own = len(changes.corrected)
    if changes.text.total:
        passages = count_of(changes.text.total, "passage")
        sentences.append(f"{passages} changed in this version")
    elif own:
        sentences.append(f"{count_of(own, 'figure')} changed in this version")
    if changes.former is not None and changes.figures:
        changed = [each for each in changes.figures if each.old and each.new]
        figures = count_of(len(changed), "figure")
        sentences.append(f"{figures} changed since {changes.former.title}")
    return sentences


def _add(parent: Element, name: str, text: str, **attributes: str) -> None:
    SubElement(parent, name, attributes).text = "".join(
        one for one in text if one.isprintable() or one in "\n\t"
    )


@changes.post(
    "/api/feeds",
    need="read",
    returns=answer_type("Feed", address=str),
    shown_once="address",
)
def create_feed() -> Json:
    """Get the address of the caller's feed, with a token where the caller has a key.

    The token reads the feed and nothing else, within the limits of the key. It ends
    with the key, and a new one replaces it.
    """
    return {"address": _feed_address()}


def _feed_address() -> str:
    address = url_for("changes.get_feed", _external=True)
    who = caller()
    return (
        address
        if who.key is None
        else f"{address}?token={services().storage.keys.create_feed(who.key)}"
    )


class ChangesPage(ChangesQuery):
    limit: Number = page_size(10, 50)


@changes.route("/changes", methods=["GET", "POST"], about=PAGE)
def show_changes(query: ChangesPage) -> Response:
    """Show what changed. Its form, without a script, asks for the address of the
    feed.
    """
    about: Json = {
        "may": may_read(),
        "shown": 12,
        "listed": None,
        "countries": (),
        "address": "",
    }
    if about["may"]:
        log, records = query.arrivals()
        about |= {
            "listed": query.changed(log, records),
            "chosen": request.args.get(COUNTRY, ""),
        }
        about["countries"] = library().reader.documents.values(COUNTRY)
        about["address"] = _feed_address() if request.method == "POST" else ""
    return with_owner(make_response(render_template("changes.html", **about)))
