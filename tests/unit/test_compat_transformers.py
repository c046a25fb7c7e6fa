"""`tokenmill.compat.transformers` where transformers is not installed."""

from __future__ import annotations

import sys
from typing import Any

import pytest


def test_a_library_that_is_not_installed_is_named(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokenmill.compat.transformers import attach, tokenizer_object

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    tok = native.train(texts=["ab ab"], num_merges=1)
    for call in (attach, tokenizer_object):
        with pytest.raises(native.MissingExtraError, match=r"tokenmill\[transformers\]") as caught:
            call(tok)
        assert caught.value.extra == "transformers"
