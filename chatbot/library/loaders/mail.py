"""E-mails (.eml): their text, which may be an HTML page."""

from __future__ import annotations

from email import message_from_bytes, policy
from pathlib import Path

from ...domain import Loaded, Section, lay_out
from ...domain.errors import LoadError
from . import ArchiveLoader
from .html import page_sections
from .office import left_out
from .sections import one_line
from .text import clean, decode, unreadable


class MailLoader(ArchiveLoader):
    noun = "an e-mail"
    suffixes = (".eml",)
    parts = ""
    isolated = True

    def load(self, path: Path) -> Loaded:
        try:
            message = message_from_bytes(path.read_bytes(), policy=policy.default)
        except OSError as error:
            raise unreadable(path, error) from error
        body = message.get_body(("plain", "html"))
        content = body.get_payload(decode=True) if body else b""
        if not body or not isinstance(content, bytes) or not content.strip():
            raise LoadError(f"{path.name} has no text. Save its attachments and add them as files.")
        try:
            text = clean(content.decode(body.get_content_charset("utf-8")))
        except (LookupError, UnicodeDecodeError):
            text = decode(content, path.name)
        is_page = body.get_content_subtype() == "html"
        sections = page_sections(text.encode(), name=path.name).sections if is_page else (Section((), text),)
        lines = [f"{name}: {one_line(str(message[name]))}" for name in ("From", "To", "Date") if message[name]]
        files = [part.get_filename() or part.get_content_type() for part in message.iter_attachments()]
        notes = [f"{note} Add them as files: {', '.join(files)}." for note in left_out(("attachment", len(files)))]
        return Loaded(
            one_line(str(message["Subject"] or "")) or path.stem, lay_out([Section((), "\n".join(lines)), *sections]),
            properties={"created": str(message["Date"] or "")}, notes=tuple(notes),
        )  # fmt: skip
