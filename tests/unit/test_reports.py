"""What `tokenmill.report` measures, and its page without a browser; slow tests open it in one."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import tokenmill
from tokenmill._report.declaration import declaration
from tokenmill._report.measures import renyi_efficiency
from tokenmill._report.vocabulary import kind_of

pytestmark = pytest.mark.usefixtures("native")

HOSTILE = "<script>alert(1)</script>\u202e\u05d0\u200f\x00\x07&amp;\"'"
TEXTS = {
    "English": ["the miller grinds corn", "a mill by the river"],
    "Русский": ["мельник мелет зерно", "мельница у реки"],
    HOSTILE: [HOSTILE, "<b>bold</b> text"],
}


@pytest.fixture(scope="module")
def toks() -> dict[str, tokenmill.Tokenizer]:
    first = tokenmill.train(
        texts=[*TEXTS["English"] * 3, HOSTILE * 9], vocab_size=300, special_tokens=["<s>"]
    )
    second = tokenmill.train(texts=TEXTS["Русский"] * 5, model="wordpiece", num_merges=20, unk_token="[UNK]")
    return {HOSTILE: first, "words": second}


@pytest.fixture(scope="module")
def made(toks: dict[str, tokenmill.Tokenizer]) -> tokenmill.Report:
    return tokenmill.report(toks, TEXTS, parallel=True, words=["the miller", HOSTILE])


@pytest.fixture(scope="module")
def page(made: tokenmill.Report) -> str:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")
    return made.html


# ---- numbers ----------------------------------------------------------------------------------


def test_measures_are_those_of_a_plain_count(made: tokenmill.Report, toks: dict[str, Any]) -> None:
    for own, tok in zip(made.to_dict()["tokenizers"], toks.values(), strict=True):
        for row, texts in zip(own["rows"], TEXTS.values(), strict=True):
            ids = [id for text in texts for id in tok.encode(text)]
            reference = sum(len(tok.encode(text)) for text in TEXTS["English"])
            partial = 0
            for id in ids:
                try:
                    tok.token_bytes(id).decode()
                except UnicodeDecodeError:
                    partial += 1
            assert row["tokens"] == len(ids)
            assert row["bytes_per_token"] == len("".join(texts).encode()) / len(ids)
            assert row["tokens_per_word"] == len(ids) / sum(len(text.split()) for text in texts)
            assert row["tokens_per_character"] == len(ids) / len("".join(texts))
            assert (row["byte_tokens"], row["byte_token_rate"]) == (partial, partial / len(ids))
            assert row["premium"] == len(ids) / reference
            assert row["unknown"] == (ids.count(tok.unk_token_id) if tok.unk_token_id is not None else 0)
            lengths = sorted(len(tok.encode(text)) for text in texts)
            assert row["text_lengths"] == dict(
                zip(("shortest", "median", "longest"), (lengths[0], lengths[0], lengths[1]), strict=True)
            )


def test_use_of_the_vocabulary(made: tokenmill.Report, toks: dict[str, Any]) -> None:
    for own, tok in zip(made.to_dict()["tokenizers"], toks.values(), strict=True):
        counts = Counter(id for texts in TEXTS.values() for text in texts for id in tok.encode(text))
        special = set(tok.special_tokens.values())
        ordinary = set(tok.vocab.values()) - special
        assert own["ordinary_tokens"] == len(ordinary)
        assert own["never_used"] == len(ordinary - set(counts))
        expected = sorted((id for id in counts if id in ordinary), key=lambda id: (-counts[id], id))[:30]
        assert [(row["id"], row["count"]) for row in own["most_used"]] == [
            (id, counts[id]) for id in expected
        ]
        assert sum(own["vocabulary"].values()) == len(set(tok.vocab.values()))
        assert sum(own["lengths"]["vocabulary"]) == len(ordinary)
        assert sum(own["lengths"]["texts"]) == sum(counts[id] for id in ordinary)


def test_parity_is_that_of_the_definition(made: tokenmill.Report) -> None:
    for own in made.to_dict()["tokenizers"]:
        counts = [row["tokens"] for row in own["rows"]]
        mean = sum(counts) / len(counts)
        apart = sum(abs(a - b) for a in counts for b in counts) / (2 * len(counts) ** 2 * mean)
        assert own["parity"]["gini"] == pytest.approx(apart)
        assert own["parity"]["largest_over_smallest"] == max(counts) / min(counts)
        others = [row["premium"] for row in own["rows"][1:]]
        assert own["parity"]["median_premium"] == pytest.approx(sum(others) / 2)


def test_renyi_efficiency() -> None:
    assert renyi_efficiency([3] * 8, 8) == pytest.approx(1)
    assert renyi_efficiency([5, 0, 0, 0], 4) == pytest.approx(0)
    expected = math.log(0.75**2.5 + 0.25**2.5) / -1.5 / math.log(4)
    assert renyi_efficiency([3, 1, 0, 0], 4) == pytest.approx(expected)
    assert renyi_efficiency([], 4) is renyi_efficiency([1], 1) is None


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (b" the", "Latin"),
        ("ﬁ".encode(), "Latin"),
        ("Ａ".encode(), "Latin"),
        ("мир".encode(), "Cyrillic"),
        ("世界".encode(), "Han"),
        ("ﾃｽﾄ".encode(), "Katakana"),
        ("食べ".encode(), "Japanese"),
        ("aя".encode(), "several scripts"),
        ("हिन्दी".encode(), "Devanagari"),
        (b"\xe4\xb8", "parts of characters"),
        (b" \n", "white space"),
        (b" 1,000", "digits"),
        ("٣".encode(), "digits"),
        (b"->", "punctuation and symbols"),
        (b"\x00\x07", "control characters"),
    ],
)
def test_kinds_of_tokens(token: bytes, kind: str) -> None:
    assert kind_of(token) == kind


def test_curve_and_why_there_is_none(made: tokenmill.Report, toks: dict[str, Any]) -> None:
    cut, whole = made.to_dict()["tokenizers"]
    sizes = [size for size, _ in cut["curve"]["points"]]
    assert sizes == [300]
    assert whole["curve"]["points"] == []
    assert "byte-pair" in whole["curve"]["reason"]
    tok = tokenmill.train(texts=TEXTS["English"] * 9, vocab_size=520, split="none")
    (own,) = tokenmill.report([tok], TEXTS).to_dict()["tokenizers"]
    every = [text for texts in TEXTS.values() for text in texts]
    assert 256 < len(tok) < 512  # of powers of two, only 256 is below
    found = tokenmill.compare_vocab_sizes(tok, every, [256, len(tok)])
    assert own["curve"]["points"] == [[row.size, row.bytes_per_token] for row in found]


def test_steps_of_a_word_end_in_its_tokens(made: tokenmill.Report, toks: dict[str, Any]) -> None:
    tok = toks[HOSTILE]
    (pretokens, _), _ = (own["words"] for own in made.to_dict()["tokenizers"])
    assert [part["id"] for own in pretokens for part in own["tokens"]] == tok.encode("the miller")
    for own in pretokens:
        assert len(own["steps"][0]["symbols"]) == len(own["text"])
        assert own["steps"][-1]["symbols"] == [part["shown"] for part in own["tokens"]]
        for before, after in zip(own["steps"], own["steps"][1:], strict=False):
            assert len(after["symbols"]) == len(before["symbols"]) - 1
            assert "".join(after["symbols"]) == "".join(before["symbols"])


def test_samples_have_every_id(made: tokenmill.Report, toks: dict[str, Any]) -> None:
    for sample in made.to_dict()["samples"]:
        for tok, tokens in zip(toks.values(), sample["tokens"], strict=True):
            assert [own["id"] for own in tokens] == tok.encode(sample["text"])


def test_numbers_are_plain_and_the_callers_own(made: tokenmill.Report) -> None:
    first = made.to_dict()
    assert json.loads(json.dumps(first)) == first
    first["tokenizers"].clear()
    assert len(made.to_dict()["tokenizers"]) == 2
    assert "words" in str(made)
    assert repr(made).startswith("Report(")


def test_the_declaration_is_parallel() -> None:
    languages = declaration()
    assert len(languages) == 30
    assert {len(articles) for articles in languages.values()} == {30}
    every = [text for own in languages.values() for text in own]
    assert all(text == text.strip() and len(text) > 15 for text in every)
    # Marks that join characters belong to some scripts.
    assert {char for text in every for char in text if not char.isprintable()} <= {
        *"\n\u200c\u200d\u200b\u00a0"
    }
    assert languages["English"][2] == "Everyone has the right to life, liberty and the security of person."


def test_without_texts_languages_and_domains_are_measured(toks: dict[str, Any]) -> None:
    found = tokenmill.report(toks[HOSTILE], reference="French", words=[]).to_dict()
    assert found["texts"]["parallel"] == list(declaration())
    assert found["texts"]["names"][30:] == ["Python code", "JSON", "Numbers"]
    premiums = {row["name"]: row["premium"] for row in found["tokenizers"][0]["rows"]}
    assert premiums["French"] == 1
    assert premiums["JSON"] is None


# ---- the page ---------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page: none is left open."""

    VOID = ("meta", "link", "br", "input")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "srcset"):
                self.links.append(value)
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    reader = Elements()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_asks_nobody(page: str, elements: Elements) -> None:
    assert {link for link in elements.links if not link.startswith(("#", "data:,"))} == set()
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", page)
    assert elements.handlers == []


