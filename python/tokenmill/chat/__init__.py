"""Conversations to text, with chat templates.

``render`` runs a template of jinja2 on messages, as transformers does, and says for every character of the
text where it came from. ``choose`` picks a template among several named ones. jinja2 comes with the extra
``chat`` and is imported by the first rendering.

The template runs in a sandbox and within bounds that are counted in steps (``steps.MAX_STEPS``), not in time.
Text of messages, tools, documents and variables never counts as the template's own.
"""

from __future__ import annotations

from .encoding import ChatEncoding
from .literals import FoundLiteral, Literals
from .rendered import RenderedChat, Segment
from .rendering import choose, render
from .selection import TrainOn
from .sources import DEFAULT_ROLES
from .turns import Turn

__all__ = [
    "DEFAULT_ROLES",
    "ChatEncoding",
    "FoundLiteral",
    "Literals",
    "RenderedChat",
    "Segment",
    "TrainOn",
    "Turn",
    "choose",
    "render",
]
