"""Write `chatbot/language/groups.csv`, the groups of countries that everybody knows.

    pip install country_converter
    python -m benchmarks.groups_table

Regions, EU, OECD, G7 and the euro area come from country_converter (GPL; only
the facts of its table are taken), which is needed for this script only. The others are
lists of members as the organisations publish them, or as the reports of the members
say it (World Factbook), below. No source says which countries are the Balkans. Income
groups of the World Bank change every July: an operator imports them with `groups
import`.
"""

import csv
from importlib.util import find_spec
from pathlib import Path

from chatbot.language.groups import COLUMNS, SEPARATOR

TABLE = Path(__file__).parents[1] / "chatbot" / "language" / "groups.csv"
REGIONS = "UN M49 (country_converter 1.3.2)"
MEMBERS = "members (country_converter 1.3.2)"
DATE = "2025-01-31"

# Name; other words; words that mean it beside "countries"; continents and sub-regions.
OF_M49 = """
Africa; África, Afrique, أفريقيا, إفريقيا; African, africano, africana, africain, africaine, الأفريقية; Africa
Northern Africa; North Africa, Norte de África, África del Norte, Afrique du Nord, Norte da África, شمال أفريقيا; North African, norteafricano, nord-africain; Northern Africa
Sub-Saharan Africa; Subsaharan Africa, Africa south of the Sahara, south of the Sahara, África subsahariana, Afrique subsaharienne, África subsaariana, أفريقيا جنوب الصحراء; sub-Saharan, sub-Saharan African, subsahariano, subsaharien, subsaariano; Eastern Africa, Middle Africa, Southern Africa, Western Africa
Eastern Africa; East Africa, África oriental, África del Este, Afrique de l'Est, Afrique orientale, شرق أفريقيا; East African, Eastern African, est-africain; Eastern Africa
Western Africa; West Africa, África occidental, Afrique de l'Ouest, Afrique occidentale, غرب أفريقيا; West African, Western African, ouest-africain; Western Africa
Middle Africa; Central Africa, África central, Afrique centrale, وسط أفريقيا; Central African, centroafricano; Middle Africa
Southern Africa; África austral, África meridional, Afrique australe, الجنوب الأفريقي; Southern African; Southern Africa
Asia; Asie, Ásia, آسيا; Asian, asiático, asiática, asiatique, الآسيوية; Asia
Central Asia; Asia central, Asie centrale, Ásia Central, آسيا الوسطى; Central Asian; Central Asia
Eastern Asia; East Asia, Asia oriental, Asie de l'Est, Ásia Oriental, شرق آسيا; East Asian, Eastern Asian; Eastern Asia
South-eastern Asia; Southeast Asia, South East Asia, Sudeste asiático, Asie du Sud-Est, جنوب شرق آسيا; Southeast Asian, South East Asian; South-eastern Asia
Southern Asia; South Asia, Asia meridional, Asia del Sur, Asie du Sud, Ásia Meridional, جنوب آسيا; South Asian, Southern Asian; Southern Asia
Western Asia; West Asia, Asia occidental, Asie occidentale, Ásia Ocidental, غرب آسيا; West Asian, Western Asian; Western Asia
Europe; Europa, أوروبا; European, europeo, europea, européen, européenne, europeu, europeia, الأوروبية; Europe
Eastern Europe; East Europe, Europa oriental, Europa del Este, Europe de l'Est, Leste Europeu, أوروبا الشرقية; Eastern European, East European; Eastern Europe
Northern Europe; Europa del Norte, Europe du Nord, Norte da Europa, شمال أوروبا; Northern European; Northern Europe
Southern Europe; Europa del Sur, Europe du Sud, Sul da Europa, جنوب أوروبا; Southern European; Southern Europe
Western Europe; West Europe, Europa occidental, Europe de l'Ouest, Europa Ocidental, أوروبا الغربية; Western European, West European; Western Europe
Latin America and the Caribbean; Latin America, America Latina, América Latina, Amérique latine, أمريكا اللاتينية; Latin American, latinoamericano, latinoamericana, latino-américain, latino-americano; Caribbean, Central America, South America
Caribbean; Caribe, Caraïbes, الكاريبي; caribeño, caraïbe, caribenho; Caribbean
Central America; América Central, Centroamérica, Amérique centrale, أمريكا الوسطى; Central American, centroamericano, centraméricain; Central America
South America; América del Sur, Sudamérica, Amérique du Sud, América do Sul, أمريكا الجنوبية; South American, sudamericano, sud-américain, sul-americano; South America
Northern America; América septentrional, Amérique septentrionale, أمريكا الشمالية; Northern American; Northern America
Americas; las Américas, Amériques, as Américas, الأمريكتان; ; America
Oceania; Oceanía, Océanie, أوقيانوسيا; Oceanian; Oceania
"""  # noqa: E501
# Name; other words; words beside "countries"; column of the table.
OF_COLUMNS = """
European Union; EU, Unión Europea, UE, Union européenne, União Europeia, الاتحاد الأوروبي; ; EU27
Euro area; eurozone, zona del euro, eurozona, zone euro, zona do euro, منطقة اليورو; ; EURO
OECD; OCDE, منظمة التعاون الاقتصادي والتنمية; ; OECD
G7; Group of Seven, Grupo de los Siete, Groupe des Sept, مجموعة السبع; ; G7
"""  # noqa: E501
# Name; other words; words beside "countries"; members; source; date.
LISTED = """
Sahel; the Sahel, el Sahel, le Sahel, o Sahel, منطقة الساحل; Sahelian, saheliano, sahélien; BFA CMR TCD GMB GIN MLI MRT NER NGA SEN; UN Integrated Strategy for the Sahel, its ten countries; 2018-05-10
Horn of Africa; Cuerno de África, Corne de l'Afrique, Chifre da África, القرن الأفريقي; ; DJI ERI ETH SOM; the four countries of the peninsula, without other members of IGAD; 2018-05-10
Landlocked developing countries; LLDC, LLDCs, países en desarrollo sin litoral, pays en développement sans littoral, países em desenvolvimento sem litoral, البلدان النامية غير الساحلية; landlocked developing; AFG ARM AZE BTN BOL BWA BFA BDI CAF TCD SWZ ETH KAZ KGZ LAO LSO MWI MLI MDA MNG NPL NER MKD PRY RWA SSD TJK TKM UGA UZB ZMB ZWE; UN-OHRLLS, list of 32 countries; 2024-12-31
African Union; AU, Unión Africana, Union africaine, União Africana, الاتحاد الأفريقي; ; *Africa ESH; African Union, 55 member states; 2025-01-31
ECOWAS; Economic Community of West African States, CEDEAO, إيكواس; ; BEN CPV CIV GMB GHA GIN GNB LBR NGA SEN SLE TGO; ECOWAS, member states after Burkina Faso, Mali and Niger left; 2025-01-29
G20; Group of Twenty, Grupo de los Veinte, Groupe des Vingt, مجموعة العشرين; ; ARG AUS BRA CAN CHN DEU FRA GBR IDN IND ITA JPN KOR MEX RUS SAU TUR USA ZAF; G20, its 19 countries, without the members of EU and AU; 2023-09-09
League of Arab States; Arab League, Arab world, Liga Árabe, mundo árabe, Ligue arabe, monde arabe, جامعة الدول العربية, العالم العربي; Arab, árabe, arabe, العربية; DZA BHR COM DJI EGY IRQ JOR KWT LBN LBY MRT MAR OMN PSE QAT SAU SOM SDN SYR TUN ARE YEM; League of Arab States, 22 members; 2023-05-07
Gulf Cooperation Council; GCC, Gulf states, Persian Gulf states, Estados del Golfo, États du Golfe, Estados do Golfo, دول الخليج, مجلس التعاون الخليجي; Gulf, Persian Gulf; ARE BHR KWT OMN QAT SAU; CIA World Factbook, International organization participation; 2026-05-17
Nordic countries; Nordic Council, países nórdicos, pays nordiques, الدول الإسكندنافية; Nordic, nórdico, nordique; DNK FIN ISL NOR SWE; CIA World Factbook, International organization participation; 2026-05-17
Scandinavia; Escandinavia, Scandinavie, Escandinávia; Scandinavian, escandinavo, escandinava, scandinave; DNK NOR SWE; Denmark, Norway and Sweden, without the other Nordic countries; 2026-05-17
Pacific Islands Forum; South Pacific, Pacific islands, Pacífico Sur, Pacifique Sud, Pacífico Sul, جنوب المحيط الهادئ; Pacific, Pacific island, South Pacific island; AUS COK FJI FSM KIR MHL NCL NIU NRU NZL PLW PNG PYF SLB TON TUV VUT WSM; CIA World Factbook, International organization participation; 2026-05-17
Baltic states; Baltic Assembly, países bálticos, pays baltes, دول البلطيق; Baltic, báltico, balte; EST LTU LVA; CIA World Factbook, International organization participation; 2026-05-17
Andean Community; Comunidad Andina, Communauté andine, Comunidade Andina, جماعة دول الأنديز; Andean, andino, andina, andin; BOL COL ECU PER; CIA World Factbook, International organization participation; 2026-05-17
Arab Maghreb Union; Maghreb, Magreb, Magrebe, المغرب العربي; Maghrebi; DZA LBY MAR MRT TUN; CIA World Factbook, International organization participation; 2026-05-17
Benelux; بنلوكس; ; BEL LUX NLD; CIA World Factbook, International organization participation; 2026-05-17
"""  # noqa: E501


