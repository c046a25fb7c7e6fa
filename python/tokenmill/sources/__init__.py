"""Where documents come from: text, JSONL, Parquet and Arrow files, compressed or not, here or remote.

``expand`` says which files are meant, ``Source.open`` what one is, by its first bytes. Files of plain text
and JSONL are read by the compiled part; what is compressed, remote or a table is opened here and handed to
it, as something to read from or as batches of rows.
"""

from __future__ import annotations

from .._remote import is_url
from .expanded import ENDINGS, expand, in_folder, names_of, opener, source_of
from .opened import Opened, Source

__all__ = ["ENDINGS", "Opened", "Source", "expand", "in_folder", "is_url", "names_of", "opener", "source_of"]
