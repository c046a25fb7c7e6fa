"""The splitters of other libraries: no chunk over its limit after stripping, and with metadata."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill.errors import BudgetError

SCRIPTS = ["english", "cjk", "multilingual"]


@pytest.fixture(scope="module")
def tok(data: Path) -> Any:
    return tokenmill.load(data / "vocab" / "cl100k_base")


@pytest.fixture(scope="module")
def splitter_of() -> Any:
    pytest.importorskip("langchain_text_splitters")
    return import_module("tokenmill.compat.langchain").TextSplitter


@pytest.mark.parametrize("script", SCRIPTS)
def test_langchain(tok: Any, splitter_of: Any, corpus: Callable[[str], str], script: str) -> None:
    text = corpus(script)[:20_000]
    for size, overlap, at in ((64, 0, "word"), (33, 8, "sentence"), (7, 3, "character")):
        splitter = splitter_of(tok, size, overlap, at=at, add_start_index=True)
        documents = splitter.create_documents([text, "  \n "], [{"source": "a"}, {"source": "b"}])
        assert [document.page_content for document in documents] == splitter.split_text(text)
        start = -1
        for document in documents:
            content, index = document.page_content, document.metadata["start_index"]
            assert document.metadata["source"] == "a"
            assert tok.count(content) <= size
            assert content == content.strip() != ""
            assert text[index : index + len(content)] == content
            assert index > start or overlap > 0
            start = index
        if overlap == 0:
            joined = "".join(document.page_content for document in documents)
            assert "".join(joined.split()) == "".join(text.split())
        whole = splitter_of(tok, size, overlap, at=at, strip_whitespace=False)
        assert whole.split_text(text) == tok.chunk(text, size, overlap=overlap, at=at).texts()


def test_what_langchain_promises_of_a_splitter(tok: Any, splitter_of: Any) -> None:
    document = import_module("langchain_core.documents").Document
    splitter = splitter_of(tok, 3)
    assert splitter.split_text("") == splitter.split_text("  ") == []
    kept = {"source": {"page": 1}}
    one, two = splitter.create_documents(["foo bar baz qux quux", "x"], [kept, {}])[:2]
    one.metadata["source"]["page"] = 2
    assert (two.metadata, kept) == ({"source": {"page": 1}}, {"source": {"page": 1}})
    parts = splitter.split_documents([document(page_content="foo bar baz qux", metadata={"source": "1"})])
    assert {part.metadata["source"] for part in parts} == {"1"}
    assert splitter.transform_documents([document(page_content="foo")])[0].page_content == "foo"
    for wrong in ((0, 0), (4, 5), (4, -1), (4, 4)):
        with pytest.raises(ValueError, match="chunk"):
            splitter_of(tok, *wrong)
    with pytest.raises(BudgetError):
        splitter_of(tok, 1).split_text("🦊")


def test_stripping_may_cost_an_id(splitter_of: Any) -> None:
    """A word has one token with the space before it, and three without."""
    tokens = [*(bytes([value]) for value in range(256)), b" a", b" ab", b" abc"]
    tok = tokenmill.Tokenizer.from_tokens(tokens, split="none")
    text = "abc abc abc abc"
    assert tok.chunk(text, 2, at="word").texts() != []
    for size in (2, 3, 4):
        splitter = splitter_of(tok, size, at="word", add_start_index=True)
        for document in splitter.create_documents([text]):
            assert tok.count(document.page_content) <= size
            index = document.metadata["start_index"]
            assert text[index:].startswith(document.page_content)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_llama_index(tok: Any, corpus: Callable[[str], str], script: str) -> None:
    pytest.importorskip("llama_index.core")
    parser_of = import_module("tokenmill.compat.llama_index").NodeParser
    schema = import_module("llama_index.core.schema")
    text = corpus(script)[:20_000]
    parser = parser_of(tok, chunk_size=100, chunk_overlap=10, at="sentence")
    document = schema.Document(text=text, metadata={"title": "A long title of a document", "page": 3})
    nodes = parser.get_nodes_from_documents([document])
    assert len(nodes) > 20
    for node in nodes:
        assert tok.count(node.get_content(metadata_mode=schema.MetadataMode.ALL)) <= 100
        assert text[node.start_char_idx : node.end_char_idx] == node.get_content()
    assert parser.split_text("") == []
    large = schema.Document(text=text, metadata={"title": "long " * 200})
    with pytest.raises((BudgetError, ValueError)):
        parser.get_nodes_from_documents([large])
