"""``python -m tokenmill.cli`` is the command ``tokenmill``."""

from __future__ import annotations

import sys

from .app import main

if __name__ == "__main__":
    sys.exit(main())
