"""A tokenizer in Hugging Face form: a local ``tokenizer.json``, its folder, or a model on the hub."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec
from pydantic import Field, model_validator

from gristmill.errors import ConfigError, InputError
from gristmill.settings import Location
from gristmill.tokenizers import _hf
from gristmill.tokenizers.base import Encoder, Tokenizer


class HuggingFace(Tokenizer):
    """Exactly the ids that the Hugging Face ``tokenizers`` library gives, without BOS and EOS of a post-processor."""

    path: Location | None = Field(None, description="A tokenizer.json or the folder that holds it.")
    name: str | None = Field(None, description="A model on the hub, for example openai-community/gpt2.")
    revision: str = Field("main", description="Revision on the hub; a commit makes the run reproducible.")
    eot: str | None = Field(None, description="Token that ends a document; default: <|endoftext|>, </s> or similar.")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.path is None) == (self.name is None):
            raise ConfigError("tokenizer: huggingface takes either path (a tokenizer.json) or name (on the hub)")
        return self

    def source_digest(self) -> str:
        return hashlib.sha256(self._content()).hexdigest()

    def prepare(self, texts: Iterable[list[str]], folder: Path) -> None:
        content = self._content()
        try:
            msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        except msgspec.DecodeError as error:
            raise InputError(f"tokenizer {self.path or self.name}: not a tokenizer.json: {error}") from None
        _hf.archive(folder, content, name=self.name or str(self.path), eot=self.eot)

    def load(self, folder: Path) -> Encoder:
        return _hf.HuggingFaceEncoder(folder)

    def _content(self) -> bytes:
        file = self._local_file()
        try:
            return file.read_bytes()
        except OSError as error:
            raise ConfigError(f"tokenizer {file}: {error.strerror}; give the path of a tokenizer.json") from None

    def _local_file(self) -> Path:
        if self.path is not None:
            path = Path(self.path)
            return path / _hf.FILE if path.is_dir() else path
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            return Path(hf_hub_download(str(self.name), _hf.FILE, revision=self.revision))
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ConfigError(f"tokenizer {self.name}: not to be had from the hub ({reason}); give a path") from None
