"""The glossary over every database."""

from chatbot.database.core import Database
from chatbot.database.repositories.figures import GlossaryRepository
from chatbot.domain.figures import GlossaryEntry

PPP = GlossaryEntry("PPP", "Purchasing power parity.", ("purchasing power parity",))
MEN = GlossaryEntry("age of men", "How old men are.", (), "Median age", "male")


def test_every_process_sees_what_one_writes_and_reads_it_once(
    database: Database,
) -> None:
    one, other = GlossaryRepository(database), GlossaryRepository(database)
    assert list(one.entries()) == []
    other.put("", [PPP, MEN])
    assert [entry.term for entry in one.entries()] == ["age of men", "PPP"]
    assert one.entries()[1] == PPP
    assert one.entries() is one.entries()
    assert (other.clear(), list(one.entries())) == (2, [])


def test_a_source_changes_its_own_entries_only(database: Database) -> None:
    glossary = GlossaryRepository(database)
    glossary.put("", [PPP])
    glossary.put(
        "report",
        [GlossaryEntry("PPP", "Public-private partnership.", passage=3), MEN],
        replace_all=True,
    )
    glossary.put("report", [MEN], replace_all=True)
    assert [(entry.term, entry.source) for entry in glossary.entries()] == [
        ("age of men", "report"),
        ("PPP", ""),
    ]
    before = glossary.entries()
    glossary.put("report", [MEN], replace_all=True)
    assert glossary.entries() is before, "nothing has changed"
    glossary.put("", [GlossaryEntry("ppp", "Another meaning.")])
    assert [entry.meaning for entry in glossary.entries() if not entry.source] == [
        "Another meaning."
    ]


def test_an_imported_entry_replaces_a_shipped_one_until_all_are_cleared(
    database: Database,
) -> None:
    glossary = GlossaryRepository(database, lambda: [PPP, MEN])
    assert [entry.source for entry in glossary.entries()] == ["default", "default"]
    glossary.put("", [GlossaryEntry("ppp", "Public-private partnership.")])
    assert [(entry.term, entry.source) for entry in glossary.entries()] == [
        ("age of men", "default"),
        ("ppp", ""),
    ]
    assert database["glossary"].count({}) == 1, "shipped entries are not stored"
    glossary.clear()
    assert list(glossary.entries()) == []
    assert list(GlossaryRepository(database, lambda: [PPP]).entries()) == []


def test_rows_that_an_earlier_release_stored_do_not_count_twice(
    database: Database,
) -> None:
    glossary = GlossaryRepository(database, lambda: [PPP])
    glossary.put("sample_data", [PPP, MEN])
    assert [entry.source for entry in glossary.entries()] == ["default"]
