# Writes stems.tsv: words of each language that an analyzer stems, and their stems by another
# program, the Python one of Snowball 2.2.0 (Debian 12, package python3-snowballstemmer).
#
#   PYTHONPATH=FOLDER python3 stems.py >stems.tsv
#
# The words are of the messages of the programs of a Debian 12 system in that language
# (/usr/share/locale) that are not in the English message too, in lower case, of letters alone: of the 6,000 met most often, 200 at equal
# distances.
import collections, gettext, glob, re
import snowballstemmer

LANGUAGES = {
    "ar": "arabic", "da": "danish", "de": "german", "es": "spanish", "fi": "finnish", "fr": "french",
    "ga": "irish", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "en": "english",
}


def words_of(text):
    found = re.findall(r"[^\W\d_]+(?:[\u0b80-\u0bff]+)*", text.lower())
    return [w for w in found if 2 < len(w) < 25 and "\u0640" not in w]


for code, name in sorted(LANGUAGES.items()):
    stemmer = snowballstemmer.stemmer(name)
    counts = collections.Counter()
    for folder in {"no": ["nb", "no"], "en": ["en_GB"]}.get(code, [code]):
        for path in sorted(glob.glob(f"/usr/share/locale/{folder}/LC_MESSAGES/*.mo")):
            try:
                catalog = gettext.GNUTranslations(open(path, "rb"))._catalog
            except Exception:
                continue  # of another encoding, or none
            for key, message in catalog.items():
                foreign = set() if code == "en" else set(words_of(str(key)))
                counts.update(w for w in words_of(message) if w not in foreign)
    words = [w for w, _ in sorted(counts.items(), key=lambda x: (-x[1], x[0]))[:6000]]
    for w in words[:: max(1, len(words) // 200)][:200]:
        print(code, w, stemmer.stemWord(w), sep="\t")
