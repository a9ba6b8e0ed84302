"""The tokenizer that this process loaded last: most ask for the same one again and again."""

from pathlib import Path

from gristmill import ledger
from gristmill.tokenizers.base import Encoder, Tokenizer

_loaded: dict[str, Encoder] = {}
"""By its settings and the content of its files: a worker has it since ``check_tokenizer``, and so has the command that
shows what was published. Loading the 50,257 ids of GPT-2, and the proof that the fast library agrees, take 0.7 s."""


def loaded(tokenizer: Tokenizer, folder: Path, contents: dict[str, str]) -> Encoder:
    """The encoder archived in ``folder``, where the files by name have these sha256."""
    key = ledger.fingerprint("encoder", {"tokenizer": tokenizer.settings(), "files": contents})
    found = _loaded.get(key)
    if found is None:
        found = tokenizer.load(folder)
        _loaded.clear()
        _loaded[key] = found
    return found
