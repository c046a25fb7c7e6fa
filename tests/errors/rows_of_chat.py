"""Rows: chat templates, and conversations that they cannot render."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenmill import errors

from errors.making import Run, rows


def rendering(source: str, **options: Any) -> Run:
    """Render one message of a user with this template."""

    def run(native: Any, folder: Path) -> object:
        from tokenmill.chat import render

        messages = [{"role": options.pop("role", "user"), "content": "Hi"}]
        return render(source, messages, special_tokens={}, name="t", **options)

    return run


def refused(line: int | None, message: str) -> dict[str, object]:
    return {"template": "t", "line": line, "message": message}


CHAT = list(
    rows(
        errors.TemplateError,
        (
            "a template with a mistake",
            rendering("\n{% endfor %}"),
            "line 2",
            refused(2, "Encountered unknown tag 'endfor'."),
        ),
        (
            "a template that refuses",
            rendering("{{ raise_exception('only tools') }}"),
            "chat template 't', line 1: only tools",
            refused(1, "only tools"),
        ),
        (
            "a template that needs what is not there",
            rendering("{{ missing.x }}"),
            "'missing' is undefined",
            refused(1, "'missing' is undefined"),
        ),
        (
            "a template that exceeds its steps",
            rendering("{{ 'a' * 1000 }}", max_steps=100),
            "more than 100 steps",
            refused(1, "it takes more than 100 steps"),
        ),
        ("a role that is not known", rendering("", role="judge"), "messages[0] has the role 'judge'"),
    )
)
