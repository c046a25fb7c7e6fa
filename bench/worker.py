"""A process for one sample: ``worker.py '{"task": "measure", ...}'`` prints one line of JSON.

It binds itself to one CPU before anything is imported that might look at their number.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Do what the argument says."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    task = order.pop("task")
    cpus = order.pop("cpus")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)
    result: Any
    if task == "measure":
        from measure import measure

        result = measure(**order)
    elif task == "answer":
        from exactness import answer

        result = answer(**{**order, "folder": Path(order["folder"])})
    elif task == "versions":
        from peers import installed

        result = installed()
    elif task == "chats":
        from chatting import chats

        result = chats(**order)
    elif task == "words":
        import word_trainers

        result = word_trainers.learn(**order)
    elif task == "whole":
        from training import learn_whole

        result = learn_whole(**order)
    else:
        from training import learn

        result = learn(**order)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
