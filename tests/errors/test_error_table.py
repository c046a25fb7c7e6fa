"""Every error with an input that causes it: one table, and tests that nothing is missing from it.

A row says what is done, which class is raised, which of its attributes are what, and a part of the
message. `path` is given relative to the test's folder.
"""

from __future__ import annotations

import inspect
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenmill import errors

from errors.making import (
    Row,
)
from errors.rows_of_batches import BATCHES
from errors.rows_of_budgets import BUDGETS
from errors.rows_of_chat import CHAT
from errors.rows_of_checkpoints import CHECKPOINTS
from errors.rows_of_compat import COMPAT
from errors.rows_of_difference import DIFFERENCE
from errors.rows_of_files import FILES, FORMAT, MANIFEST
from errors.rows_of_formats import FORMATS
from errors.rows_of_hooks import HOOKS
from errors.rows_of_reports import REPORTS
from errors.rows_of_tokenizer_json import TOKENIZER_JSON
from errors.rows_of_training import PATTERN, TRAINING
from errors.rows_of_types import LENGTHS, TYPES
from errors.rows_of_use import ARGUMENTS, IDS, TEXTS
from errors.rows_of_vocab_sizes import VOCAB_SIZES

ROOT = Path(__file__).resolve().parent.parent.parent

TABLE: list[Row] = [
    *TRAINING,
    *PATTERN,
    *FILES,
    *FORMAT,
    *TOKENIZER_JSON,
    *FORMATS,
    *TEXTS,
    *IDS,
    *MANIFEST,
    *ARGUMENTS,
    *TYPES,
    *LENGTHS,
    *HOOKS,
    *COMPAT,
    *CHAT,
    *BATCHES,
    *BUDGETS,
    *REPORTS,
    *VOCAB_SIZES,
    *DIFFERENCE,
    *CHECKPOINTS,
]


def attributes(error: BaseException, folder: Path) -> dict[str, object]:
    found = {name: getattr(error, name, "absent") for name in dir(error) if not name.startswith("_")}
    path = found.get("path")
    if isinstance(path, str):
        found["path"] = Path(os.path.relpath(path, folder)).as_posix()
    return found


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_bad_input_is_a_typed_error_that_names_what_and_where(row: Row, native: Any, tmp_path: Path) -> None:
    with pytest.raises(row.error) as caught:
        row.run(native, tmp_path)
    error = caught.value
    assert type(error) is row.error or not issubclass(row.error, errors.TokenmillError)
    found = attributes(error, tmp_path)
    assert {name: found.get(name, "absent") for name in row.facts} == row.facts
    assert row.says in str(error)
    if isinstance(error, errors.TokenmillError):
        assert isinstance(error, ValueError)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
        # Every attribute that the class promises is there.
        assert set(inspect.get_annotations(type(error))) == set(vars(error))
    assert not list(tmp_path.rglob("*.tmp"))


def test_names_of_rows_are_unique() -> None:
    names = [row.name for row in TABLE]
    assert len(set(names)) == len(names)


SEPARATE = {"TokenmillError", "MissingExtraError", "InternalError"}


def test_every_error_class_occurs_in_the_table() -> None:
    """The root is never raised; the two others have tests of their own below."""
    caused = {row.error.__name__ for row in TABLE}
    assert set(errors.__all__) - SEPARATE - caused == set()


def test_every_kind_of_defect_occurs_in_the_table() -> None:
    source = (ROOT / "crates/core/src/error/defect.rs").read_text(encoding="utf-8")
    words = set(re.findall(r'Self::\w+ => "([a-z0-9-]+)"', source))
    caused = {row.facts.get("kind") for row in TABLE if row.error is errors.FormatError}
    assert len(words) > 10
    assert words - caused == set()


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_but_the_internal_one_is_a_value_error(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.TokenmillError)
    assert issubclass(kind, ValueError) == (name not in ("InternalError", "TokenmillError"))


@pytest.mark.parametrize("name", errors.__all__)
def test_attributes_survive_pickling(name: str) -> None:
    facts = {"path": "p", "field": "f", "token": "t", "position": 3, "note": [1]}
    error = getattr(errors, name)("what, where, what next", **facts)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), facts)


# ---- extras that are missing ------------------------------------------------------------------


def test_a_bar_without_rich_says_what_to_install(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(errors.MissingExtraError, match=r"tokenmill\[cli\]") as caught:
        native.train(texts=["a"], num_merges=1, progress=True)
    assert caught.value.extra == "cli"


def test_arrow_without_pyarrow_says_what_to_install(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.MissingExtraError, match=r"tokenmill\[arrow\]") as caught:
        native.Ragged([1], [0, 1]).to_arrow()
    assert caught.value.extra == "arrow"