def test_links_within_the_page_lead_somewhere(elements: Elements) -> None:
    assert len(set(elements.ids)) == len(elements.ids)
    assert {link[1:] for link in elements.links if link.startswith("#")} <= set(elements.ids)
    assert {"summary", "texts", "vocabulary", "sizes", "used", "samples", "merges", "terms"} <= {
        *elements.ids
    }


def test_hostile_names_and_tokens_are_shown_escaped(page: str, elements: Elements) -> None:
    assert elements.tags["script"] == 1
    assert elements.tags["b"] == 0
    assert not {char for char in page if not char.isprintable()} - {"\n"}
    assert "<script>alert(1)</script>\\u202e" in elements.text
    assert "\\x00" in elements.text


def test_equal_reports_are_equal_bytes(page: str, toks: dict[str, Any], tmp_path: Path) -> None:
    again = tokenmill.report(toks, TEXTS, parallel=True, words=["the miller", HOSTILE], num_threads=1)
    again.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == page.encode()


def test_figures_of_the_summary_are_on_the_page(
    page: str, made: tokenmill.Report, elements: Elements
) -> None:
    for own in made.to_dict()["tokenizers"]:
        assert f"{own['total']['bytes_per_token']:.2f}" in elements.text
        assert f"{own['renyi_efficiency']:.2f}" in elements.text
    assert elements.tags["svg"] >= 8
    assert len(page.encode()) < 1_000_000


def test_colours_follow_the_page(page: str) -> None:
    plots = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert all("var(--" in plot and "currentColor" in plot for plot in plots)
    assert not [plot for plot in plots if re.search(r"#0[0-9a-f]{5}\b", plot)]


def test_missing_matplotlib_is_said(made: tokenmill.Report, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    fresh = tokenmill.Report(made.to_dict())
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(tokenmill.MissingExtraError, match=r'"tokenmill\[report\]"') as caught:
        _ = fresh.html
    assert caught.value.extra == "report"
