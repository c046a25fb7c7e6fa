"""`extend_chat`: ids are kept as a model wrote them; `first_drift`, `is_canonical`."""

from __future__ import annotations

import random
from typing import Any

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
