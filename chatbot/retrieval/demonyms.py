"""What the people and things of a country are called: "Kenyan", "French"."""

from __future__ import annotations

from functools import lru_cache

from ..countries import country_code, normalise

TABLE = """
afghan AFG, albanian ALB, algerian DZA, american USA, andorran AND, angolan AGO, argentine ARG, argentinian ARG,
armenian ARM, australian AUS, austrian AUT, azerbaijani AZE, bahamian BHS, bahraini BHR, bangladeshi BGD,
barbadian BRB, belarusian BLR, belgian BEL, belizean BLZ, beninese BEN, bhutanese BTN, bolivian BOL, bosnian BIH,
botswanan BWA, brazilian BRA, british GBR, bruneian BRN, bulgarian BGR, burkinabe BFA, burmese MMR, burundian BDI,
cambodian KHM, cameroonian CMR, canadian CAN, chadian TCD, chilean CHL, chinese CHN, colombian COL, comoran COM,
costa rican CRI, croatian HRV, cuban CUB, cypriot CYP, czech CZE, danish DNK, djiboutian DJI, dutch NLD,
ecuadorian ECU, egyptian EGY, emirati ARE, english GBR, eritrean ERI, estonian EST, eswatini SWZ, ethiopian ETH,
fijian FJI, filipino PHL, finnish FIN, french FRA, gabonese GAB, gambian GMB, georgian GEO, german DEU, ghanaian GHA,
greek GRC, grenadian GRD, guatemalan GTM, guinean GIN, guyanese GUY, haitian HTI, honduran HND, hungarian HUN,
icelandic ISL, indian IND, indonesian IDN, iranian IRN, iraqi IRQ, irish IRL, israeli ISR, italian ITA, ivorian CIV,
jamaican JAM, japanese JPN, jordanian JOR, kazakh KAZ, kazakhstani KAZ, kenyan KEN, kosovar XKX, kuwaiti KWT,
kyrgyz KGZ, lao LAO, laotian LAO, latvian LVA, lebanese LBN, liberian LBR, libyan LBY, lithuanian LTU,
luxembourgish LUX, macedonian MKD, malagasy MDG, malawian MWI, malaysian MYS, maldivian MDV, malian MLI, maltese MLT,
mauritanian MRT, mauritian MUS, mexican MEX, moldovan MDA, mongolian MNG, montenegrin MNE, moroccan MAR,
mozambican MOZ, namibian NAM, nepalese NPL, nepali NPL, nicaraguan NIC, nigerian NGA, nigerien NER,
north korean PRK, norwegian NOR, omani OMN, pakistani PAK, palestinian PSE, panamanian PAN, papuan PNG,
paraguayan PRY, peruvian PER, philippine PHL, polish POL, portuguese PRT, qatari QAT, romanian ROU, russian RUS,
rwandan RWA, salvadoran SLV, samoan WSM, saudi SAU, scottish GBR, senegalese SEN, serbian SRB, singaporean SGP,
sierra leonean SLE, slovak SVK, slovenian SVN, somali SOM, south african ZAF, south korean KOR, south sudanese SSD,
spanish ESP, sri lankan LKA, sudanese SDN, surinamese SUR, swazi SWZ, swedish SWE, swiss CHE, syrian SYR,
taiwanese TWN, tajik TJK, tanzanian TZA, thai THA, togolese TGO, tongan TON, trinidadian TTO, tunisian TUN,
turkish TUR, turkmen TKM, ugandan UGA, ukrainian UKR, uruguayan URY, uzbek UZB, venezuelan VEN, vietnamese VNM,
welsh GBR, yemeni YEM, zambian ZMB, zimbabwean ZWE
"""
"""Those that stand for two countries (Congolese, Korean, Dominican) are left out."""


@lru_cache(maxsize=1)
def demonyms() -> dict[str, str]:
    """ISO-3 code by demonym; the plural of one that can have it is there too. What is also a name is no demonym."""
    found: dict[str, str] = {}
    for entry in TABLE.replace("\n", " ").split(","):
        demonym, _, code = entry.strip().rpartition(" ")
        found[demonym] = code
        if not demonym.endswith(("ese", "ish", "ch", "s")):
            found[f"{demonym}s"] = code
    return {normalise(demonym): code for demonym, code in found.items() if country_code(demonym) is None}
