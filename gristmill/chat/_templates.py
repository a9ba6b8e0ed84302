"""Conversations as text, by a template, with what the assistant says told apart."""

import re
import secrets
from functools import lru_cache
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gristmill.errors import ConfigError, InputError
from gristmill.types import Value

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ message.content }}<|im_end|>{% endif %}\n{% endfor %}"
)

BUILT_IN = {"chatml": CHATML}

_MARKS = re.compile(r"{%[-+]?\s*generation\s*[-+]?%}")


class Span(Value, frozen=True, kw_only=True):
    """A part of a conversation as text."""

    text: str
    learn: bool
    """Said by the assistant."""
    said: bool
    """From a message: whatever it spells, it is ordinary text and no special token."""


class _Generation(Extension):
    """``{% generation %}...{% endgeneration %}``, as chat templates of Hugging Face mark what to learn."""

    tags = {"generation"}  # noqa: RUF012  jinja2's own declaration

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_marked"), [], [], body).set_lineno(line)

    def _marked(self, caller: Any) -> str:
        mark = self.environment.globals["mark"]
        return f"{mark}<{caller()}{mark}>"


def check(template: str) -> None:
    """Raises ``ConfigError`` when the template cannot be parsed or marks nothing to learn."""
    text = BUILT_IN.get(template, template)
    if not _MARKS.search(text):
        raise ConfigError(
            f"template {template:.40}: marks nothing to learn; write what the assistant says between "
            f"{{% generation %}} and {{% endgeneration %}}, or choose one of: {', '.join(BUILT_IN)}"
        )
    try:
        _compiled(text)
    except TemplateError as error:
        raise ConfigError(f"template: {error}") from None


@lru_cache(maxsize=8)
def _compiled(text: str) -> tuple[Any, str]:
    """The template, and a mark that no message can contain but by guessing 128 bits. Templates come with models from
    anywhere, so they run in a sandbox: no attribute of Python, no change to what they are given."""
    environment = ImmutableSandboxedEnvironment(extensions=[_Generation], keep_trailing_newline=True)
    mark = f"\ue000{secrets.token_hex(16)}"
    environment.globals["mark"] = mark
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(text), mark


def _refuse(reason: str) -> None:
    raise TemplateError(reason)


def rendered(template: str, messages: list[dict[str, str]]) -> list[Span]:
    """The spans of a conversation. The template sees a placeholder where a message has content, and the content is put
    in afterwards: a message that spells a role marker opens no turn.

    Raises ``InputError`` when the template refuses the messages.
    """
    compiled, mark = _compiled(BUILT_IN.get(template, template))
    shown = [
        {**message, "content": f"{mark}{number}." if message["content"] else ""}
        for number, message in enumerate(messages)
    ]
    try:
        text = compiled.render(messages=shown, add_generation_prompt=False)
    except (TemplateError, TypeError, ValueError) as error:
        raise InputError(f"the template refuses it: {error}", "bad_document") from None
    found: list[Span] = []
    learn = False
    for part in re.split(rf"({mark}(?:[<>]|\d+\.))", text):
        if not part.startswith(mark):
            found.append(Span(text=part, learn=learn, said=False))
        elif (sign := part[len(mark) :]) in "<>":
            learn = sign == "<"
        else:
            found.append(Span(text=messages[int(sign[:-1])]["content"], learn=learn, said=True))
    return [span for span in found if span.text]
