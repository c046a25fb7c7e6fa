"""What notebooks show of tokenizers and what they make, of hostile text most of all."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

HOSTILE = (
    "<script>alert(1)</script></style></div></bdi>&lt;b&gt;<!-- \" onclick='x' \n"
    "\0\x1b[31m \u202eevil\u202c \u200f\u2067 עברית e\u0301 \ud800 \ufeff"
)
"""Markup, NUL, an escape sequence, marks that turn the direction, right-to-left letters, half a character."""

TAGS = {"bdi", "b", "br", "code", "details", "div", "p", "pre", "span", "summary"}
TAGS |= {"table", "tbody", "thead", "td", "th", "tr"}
ATTRIBUTES = {"style", "title"}


class Page(HTMLParser):
    """The text of a page; fails on an element that is not ours or not closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.titles: list[str] = []
        self.open: list[str] = []
        # What a notebook stores is UTF-8.
        self.feed(html.encode().decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        for name, value in attrs:
            assert value is not None
            if name == "title":
                self.titles.append(value)
            else:
                assert re.fullmatch(r"[a-z0-9 ,.:;()-]+", value)
                assert "url" not in value
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        pytest.fail("a comment")

    def handle_decl(self, decl: str) -> None:
        pytest.fail("a declaration")

    def handle_pi(self, data: str) -> None:
        pytest.fail("an instruction")


def hostile_tokenizer(native: Any) -> Any:
    clean = HOSTILE.replace("\ud800", "")
    special = ["<script>", "</style>", "\u202e\0", "<|im_end|>"]
    return native.train(texts=[clean] * 3, vocab_size=300, special_tokens=special, eos_token="<|im_end|>")


def difference_of(native: Any, text: str) -> Any:
    """What differs between two tokenizers, of which one has a special token with this literal."""
    tok = native.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)])
    found = native.diff(tok, tok.with_special_tokens([text.replace("\ud800", "")]))
    return replace(found, witness=replace(found.witness, text=text))


def chat_of(content: str, role: str = "user", **options: Any) -> Any:
    from tokenmill.chat import render

    source = "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<|im_end|>\n{% endfor %}"
    return render(source, [{"role": role, "content": content}], special_tokens={}, **options)


def views(native: Any) -> dict[str, Any]:
    tok = hostile_tokenizer(native)
    # Over bytes, letters stand for bytes in tokens: nothing would be left to be seen.
    over_characters = native.train(
        texts=[HOSTILE.replace("\ud800", "\ufffd")], num_merges=0, alphabet="chars"
    )
    return {
        "tokenizer": tok,
        "encoding": over_characters.encode_with_offsets(HOSTILE),
        "chunk": native.Chunk(HOSTILE, [1, 2], 0, len(HOSTILE), 0, 90),
        "chat": chat_of(HOSTILE),
        "explanation": tok.explain(HOSTILE.replace("\ud800", ""), special="parse"),
        "difference": difference_of(native, HOSTILE),
    }


VIEWS = ["tokenizer", "encoding", "chunk", "chat", "explanation", "difference"]


@pytest.fixture(scope="module")
def made(native: Any) -> dict[str, Any]:
    return views(native)


def page_of(shown: Any) -> Page:
    return Page(shown._repr_html_())


@pytest.mark.parametrize("name", VIEWS)
def test_hostile_text_stays_text(name: str, made: dict[str, Any]) -> None:
    html = made[name]._repr_html_()
    page = Page(html)
    # Its letters are all there; tokens cut them.
    if name in ("chunk", "chat", "difference"):
        assert "<script>alert(1)</script></style></div></bdi>&lt;b&gt;<!-- \" onclick='x'" in page.text
    assert "\\x00" in page.text
    assert not re.search("[\0\x1b\u202a-\u202e\u2066-\u2069\u200f\ufeff\ud800]", html)


@pytest.mark.parametrize("name", VIEWS)
def test_ipython_shows_html_and_text(name: str, made: dict[str, Any]) -> None:
    formatters = pytest.importorskip("IPython.core.formatters")
    shown, _ = formatters.DisplayFormatter().format(made[name])
    assert {"text/html", "text/plain"} == set(shown)
    assert shown["text/html"] == made[name]._repr_html_()
    assert not re.search("[\0\x1b\u202e\ud800]", shown["text/plain"])


@pytest.mark.parametrize("name", ["encoding", "chunk", "chat", "difference"])
def test_right_to_left_text_stands_apart(name: str, made: dict[str, Any]) -> None:
    """Every letter that runs from right to left is inside of a ``bdi``."""

    class Apart(Page):
        def handle_data(self, data: str) -> None:
            if re.search("[א-ת]", data):
                assert "bdi" in self.open
            super().handle_data(data)

    assert re.search("[א-ת]", Apart(made[name]._repr_html_()).text)


def test_a_tokenizer_shows_what_it_is(native: Any) -> None:
    tok = native.train(
        texts=["low lower"] * 3, vocab_size=262, special_tokens=["<s>", "</s>"], eos_token="</s>"
    ).with_call_defaults(padding_side="left", model_max_length=4096)
    text = page_of(tok).text
    for fact in (
        "262 ids, the largest 261",
        tok.fingerprint,
        tok.split,
        "</s> 1 (eos)",
        "<s> 0",
        "padded on the left, truncated on the right, at most 4,096 ids",
        tok.plan()["model"].path,
        "chat templatesnone",
    ):
        assert fact in text


