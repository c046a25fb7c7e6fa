"""The command line: ``tokenmill COMMAND ...``, a face of the public package.

``app.py`` has ``main``, the parser and the exit codes; each command is a file with ``add_arguments`` and
``run(args) -> int``; ``options.py``, ``files.py`` and ``terminal.py`` are what they share. Nothing heavy is
imported before a command runs, so that ``--help`` is quick.
"""

from __future__ import annotations

from .app import main

__all__ = ["main"]
