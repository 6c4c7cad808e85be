"""The embedded judge: every trace, on CPU, in this process, with nothing to download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag_monitor.errors import ConfigurationError
from rag_monitor.field_values import wrong_value
from rag_monitor.judges.embedded.judge import FULL, LEXICAL, EmbeddedJudge
from rag_monitor.judges.embedded.model import Model, lexical, read_model
from rag_monitor.judges.embedded.options import EmbeddedOptions

__all__ = ["EmbeddedJudge", "EmbeddedOptions", "create", "create_lexical"]


def create(options: Mapping[str, Any]) -> EmbeddedJudge:
    """A judge from the table `[judges.embedded]`.

    Raises:
        ConfigurationError: A setting is unknown, has the wrong type or names a file that cannot be
            used.
    """
    return _create(options, FULL)


def create_lexical(options: Mapping[str, Any]) -> EmbeddedJudge:
    """The variant without an encoder, from the table `[judges.embedded-lexical]`.

    Raises:
        ConfigurationError: As `create`, or an encoder is named.
    """
    if options.get("encoder"):
        raise ConfigurationError(
            "[judges.embedded-lexical] takes no encoder; name it in [judges.embedded]"
        )
    return _create(options, LEXICAL)


def _create(options: Mapping[str, Any], name: str) -> EmbeddedJudge:
    settings = [field.name for field in fields(EmbeddedOptions)]
    for option in options:
        if option not in settings:
            raise ConfigurationError(
                "[judges.{name}] has no setting {option!r}; known: {names}",
                name=name,
                option=option,
                names=", ".join(settings),
            )
    try:
        checked = TypeAdapter(EmbeddedOptions).validate_python(dict(options))
        return EmbeddedJudge(checked, model=_words_alone(checked) if name == LEXICAL else None)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigurationError(
            "[judges.{name}] {place}: {reason}",
            name=name,
            place=first["loc"],
            reason=wrong_value(first),
        ) from None


def _words_alone(options: EmbeddedOptions) -> Model:
    model = read_model(Path(options.weights)) if options.weights else lexical()
    if model.encoder:
        raise ConfigurationError(
            "[judges.embedded-lexical] weights {weights} were learnt with an encoder; name them "
            "in [judges.embedded]",
            weights=options.weights,
        )
    return model
