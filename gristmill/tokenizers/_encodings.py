"""What a .tiktoken file does not say: how the published encodings cut text into words, and their special tokens."""

from gristmill.types import Value

_END = "<|endoftext|>"
_FILL = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_PROMPT = "<|endofprompt|>"

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_ENDING}|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_R50K_SUM = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K_SUM = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"


class Encoding(Value, frozen=True, kw_only=True):
    """A published encoding."""

    pattern: str
    special_tokens: dict[str, int]
    sha256: str
    """Of its file of ranks, as tiktoken checks it after a download."""


ENCODINGS = {
    "gpt2": Encoding(pattern=_GPT2, special_tokens={_END: 50256}, sha256=_R50K_SUM),
    "r50k_base": Encoding(pattern=_GPT2, special_tokens={_END: 50256}, sha256=_R50K_SUM),
    "p50k_base": Encoding(pattern=_GPT2, special_tokens={_END: 50256}, sha256=_P50K_SUM),
    "p50k_edit": Encoding(
        pattern=_GPT2,
        special_tokens={_END: 50256, **{name: 50281 + place for place, name in enumerate(_FILL)}},
        sha256=_P50K_SUM,
    ),
    "cl100k_base": Encoding(
        pattern=_CL100K,
        special_tokens={
            _END: 100257,
            **{name: 100258 + place for place, name in enumerate(_FILL)},
            _PROMPT: 100276,
        },
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": Encoding(
        pattern=_O200K,
        special_tokens={_END: 199999, _PROMPT: 200018},
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