def read() -> list[dict[str, str]]:
    """Return the countries of country_converter that are members of the UN, or have a
    code that the tables here use: regions count no dependent territories.
    """
    spec = find_spec("country_converter")
    if spec is None or spec.origin is None:
        raise SystemExit("country_converter is missing: pip install country_converter")
    path = Path(spec.origin).with_name("country_data.tsv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    observers = {"PSE", "VAT"}
    return [row for row in rows if row["UNmember"] or row["ISO3"] in observers]


def fields(line: str) -> list[str]:
    return [field.strip() for field in line.split(";")]


def group(
    texts: list[str], members: set[str], source: str, date: str
) -> dict[str, str]:
    name, others, adjectives = texts
    return {
        "name": name,
        "other_words": f" {SEPARATOR} ".join(filter(None, others.split(", "))),
        "adjectives": f" {SEPARATOR} ".join(filter(None, adjectives.split(", "))),
        "members": " ".join(sorted(members)),
        "source": source,
        "date": date,
    }


def write_table() -> None:
    countries = read()
    groups = []
    for line in OF_M49.strip().splitlines():
        *texts, regions = fields(line)
        names = set(regions.split(", "))
        members = {
            row["ISO3"]
            for row in countries
            if names & {row["continent"], row["UNregion"]}
        }
        groups.append(group(texts, members, REGIONS, DATE))
    for line in OF_COLUMNS.strip().splitlines():
        *texts, column = fields(line)
        members = {row["ISO3"] for row in countries if row[column]}
        groups.append(group(texts, members, f"{texts[0]}, {MEMBERS}", DATE))
    for line in LISTED.strip().splitlines():
        *texts, codes, source, date = fields(line)
        members = set(codes.replace("*Africa", "").split())
        if "*Africa" in codes:
            members |= {r["ISO3"] for r in countries if r["continent"] == "Africa"}
        groups.append(group(texts, members, source, date))
    empty = [each["name"] for each in groups if not each["members"]]
    if empty:
        raise SystemExit(f"No members: {', '.join(empty)}")
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(groups)


if __name__ == "__main__":
    write_table()
