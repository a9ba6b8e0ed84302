"""Marks that end a sentence, in all scripts, and the quotes and brackets that may follow them.

Python's own tables lack these properties, so their code points are written down, in hexadecimal; ranges include both
ends, as in Unicode's files. ``tests/gristmill/text/test_sentence_ends.py`` compares them with the tables of the
``regex`` package.
"""


def _marks(ranges: str) -> str:
    """``"21 61d-61f"`` to the characters."""
    bounds = ([int(end, 16) for end in part.split("-")] for part in ranges.split())
    return "".join(chr(code) for first, *last in bounds for code in range(first, (last or [first])[0] + 1))


SENTENCE_TERMINAL = _marks(
    "21 2e 3f 589 61d-61f 6d4 700-702 7f9 837 839 83d-83e 964-965 104a-104b 1362 1367-1368 166e 1735-1736 17d4-17d5 "
    "1803 1809 1944-1945 1aa8-1aab 1b4e-1b4f 1b5a-1b5b 1b5e-1b5f 1b7d-1b7f 1c3b-1c3c 1c7e-1c7f 2024 203c-203d "
    "2047-2049 2cf9-2cfb 2e2e 2e3c 2e53-2e54 2e60-2e61 3002 a4ff a60e-a60f a6f3 a6f7 a876-a877 a8ce-a8cf a92f "
    "a9c8-a9c9 aa5d-aa5f aaf0-aaf1 abeb fe12 fe15-fe16 fe52 fe56-fe57 ff01 ff0e ff1f ff61 10a56-10a57 10f55-10f59 "
    "10f86-10f89 11047-11048 110be-110c1 11141-11143 111c5-111c6 111cd 111de-111df 11238-11239 1123b-1123c 112a9 "
    "113d4-113d5 1144b-1144c 115c2-115c3 115c9-115d7 11641-11642 1173c-1173e 11944 11946 11a42-11a43 11a9b-11a9c "
    "11c41-11c42 11ef7-11ef8 11f43-11f44 16a6e-16a6f 16af5 16b37-16b38 16b44 16d6e-16d6f 16e98 1bc9f 1da88"
)
"""Property Sentence_Terminal of Unicode 18.0 (PropList.txt)."""

FURTHER = _marks(
    "37e "  # Greek question mark, where NFC has not made it a semicolon
    "5c3 "  # Hebrew sof pasuq
    "85e "  # Mandaic
    "e5a-e5b "  # Thai angkhankhu and khomut
    "f0d-f12 f14 "  # Tibetan shads, and gter tsheg in their place
    "10fb "  # Georgian paragraph separator
    "16eb-16ed "  # Runic
    "17da "  # Khmer koomuut
    "1805 "  # Mongolian four dots
    "1a1e-1a1f "  # Buginese pallawa and end of section
    "2cfe "  # Coptic full stop
    "a95f aadf "  # Rejang, Tai Viet
    "10857 10af0-10af5 10b3a-10b3f 10b99-10b9c "  # Imperial Aramaic, Manichaean, Avestan, Psalter Pahlavi
    "11aa1-11aa2 11c71 11fff"  # Soyombo, Marchen, Tamil end of text
)
"""Ends of the scripts that have no Sentence_Terminal, and of those that have more: what else of Terminal_Punctuation is
no comma, colon or divider of words, and marks that the code charts call a full stop or an end of a section."""

ENDS = SENTENCE_TERMINAL + FURTHER
SPACED = ".?!" + _marks("2024 203c-203d 2047-2049")
"""The ends that are found within words, numbers and addresses too: white space must follow them."""
CLOSERS = "\"'" + _marks(
    "29 5d 7d ab bb f3b f3d 169c 2018-2019 201b-201d 201f 2039-203a 2046 207e 208e 2309 230b 232a 2769 276b 276d 276f "
    "2771 2773 2775 27c6 27e7 27e9 27eb 27ed 27ef 2984 2986 2988 298a 298c 298e 2990 2992 2994 2996 2998 29d9 29db "
    "29fd 2e02-2e05 2e09-2e0a 2e0c-2e0d 2e1c-2e1d 2e20-2e21 2e23 2e25 2e27 2e29 2e56 2e58 2e5a 2e5c 2e63 3009 300b "
    "300d 300f 3011 3015 3017 3019 301b 301e-301f fd3e fe18 fe36 fe38 fe3a fe3c fe3e fe40 fe42 fe44 fe48 fe5a fe5c "
    "fe5e ff02 ff07 ff09 ff3d ff5d ff60 ff63"
)
"""General categories Pe, Pi and Pf, and the quotes without a side: German closes with a quote that opens in English."""
QUOTES = "\"'" + _marks("ab bb 2018-2019 201b-201d 201f 2039-203a 300d 300f 301e-301f fe42 fe44 ff02 ff07 ff63")
"""The closers that are quotes, property Quotation_Mark: C4 takes one at the end of a line for the end of a sentence."""
