"""Words for what reports have figures and facts on, and for what says nothing without one of them. English.

Vocabularies: what is not in them is not known, so each rule decides for itself what that means.
"""

from __future__ import annotations

import re

MODIFIER = (
    r"real|nominal|total|annual|average|median|gross|net|public|external|foreign|national|urban|rural|youth|adult|consumer"
    r"|price|population|economic|gdp|life|land|literacy|birth|death|fertility|poverty|growth|inflation|unemployment|exchange"
    r"|military|government|budget|electricity|internet|infant|main|official|chief|largest|current"
)
THING = (
    r"population|inflation|unemployment|employment|gdp(?:\s+per\s+(?:capita|person))?|growth|rates?|exports?|imports?|debt"
    r"|deficit|budget|revenues?|expenditures?|spending|capital|president|prime minister|chief of state|head of (?:state"
    r"|government)|area|climate|terrain|coastline|currency|languages?|religions?|life expectancy(?:\s+at\s+birth)?"
    r"|literacy|poverty|urbani[sz]ation|age|access|users|refugees|remittances|natural resources|industries|export goods"
)
FIGURE = rf"(?:(?:the|its|their)\s+)?(?:(?:{MODIFIER})\s+)*(?:{THING})\b(?!-)"
"""A pattern for one of them with its article: "the real GDP growth rate"."""
_DEPENDENT = """
cause causes reason reasons effect effects impact impacts consequence consequences result results outcome outcomes
trend trends development developments change changes difference differences increase decrease rise fall decline rate
rates growth share shares percentage percent proportion ratio number numbers figure figures level levels total average
amount size value source sources example examples rank ranking forecast forecasts projection projections target
targets estimate estimates rest role history solution solutions response measures benefits risks problems challenges
advantages disadvantages men women male males female females boy boys girl girls child children youth adult adults
elderly young old rural urban area areas city cities village villages region regions province provinces north south
east west northern southern eastern western capita person head household households today now nowadays currently
current recently recent earlier later previous previously next last first second third future past year years month
months day days date time long far big large high low small poor rich one ones exactly exact precisely roughly real
nominal gross net main official top bottom two three four five ten nearby neighbours neighbors abroad elsewhere
worldwide
"""
"""Words for a part, a side or a cause of something, which has to be said."""
MORE_OR_LESS = (
    r"(?:more|less|fewer|most|least|fewest|better|best|worse|worst|(?:high|low|larg|small|bigg|great|strong|weak|fast|slow"
    r"|poor|rich|wealthi|healthi|old|young|long|short|hott|cold|warm|dri|wett|saf|larg|earli|lat|clos)(?:er|est))"
)
"""A pattern for words that compare."""
_COMPARING = re.compile(MORE_OR_LESS, re.IGNORECASE)
_DEPENDENT_WORDS = frozenset(_DEPENDENT.split())


def is_dependent(word: str) -> bool:
    """Whether a word says nothing without the thing that it belongs to: "and the causes?", "and for men?"."""
    return word.lower() in _DEPENDENT_WORDS or _COMPARING.fullmatch(word) is not None or not word[0].isalpha()
