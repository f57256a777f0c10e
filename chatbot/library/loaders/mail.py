"""E-mails (.eml): their text, which may be an HTML page."""

from dataclasses import replace
from email import message_from_binary_file, policy
from email.message import EmailMessage, MIMEPart
from io import BytesIO
from pathlib import Path
from typing import Any

from ...domain import Loaded, Section
from ...domain.documents import AUTHOR_SEPARATOR, lay_out
from ...domain.errors import LoadError
from . import ArchiveLoader
from .html import page_sections
from .ocr import Ocr
from .pdf import read_picture
from .sections import one_line
from .text import clean, decode, opened

ATTACHMENTS_NOTE = "Attachments left out: {count}. Add them as files: {names}."


class MailLoader(ArchiveLoader):
    noun = "an e-mail"
    suffixes = (".eml",)
    parts = ""
    isolated = True
    ocr = Ocr()

    def load(self, path: Path) -> Loaded:
        with opened(path) as file:
            message = message_from_binary_file(file, policy=policy.default)
        body = message.get_body(("plain", "html"))
        notes: list[str] = []
        sections = _body_sections(body, path.name, notes) if body else []
        files = list[str]()
        for part in message.walk():
            if part is body or not _is_file(part):
                continue
            name = part.get_filename() or part.get_content_type()
            pictured = self._picture(part, name)
            sections += pictured
            if not pictured:
                files.append(name)
        if not sections:
            raise LoadError(
                f"{path.name} has no text. Save its attachments and add them as files."
            )
        lines = [
            f"{name}: {one_line(str(message[name]))}"
            for name in ("From", "To", "Date")
            if message[name]
        ]
        if files:
            names = ", ".join(files)
            notes.append(ATTACHMENTS_NOTE.format(count=len(files), names=names))
        return Loaded(
            one_line(str(message["Subject"] or "")) or path.stem,
            lay_out([Section((), "\n".join(lines)), *sections]),
            properties={
                "created": str(message["Date"] or ""),
                "published": str(message["Date"] or ""),
                "authors": AUTHOR_SEPARATOR.join(_senders(message["From"])),
            },
            notes=tuple(notes),
        )

    def _picture(self, part: MIMEPart, name: str) -> list[Section]:
        """Return what OCR reads in a picture, under the picture's name."""
        if (
            part.get_content_type() not in {"image/png", "image/jpeg"}
            or self.ocr.missing
        ):
            return []
        try:
            _, sections = read_picture(BytesIO(part.get_content()), name, self.ocr)
        except LoadError:  # it is named among what was left out
            return []
        return [
            replace(section, path=(name, *section.path), page=None)
            for section in sections
        ]


def _is_file(part: EmailMessage) -> bool:
    """Return whether a part is a file, not a text of the message or its frame."""
    if part.is_attachment():
        return True
    return part.get_content_maintype() not in {"text", "multipart"}


def _senders(header: Any) -> list[str]:
    """Return the names of the senders, of those without a name the addresses."""
    addresses = getattr(header, "addresses", ())
    return [one_line(each.display_name or each.addr_spec) for each in addresses]


def _body_sections(body: MIMEPart, name: str, notes: list[str]) -> list[Section]:
    """Return the sections of a body; what a person should know goes into ``notes``."""
    content = body.get_payload(decode=True)
    if not isinstance(content, bytes) or not content.strip():
        return []
    try:
        text = clean(content.decode(body.get_content_charset("utf-8")))
    except (LookupError, UnicodeDecodeError):
        text = decode(content, name)
    if body.get_content_subtype() != "html":
        return [Section((), text)]
    page = page_sections(text.encode(), name=name)
    notes += page.notes
    return [*page.sections]