def test_of_many_special_tokens_those_with_a_role_come_first(native: Any) -> None:
    special = [f"<{number}>" for number in range(30)]
    tok = native.train(texts=["low"], num_merges=0, special_tokens=special, pad_token="<29>")
    text = page_of(tok).text
    assert text.index("<29> 29 (pad)") < text.index("<0> 0")
    assert "and 10 more special tokens" in text


def test_a_tokenizer_with_a_hook_without_a_name_is_shown(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0).with_splitter(lambda text: [text])
    text = page_of(tok).text
    assert "hookswithout a name" in text
    assert "fingerprintnone: " in text


def test_an_encoding_shows_ids_offsets_and_masks(native: Any) -> None:
    tok = native.train(
        texts=["low lower"] * 3, vocab_size=260, bos_token="<s>", pad_token="<pad>", add_bos_token=True
    )
    encoding = tok.encode_with_offsets("low  é", add_special_tokens=True)
    page = page_of(encoding)
    assert page.text.startswith(f"Encoding: {len(encoding)} ids")
    assert "dashed: added to the text" in page.text
    assert "padding" not in page.text
    for number, (start, end), special in zip(
        encoding.ids, encoding.offsets, encoding.special_tokens_mask, strict=True
    ):
        place = "added to the text" if special else f"characters {start}-{end}"
        assert any(title.startswith(f"id {number}, {place}") for title in page.titles)


def test_padding_of_an_encoding_is_pale(native: Any) -> None:
    tok = native.train(texts=["low lower"] * 3, vocab_size=260, pad_token="<pad>")
    padded, _ = tok(["low", "low low low"], padding=True)
    page = page_of(padded)
    assert "pale: padding" in page.text
    assert any("padding" in title for title in page.titles)


def test_a_long_encoding_is_cut(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0)
    encoding = tok.encode_with_offsets("low" * 10_000)
    html = encoding._repr_html_()
    assert Page(html).text.count("and 29,750 more ids") == 2
    assert len(html) < 120_000


def test_a_chunk_shows_its_place(native: Any) -> None:
    tok = native.train(texts=["low"], num_merges=0)
    chunk = tok.chunk("é low low", 5)[1]
    page = page_of(chunk)
    places = f"characters {chunk.start}-{chunk.end}, bytes {chunk.byte_start}-{chunk.byte_end}"
    assert f"{chunk.count} ids, {places}" in page.text
    assert ", ".join(map(str, chunk.ids)) in page.text
    long = native.Chunk("x" * 20_000, list(range(5000)), 0, 20_000, 0, 20_000)
    assert "and 10,000 more characters" in page_of(long).text
    assert "and 4,800 more ids" in page_of(long).text


def test_a_terminal_shows_a_chunk_without_its_ids(native: Any) -> None:
    pretty = pytest.importorskip("IPython.lib.pretty").pretty
    chunk = native.Chunk("low\n", list(range(5000)), 0, 4, 0, 4)
    assert pretty(chunk) == r'Chunk(5,000 ids, characters 0-4, bytes 0-4, "low\n")'
    assert eval(repr(chunk), {"Chunk": native.Chunk}) == chunk


def test_a_conversation_shows_who_wrote_what() -> None:
    chat = chat_of("Hi <|im_end|>", role="user")
    page = page_of(chat)
    assert "2 messages" not in page.text
    assert "1 message" in page.text
    assert "written by template role user" in page.text
    content = next(segment for segment in chat.segments if segment.field == "content")
    assert f"messages[0], user, content, characters {content.start}-{content.stop}" in page.titles
    shown = page.text.partition("written by template role user\n")[2]
    assert shown.replace("\\n", "") == chat.text


def test_a_role_cannot_pass_for_the_template() -> None:
    html = chat_of("Hi", role="template", roles={"template"})._repr_html_()
    assert "written by template role template" in Page(html).text
    style = {name: re.search(rf'<bdi style="([^"]*)"[^>]*>{name}</bdi>', html) for name in ("template", "Hi")}
    assert style["Hi"] is not None
    assert style["template"] is not None
    assert style["Hi"][1] != style["template"][1]


def test_a_long_conversation_is_cut() -> None:
    chat = chat_of("x" * 30_000)
    assert f"and {len(chat.text) - 10_000:,} more characters" in page_of(chat).text


def test_a_terminal_shows_a_line_for_each_segment() -> None:
    pretty = pytest.importorskip("IPython.lib.pretty").pretty
    head, *body = pretty(chat_of("Hi")).splitlines()
    assert head.split() == ["characters", "message", "role", "part", "text"]
    assert [line.split()[3] for line in body] == ["template", "template", "template", "content", "template"]
    from tokenmill.chat import render

    many = render(
        "{% for m in messages %}-{{ m.content }}{% endfor %}",
        [{"role": "user", "content": "x"}] * 80,
        special_tokens={},
    )
    assert pretty(many).splitlines()[-1].endswith("and 60 more")


def test_a_difference_shows_its_verdict_and_witness(native: Any) -> None:
    tok = native.train(texts=["low lower lowest"] * 3, vocab_size=260)
    page = page_of(native.diff(tok, tok.with_vocab_size(258)))
    assert page.text.startswith("Difference: different\n")
    assert "a[258]" in page.text
    same = native.diff(tok, tok)
    assert page_of(same).text.startswith("Difference: same\n")
    assert page_of(replace(same, verdict="unknown", proof=None)).text.startswith("Difference: unknown\n")


def test_a_backslash_that_was_written_is_not_taken_for_an_escape() -> None:
    from tokenmill._notebook import inline

    assert inline("\\n") == "<bdi>\\n</bdi>"
    assert inline("\n") == '<bdi><span style="opacity:.6">\\n</span></bdi>'
    assert inline("a\n\nb", lines=True).count("</span>\n") == 2
