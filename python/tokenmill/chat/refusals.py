"""The error for a template: one sentence with the template and the line, which are attributes too."""

from __future__ import annotations

from ..errors import TemplateError

__all__ = ["refusal"]


def refusal(name: str | None, line: int | None, message: str) -> TemplateError:
    """The error of the template of this name, to be raised."""
    place = "chat template" if name is None else f"chat template {name!r}"
    if line is not None:
        place += f", line {line}"
    return TemplateError(f"{place}: {message}", template=name, line=line, message=message)
