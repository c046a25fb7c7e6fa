"""`extend_chat`: ids are kept as a model wrote them; `first_drift`, `is_canonical`."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenmill
from tokenmill.errors import TemplateError

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "low?"},
    {"role": "assistant", "content": "lower lowest"},
]
MORE = [{"role": "user", "content": "widest?"}]
PLAIN = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
#: Leaves the thoughts of earlier turns out, as templates of reasoning models do.
FORGETS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.thinking and loop.last %}<think>{{ m.thinking }}</think>{% endif %}{{ m.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def tok() -> tokenmill.Tokenizer:
    texts = ["low lower lowest newest widest", "Be brief. user: assistant:"] * 20
    plain = tokenmill.train(texts=texts, num_merges=60, special_tokens=["<|im_start|>", "<|im_end|>"])
    return plain.with_chat_template("chatml")


def prompt(tok: tokenmill.Tokenizer, messages: Any = CHAT[:-1], **options: Any) -> list[int]:
    ids: list[int] = tok.apply_chat_template(messages, add_generation_prompt=True, **options)["input_ids"]
    return ids


def anew(tok: tokenmill.Tokenizer, **options: Any) -> Any:
    return tok.apply_chat_template([*CHAT, *MORE], add_generation_prompt=True, **options)


def test_ids_of_the_whole_text_go_on_as_it_does(tok: tokenmill.Tokenizer) -> None:
    ids = tok.apply_chat_template(CHAT)["input_ids"]
    more = tok.extend_chat(ids, CHAT, MORE)
    assert (more.seam, more.kept) == ("canonical", len(ids))
    assert more == anew(tok)
    assert more.text == anew(tok).text
    assert more.offsets.tolist() == anew(tok).offsets.tolist()


@pytest.mark.parametrize("with_end", [True, False])
def test_what_a_model_wrote_is_kept(tok: tokenmill.Tokenizer, with_end: bool) -> None:
    # Byte by byte: nothing that `encode` would give.
    answer = [tok.token_to_id(char) or 0 for char in "lower"] + tok.encode(" lowest")
    ids = prompt(tok) + answer + ([tok.special_tokens["<|im_end|>"]] if with_end else [])
    more = tok.extend_chat(ids, CHAT, MORE)
    whole = anew(tok)
    assert more.seam == "border"
    assert more.kept == len(ids)
    assert more["input_ids"][: len(ids)] == ids
    assert more.text == whole.text == tok.decode(more["input_ids"])
    tail = more["input_ids"][len(ids) :]
    assert tail == whole["input_ids"][-len(tail) :]
    assert more.offsets.shape == (len(more["input_ids"]), 2)
    assert more.offsets[-len(tail) :].tolist() == whole.offsets[-len(tail) :].tolist()
    assert "".join(more.text[start:stop] for start, stop in more.offsets.tolist()) == more.text


def test_a_seam_within_a_token_is_encoded_alone(tok: tokenmill.Tokenizer) -> None:
    # The ids end in the middle of a word that is one token.
    chat, whole = [{"role": "user", "content": "lowest"}], "user: lowest"
    ids = tok.encode("user: lo")
    assert len(tok.encode(" lowest")) == 1
    more = tok.extend_chat(ids, chat, MORE, template=PLAIN)
    assert more.seam == "alone"
    assert more["input_ids"][: len(ids)] == ids
    assert tok.decode(more["input_ids"]) == more.text
    assert more.text.startswith(whole)
    assert more["input_ids"][len(ids) :] == tok.encode(more.text[len("user: lo") :])
    assert "".join(more.text[start:stop] for start, stop in more.offsets.tolist()) == more.text


def test_a_template_that_rewrites_is_refused_by_turn(tok: tokenmill.Tokenizer) -> None:
    thought = [*CHAT[:-1], {**CHAT[-1], "thinking": "hm"}]
    ids = tok.apply_chat_template(thought, template=FORGETS)["input_ids"]
    with pytest.raises(
        TemplateError, match=r"messages\[2\] reads otherwise.*'<think>hm</think>.*on_rewrite="
    ) as caught:
        tok.extend_chat(ids, thought, MORE, template=FORGETS)
    assert caught.value.template == "given"
    more = tok.extend_chat(ids, thought, MORE, template=FORGETS, on_rewrite="keep")
    rest = tok.decode(more["input_ids"][len(ids) :])
    assert more["input_ids"][: len(ids)] == ids
    assert tok.decode(ids).endswith("<|im_end|>\n")
    assert rest == "<|im_start|>user\nwidest?<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("with_end", [True, False])
def test_a_turn_that_is_kept_is_closed(tok: tokenmill.Tokenizer, with_end: bool) -> None:
    thought = [*CHAT[:-1], {**CHAT[-1], "thinking": "hm"}]
    end = [tok.special_tokens["<|im_end|>"]] if with_end else []
    ids = prompt(tok, template=FORGETS) + tok.encode("<think>hm</think>lower lowest") + end
    more = tok.extend_chat(ids, thought, MORE, template=FORGETS, on_rewrite="keep")
    written = tok.decode(more["input_ids"])
    assert written.count("lower lowest<|im_end|>\n<|im_start|>user\nwidest?<|im_end|>") == 1
    assert "<think>hm</think>lower" in written


def test_what_is_new_is_no_control_token(tok: tokenmill.Tokenizer) -> None:
    ids = tok.apply_chat_template(CHAT)["input_ids"]
    for new in ("a<|im_end|>b", "<|im_"):
        more = tok.extend_chat(ids, CHAT, [{"role": "user", "content": new}])
        tail = more["input_ids"][len(ids) :]
        assert tail.count(tok.special_tokens["<|im_end|>"]) == 1


def test_arguments_that_are_wrong(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"on_rewrite='drop' is none of"):
        tok.extend_chat([], CHAT, MORE, on_rewrite="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"100000"):
        tok.extend_chat([100_000], CHAT, MORE)


def test_drift(tok: tokenmill.Tokenizer) -> None:
    ids = tok.apply_chat_template(CHAT)["input_ids"]
    assert tok.first_drift(ids) is None
    assert tok.is_canonical(ids)
    spelled = [tok.token_to_id(char) or 0 for char in "lower"]
    assert tok.first_drift([*tok.encode("low"), *spelled]) is not None
    start = prompt(tok)
    assert tok.first_drift([*start, *spelled]) == len(start)
    assert not tok.is_canonical([*start, *spelled])
    assert tok.first_drift([]) is None
    # Text between added tokens stays text: it has no literal in it.
    assert tok.is_canonical([*tok.encode("a<|im_end|>b")])


def test_ids_that_encode_gives_are_canonical(tok: tokenmill.Tokenizer) -> None:
    random.seed(1)
    words = ["low", "lower", " ", "\n", "é", "<|im_end|>", "日本", "Be", "  "]
    for _ in range(200):
        text = "".join(random.choices(words, k=8))
        for special in ("text", "parse"):
            assert tok.first_drift(tok.encode(text, special=special)) is None, text


def test_ids_are_integers(tok: tokenmill.Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"ids\[1\] is an integer, not float"):
        tok.extend_chat([1, 1.7], CHAT, MORE)  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"ids\[0\] is an integer, not float"):
        tok.first_drift([1.0])  # type: ignore[list-item]
    ids = np.array(prompt(tok))
    assert tok.first_drift(ids) is None
    assert tok.extend_chat(ids, CHAT, MORE) == tok.extend_chat(ids.tolist(), CHAT, MORE)


def test_ids_that_end_within_a_control_token(tok: tokenmill.Tokenizer) -> None:
    spelled = prompt(tok) + tok.encode("lower lowest") + [tok.token_to_id(char) or 0 for char in "<|im"]
    with pytest.raises(TemplateError, match=r"messages\[2\].*end within '<\|im_end\|>', a control token"):
        tok.extend_chat(spelled, CHAT, MORE)


# ---- tokenizers of models ---------------------------------------------------------------------------

#: Tokenizers and the templates to render with: in some formats bytes are tokens, spaces are dropped.
PAIRS = (
    ("llama2", "llama2"),
    ("llama2", "llama-cpp-rwkv-world"),
    ("phi-3-mini", "cfg-phi-3-mini"),
    ("mistral-7b-v0.3", "mistral-7b-v0.3"),
    ("qwen2.5", "chatml"),
    ("t5-small", "chatml"),
    ("bert-base-uncased", "chatml"),
)
NAMES = (
    "llama2",
    "phi-3-mini",
    "mistral-7b-v0.3",
    "qwen2.5",
    "gpt2",
    "t5-small",
    "bert-base-uncased",
    "llama3.1",
)
ANSWERS = ("Hello world 😀", "low\n\nlower\n", "日本 é", " lowest", "x.", "😀")


@cache
def model(data: Path, name: str, template: str | None = None) -> tokenmill.Tokenizer:
    tok = tokenmill.load(data / "vocab" / name)
    if template is None:
        return tok
    file = data / "templates" / f"{template}.jinja"
    return tok.with_chat_template(file.read_text("utf-8") if file.exists() else template)


def respelled(tok: tokenmill.Tokenizer, ids: list[int]) -> list[int] | None:
    """The ids with one token in two, where they decode alike."""
    text = tok.decode(ids)
    added = frozenset(tok.added_tokens.values())
    for at in range(len(ids) - 1, -1, -1):
        token = tok.id_to_token(ids[at]) or ""
        for cut in range(1, len(token) if ids[at] not in added else 0):
            one, other = tok.token_to_id(token[:cut]), tok.token_to_id(token[cut:])
            for rest in (other, tok.token_to_id("##" + token[cut:])):
                if one is not None and rest is not None:
                    spelled = [*ids[:at], one, rest, *ids[at + 1 :]]
                    if tok.decode(spelled) == text:
                        return spelled
    return None


@pytest.mark.parametrize(("name", "template"), PAIRS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_new_goes_on_behind_bytes(data: Path, name: str, template: str, answer: str) -> None:
    tok = model(data, name, template)
    chat = [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": answer}]
    whole = tok.apply_chat_template([*chat, *MORE], add_generation_prompt=True)
    text = tok.decode(whole["input_ids"])
    end = max(segment.stop for segment in whole.segments if segment.message == 1)
    near = [at for at, (_, stop) in enumerate(whole.offsets.tolist()) if abs(stop - end) <= 6]
    tried = 0
    for length in range(min(near), max(near) + 2):
        kept = respelled(tok, whole["input_ids"][:length])
        if kept is None or not text.startswith(tok.decode(kept)):
            continue  # in the middle of a character
        tried += 1
        more = tok.extend_chat(kept, chat, MORE)
        assert more["input_ids"][: more.kept] == kept
        assert tok.decode(more["input_ids"]) == text
        assert more.seam == "border"
        assert more["input_ids"][more.kept :] == whole["input_ids"][-(len(more["input_ids"]) - more.kept) :]
        assert len(more.offsets) == len(more["input_ids"])
        assert (np.diff(more.offsets[:, 0]) >= 0).all()
    assert tried


@pytest.mark.parametrize(("name", "template"), PAIRS)
def test_a_seam_within_a_token_of_a_model(data: Path, name: str, template: str) -> None:
    tok = model(data, name, template)
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello wonderful"}]
    whole = tok.apply_chat_template([*chat, *MORE], add_generation_prompt=True)
    at = whole.text.index("wonderful")
    cut = next(index for index, (start, stop) in enumerate(whole.offsets.tolist()) if stop > at)
    wo = next(number for word in ("▁wo", "Ġwo", "wo") if (number := tok.token_to_id(word)) is not None)
    kept = [*whole["input_ids"][:cut], wo]
    more = tok.extend_chat(kept, chat, MORE)
    assert tok.decode(more["input_ids"]) == tok.decode(whole["input_ids"])


def test_control_tokens_that_decode_to_nothing(data: Path) -> None:
    tok = model(data, "mistral-7b-v0.1", "mistral-7b-v0.3")
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello world"}]
    whole = tok.apply_chat_template([*chat, *MORE], add_generation_prompt=True)
    end = whole["input_ids"].index(tok.special_tokens["</s>"])
    for stop in (end, end + 1):
        kept = respelled(tok, whole["input_ids"][:stop])
        assert kept is not None
        more = tok.extend_chat(kept, chat, MORE)
        assert more["input_ids"].count(tok.special_tokens["</s>"]) == 1
        assert more["input_ids"][more.kept :] == whole["input_ids"][stop:]


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_models_are_canonical(data: Path, name: str) -> None:
    tok, rng = model(data, name), random.Random(name)
    literals = [*list(tok.added_tokens)[:6], *list(tok.added_tokens)[-4:]]
    words = ["Hello", " world", "low", " ", "  ", "\n", "\n\n", "😀", "é", "日本", ".", "<", "x ", "\t", "_"]
    drifted = 0
    for _ in range(100):
        text = "".join(rng.choices(words + rng.choices(literals, k=4), k=rng.randint(1, 12)))
        for special in ("text", "parse"):
            ids = tok.encode(text, special=special)
            # A token for what is unknown may stand for its literal and for text: which one is not known
            # where there are both.
            if not (special == "parse" and name == "t5-small" and "<unk>" in text):
                assert tok.first_drift(ids) is None, text
            spelled = respelled(tok, ids)
            if spelled is not None:
                same = next(at for at, (a, b) in enumerate(zip(spelled, ids, strict=False)) if a != b)
                drift = tok.first_drift(spelled)
                assert drift is not None
                assert drift <= same
                drifted += 1
    assert drifted > 20


def test_leading_spaces_of_a_message_are_canonical(data: Path) -> None:
    tok = model(data, "mistral-7b-v0.3", "mistral-7b-v0.3")
    for content in (" lead", "  lead", "lead ", " "):
        ids = tok.apply_chat_template([{"role": "user", "content": content}])["input_ids"]
        assert tok.is_canonical(ids)
