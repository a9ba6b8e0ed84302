"""What a process loads before there is work for it."""

import importlib
import pkgutil

from gristmill import stages
from gristmill.config import PrepareConfig
from gristmill.stages.tokens.tokenizer import check_tokenizer


def ready(config: PrepareConfig) -> None:
    """Import every stage and load the tokenizer; raises ``ConfigError`` as ``check_tokenizer`` does."""
    for module in pkgutil.walk_packages(stages.__path__, f"{stages.__name__}."):
        importlib.import_module(module.name)
    check_tokenizer(config)
