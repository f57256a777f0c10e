"""The words that belong to numbers, in the languages reports are written in: scales, units, months, number words."""

from __future__ import annotations

from decimal import Decimal

_SCALE_WORDS = {
    2: "hundred",
    3: "thousand thousands tsd tausend mille mil mila duizend tusen tusind bin тыс тысяч тысячи",
    5: "lakh lakhs",
    6: "million millions mn mln mio millionen millón millones milhão milhões milione milioni miljoen miljoner "
    "millioner milyon млн миллион миллиона миллионов",
    7: "crore crores",
    9: "billion billions bn bln mrd mia milliarde milliarden milliard milliards miliardo miliardi bilhão bilhões "
    "miljard miljarder milliarder milyar млрд миллиард миллиарда миллиардов",
    12: "trillion trillions trn tn billionen billones trilhão trilhões biljoen biljoner трлн триллион триллиона "
    "триллионов",
}
SCALES = {word: Decimal(10) ** power for power, words in _SCALE_WORDS.items() for word in words.split()}
SCALES["mil millones"] = Decimal(10) ** 9
SCALE_SIGNS = {
    sign: Decimal(10) ** power for power, signs in {4: "万萬만", 8: "亿億억", 12: "兆조"}.items() for sign in signs
}
"""Written right after the number, without a space and without an end of the word."""
SHORT_SCALES = {"k": Decimal(10) ** 3, "m": Decimal(10) ** 6, "b": Decimal(10) ** 9, "t": Decimal(10) ** 12}
"""Only with a currency in front: 5 m may be metres."""

PERCENT = (
    r"%|٪|percentage points?\b|per ?cent\b|pct\b|prozent(?:punkte)?\b|pour ?cent\b|por (?:ciento|cento)\b|per cento\b"
    r"|procent\w*|процент\w*"
)
CURRENCIES = {
    "$": r"(?:US|A|C|NZ|HK|S)?\$|USD\b|(?:US |U\.S\. )?dollars?\b|dólares\b|dollari\b",
    "€": r"€|EUR\b|euros?\b",
    "£": r"£|GBP\b|pounds?\b(?: sterling)?",
    "¥": r"¥|JPY\b|CNY\b|RMB\b|yen\b|yuan\b",
    "₹": r"₹|INR\b|rupees?\b",
    "₽": r"₽|RUB\b|roubles?\b|rubles?\b",
}

_MONTHS = (
    "january jan januar januari janvier janv enero ene janeiro gennaio gen",
    "february feb februar februari février févr fév febrero fevereiro fev febbraio febb",
    "march mar märz mrz maart mars marzo março",
    "april apr avril avr abril abr aprile",
    "may mai mei mayo maio maggio mag",
    "june jun juni juin junio junho giugno giu",
    "july jul juli juillet juil julio julho luglio lug",
    "august aug augustus août agosto ago",
    "september sept sep septembre septiembre setembro settembre sett",
    "october oct oktober okt octobre octubre outubro ottobre ott out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc diciembre dic dezembro dicembre",
)
MONTHS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}

_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES = {word: number for number, word in enumerate(_ONES.split(), start=1)}
TENS = {word: number * 10 for number, word in enumerate(_TENS.split(), start=2)}
