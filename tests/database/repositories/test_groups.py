"""Groups of countries of the operator over every database."""

from chatbot.database.core import Database
from chatbot.database.repositories.caches import refresh
from chatbot.database.repositories.groups import GroupRepository
from chatbot.domain.scope import CountryGroup
from chatbot.language.groups import usual_groups

PRIORITY = CountryGroup("Our priority countries", ("KEN", "MLI"), ("priorities",))
SAHEL = CountryGroup("sahel", ("MLI",), source="us")


def test_every_process_sees_groups_of_the_operator_before_those_of_the_program(
    database: Database,
) -> None:
    one, other = GroupRepository(database), GroupRepository(database)
    assert tuple(one.groups()) == usual_groups()
    other.put([PRIORITY, SAHEL])
    refresh(database)
    groups = one.groups()
    assert list(groups[:2]) == [PRIORITY, SAHEL]
    assert len(groups) == len(usual_groups()) + 1, "its Sahel replaces the program's"
    other.put([SAHEL], replace_all=True)
    refresh(database)
    assert PRIORITY not in one.groups()
    assert other.clear() == 1
    refresh(database)
    assert tuple(one.groups()) == usual_groups()
