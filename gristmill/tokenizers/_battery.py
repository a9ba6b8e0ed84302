"""Texts on which tokenizer libraries were seen to differ: a fast one must agree on all of them before it is used."""

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from gristmill.errors import ConfigError, InputError
from gristmill.tokenizers.base import Encoded, Encoder

Encode = Callable[[list[str]], Encoded]

ODD = [
    "",
    " ",
    "Hello, world! I'll don't we've it's 'tis I'LL DON'T \u2019s",
    "  leading and   inner \t tabs \n\n\n lines \r\n end  ",
    "<|endoftext|> <|im_end|> </s> <s> [EOS] [UNK] <unk> <pad> <|padding|>",
    "def f(x):\n    return x ** 2  # 1234567890 3.14e-10\n",
    "e\u0301 \u00e9 \ufb01 \u212b \u1e9b\u0323 \uac00 \u1100\u1161 q\u0307\u0323 q\u0323\u0307",
    "\u4e2d\u6587\u5206\u8bcd \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4",
    "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2615\ufe0f \U00020000 \U000e0001 \U0010fffd",
    "\u00a0\u2003\u2028\u2029\u3000\u200b\ufeff\u0085\u000b\u000c",
    "\x00\x01\x1f\x7f\x80\x9f",
]
"""Contractions, white space, literal specials, numbers, normal forms, scripts, joined emoji, controls."""

EDGES = "\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0003ffff\U00040000\U0010ffff"
"""The first and last characters of one, two, three and four UTF-8 bytes, and of what their first bytes allow."""

LONG = [
    *(mark * length for mark in "a Z\n\t=0.\u4e2d" for length in (17, 300, 3000)),
    *((mark * 400 + "x") for mark in " \n\t\u00a0"),
    "ab" * 2000,
    "e" + "\u0301" * 500,
    "supercalifragilistic" * 100,
]
"""Words and runs that are longer than any cache, table or lookahead expects."""

DENSE = 0x32000
"""Planes 0 to 3 end their assigned characters here; every code point below is tried, 751 kB in all with the others."""

RUN = 256

EXCERPT = 40
"""Characters of a text that an error shows."""


def battery(specials: Iterable[str]) -> list[str]:
    """All texts, with each of ``specials`` alone, within a word, spaced and doubled."""
    return [*_common(), *(f"{special} a{special}b {special}{special}{special[:-1]}" for special in specials)]


def spellings(special: str) -> list[str]:
    """Texts with a special token: alone, within a word, spaced, doubled, on lines, and in forms that normalizers map
    to it."""
    wide = "".join(chr(ord(mark) + 0xFEE0) if "!" <= mark <= "~" else mark for mark in special)
    return [
        special,
        f" {special}",
        f"a {special}",
        f"{special} a{special}b {special}{special}{special[:-1]}",
        f"a\n{special}\n({special})\t{special}.\u00a0{special}\u3000{special}1{special}\u4e2d{special}",
        f"\u00ad{special} \u200b{special}\u200b {special[:1]}\u00ad{special[1:]} {special[:1]} {special[1:]}",
        f"{special.upper()} {special.lower()} {special.title()} {special.swapcase()}",
        f"{wide} a{wide} {unicodedata.normalize('NFD', special)} {special[:1]}\u0301{special[1:]}",
    ]


@cache
def _common() -> list[str]:
    points = [*range(DENSE), *range(DENSE, 0x110000, 997), *range(0xE0000, 0xE0200)]
    points = [point for point in points if not 0xD800 <= point < 0xE000]
    runs = ["".join(map(chr, points[start : start + RUN])) for start in range(0, len(points), RUN)]
    marks = [chr(point) for point in range(0x300, DENSE) if unicodedata.combining(chr(point))]
    stacked = ["".join(f"a{mark}{other}" for mark, other in zip(marks, reversed(marks), strict=True))]
    decomposed = [unicodedata.normalize("NFD", run) for run in runs[: 0x3000 // RUN]]
    edges = [f"{left}{right}a{right}{left} " * 3 for left in EDGES for right in EDGES]
    return [*ODD, *LONG, *runs, *stacked, *decomposed, *edges]


def agree(fast: Encode, reference: Encode, specials: Iterable[str]) -> bool:
    """Whether both give the same ids on the whole battery; 0.15 s with Hugging Face ``tokenizers`` as the reference."""
    texts = battery(specials)
    found, wanted = fast(texts), reference(texts)
    return np.array_equal(found.ids, wanted.ids) and np.array_equal(found.offsets, wanted.offsets)


def check_special(encoder: Encoder) -> None:
    """Raises ``ConfigError`` when a text has an id that no text may have: tried are every special token in many
    surroundings and the whole battery."""
    names = encoder.reserved()
    forms = filter(None, dict.fromkeys([*(encoder.decode(np.array([number])) for number in names), *names.values()]))
    texts = [text for form in forms for text in spellings(form)]
    if names and (found := _reaching(encoder, [*texts, *_common()])):
        text, number = found
        short = _reaching(encoder, [mark for mark in text if mark != text])
        raise ConfigError(_reached(encoder, number, short[0] if short else text))


def _reaching(encoder: Encoder, texts: list[str]) -> tuple[str, int] | None:
    """The first of ``texts`` that has a special id, and that id. A text that the tokenizer gives up on has none: such a
    document is an error anyway."""
    try:
        encoded = encoder.encode(texts)
    except InputError:
        each = (_reaching(encoder, [text]) for text in texts) if len(texts) > 1 else ()
        return next(filter(None, each), None)
    places = np.flatnonzero(np.isin(encoded.ids, list(encoder.reserved())))
    if not places.size:
        return None
    return texts[np.searchsorted(encoded.offsets, places[0], "right") - 1], int(encoded.ids[places[0]])


def _reached(encoder: Encoder, number: int, text: str) -> str:
    eos = number == encoder.eot_id
    unknown = ", which is the unknown token too" if number == encoder.unk_id else ""
    remedy = "name another token by tokenizer.eot" if eos else "mend the tokenizer"
    return (
        f"tokenizer {encoder.name}: a document with the text {text[:EXCERPT]!a} gets id {number} of "
        f"{'EOS' if eos else 'the special token'} {encoder.reserved()[number]!a}{unknown}; {remedy}, or leave such "
        "documents out by tokenizer.on_special_id: quarantine"
    )
