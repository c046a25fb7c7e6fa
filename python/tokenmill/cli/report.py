r"""Tokenizers side by side on one page: how well they spell texts, and why.

Each TOKENIZER is a file, a folder, a known name or a repository, under its own
name or under another as NAME=TOKENIZER; at most 8. --text names the texts of a
language or a domain, under their file's name or as NAME=FILE; files of one
name belong together. With --parallel the texts of all names say the same, row
by row of JSONL, Parquet and Arrow, line by line of other files, and the page
shows what each costs over --reference. Without --text the Universal
Declaration of Human Rights in 30 languages is measured.

The page is one file of HTML, which asks nobody for anything.

  tokenmill report out/ cl100k_base --out report.html
  tokenmill report mine=out/ theirs=tokenizer.json --text en.txt de.txt \
      --parallel --reference en --word ' tokenization' --out report.html
"""

from __future__ import annotations

import argparse
import copy
import os
from typing import TYPE_CHECKING, Any

from .corpora import Rows, add_rows, in_parts, names_of, rows_of
from .files import as_json, as_text, check_read_once, source, write_output
from .named import named_files
from .options import add_loading, load_tokenizer
from .parsing import whole_number
from .terminal import bar_wanted, visible
from .usage import UsageError

if TYPE_CHECKING:
    from tokenmill import Report, Tokenizer

__all__ = ["add_arguments", "run"]
