"""The environment of workers: they find this interpreter, and the modules of these tests.

It is set before any engine is started: a JVM keeps that of its start for all sessions of the process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
)
