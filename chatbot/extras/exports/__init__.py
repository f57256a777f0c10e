"""Conversations and tables as files of Word and Excel."""

from .. import Extra


def build() -> Extra:
    formats = {
        "docx": "chatbot.extras.exports.docx",
        "xlsx": "chatbot.extras.exports.xlsx",
    }
    return Extra(name="exports", adapters={"file_formats": formats})
