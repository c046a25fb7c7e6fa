"""Whether a witness of ``tokenmill.diff`` is true through both pipelines, and nothing of it can go."""

from __future__ import annotations

from tokenmill import Difference, Tokenizer
from tokenmill._diff.chats import _shorter
from tokenmill._diff.inputs import CALLS, of_ids, of_messages, of_text

__all__ = ["check"]


def check(found: Difference, a: Tokenizer, b: Tokenizer) -> None:
    """The witness is true, and nothing of it can go."""
    witness = found.witness
    assert found.verdict == "different"
    assert witness is not None
    if witness.kind == "text":
        assert witness.text is not None
        (call,) = [name for name, written in CALLS.items() if written == witness.call]
        assert (witness.a, witness.error_a) == of_text(a, witness.text, call)
        assert (witness.b, witness.error_b) == of_text(b, witness.text, call)
        assert witness.a != witness.b or (witness.error_a is None) != (witness.error_b is None)
        for i in range(len(witness.text)):
            rest = witness.text[:i] + witness.text[i + 1 :]
            assert of_text(a, rest, call)[0] == of_text(b, rest, call)[0], rest
    elif witness.kind == "ids":
        assert witness.ids is not None
        skips = witness.options.get("skip_special_tokens", False)
        assert (witness.a, witness.b) == tuple(of_ids(tok, witness.ids, skips)[0] for tok in (a, b))
        assert witness.a != witness.b
        for i in range(len(witness.ids)):
            rest_ids = witness.ids[:i] + witness.ids[i + 1 :]
            assert of_ids(a, rest_ids, skips)[0] == of_ids(b, rest_ids, skips)[0], rest_ids
    else:
        assert witness.kind == "messages"
        assert witness.messages is not None
        options = dict(witness.options)
        name = options.pop("template")
        assert (witness.a, witness.b) == tuple(
            of_messages(tok, witness.messages, name, options)[0] for tok in (a, b)
        )
        assert witness.a != witness.b
        for shorter in _shorter(witness.messages):
            texts = [of_messages(tok, shorter, name, options)[0] for tok in (a, b)]
            assert texts[0] == texts[1], shorter
