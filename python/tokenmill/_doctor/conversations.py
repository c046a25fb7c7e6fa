"""Chat templates: who spoke, where a turn ends, where an answer begins, what is trained and padded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import MissingExtraError, TokenmillError
from ..findings import Finding
from .examined import Examined, found, listed, some

__all__ = ["checks"]

USER, ANSWER, NEXT, REPLY = (
    "Where does the river begin?",
    "In the hills.",
    "And where does it end?",
    "At sea.",
)
CHAT = [
    {"role": "user", "content": USER},
    {"role": "assistant", "content": ANSWER},
    {"role": "user", "content": NEXT},
    {"role": "assistant", "content": REPLY},
]

NAMES = ("template", "end_of_turn", "generation_prompt", "template_literals", "labels", "padding")


def checks(examined: Examined) -> Iterator[Finding]:
    """The checks in ``NAMES``, in this order."""
    if "default" not in examined.tok.chat_templates:
        for name in NAMES[:-1]:
            examined.skip(name, "there is no chat template")
        yield from _padding(examined, None)
        return
    try:
        text = examined.tok.render_chat(CHAT).text
    except MissingExtraError as error:
        for name in NAMES[:-1]:
            examined.skip(name, str(error))
        yield from _padding(examined, None)
        return
    except TokenmillError as error:
        yield found(
            "template",
            "file",
            f"a conversation of user and assistant is not rendered: {error}",
            status="fail",
            way_out="correct the template, or take the published one",
        )
        yield from _padding(examined, None)
        return
    yield _template(examined, text)
    labelled = _labelled(examined)
    yield from _end_of_turn(examined, text, labelled)
    yield from _generation_prompt(examined)
    yield from _literals(examined)
    yield from _labels(examined, labelled)
    yield from _padding(examined, labelled if not isinstance(labelled, str) else None)


def _template(examined: Examined, text: str) -> Finding:
    problems: list[str] = []
    places = [text.find(content) for content in (USER, ANSWER, NEXT, REPLY)]
    for content, place in zip((USER, ANSWER, NEXT, REPLY), places, strict=True):
        if place < 0:
            problems.append(f"it leaves out {content!r}")
    if not problems and places != sorted(places):
        problems.append("it changes the order of the messages")
    if not problems:
        # What stands before a message says whose it is: from the end of the one before.
        headers = [
            text[places[at - 1] + len(content) : places[at]] for at, content in ((1, USER), (2, ANSWER))
        ]
        if headers[0] == headers[1]:
            problems.append("what it writes before a message of the user and of the assistant is the same")
    repeated = examined.tok.render_chat(CHAT).text
    if repeated != text:
        problems.append("it renders the same conversation otherwise the second time")
    if problems:
        return found(
            "template",
            "file",
            f"the chat template: {'; '.join(problems)}",
            status="fail",
            way_out="the borders of roles must be those of training: compare the template with the "
            "published one",
            problems=problems,
            rendered=text[:1000],
        )
    return found(
        "template",
        "file",
        "every message is rendered, in order, and roles are told apart",
        rendered=text[:1000],
    )


def _labelled(examined: Examined) -> Any:
    """The conversation with labels; a sentence where the template does not allow them."""
    try:
        return examined.tok.apply_chat_template(CHAT, return_labels=True)
    except TokenmillError as error:
        return str(error)


def _end_of_turn(examined: Examined, text: str, labelled: Any) -> Iterator[Finding]:
    # The first added token after the last answer ends its turn; white space may stand before it.
    after = text[text.find(REPLY) + len(REPLY) :]
    ends = [
        (after.find(literal), -len(literal), literal, id)
        for literal, id in examined.added.items()
        if literal.strip() and literal in after
    ]
    first = min(ends, default=None)
    if first is None or after[: first[0]].strip():
        yield found(
            "end_of_turn",
            "file",
            f"the chat template writes no special token after an answer, but {after[:40]!r}",
            status="fail",
            way_out="a model trained with it never learns to stop: the template must end each turn with "
            "the end-of-turn token",
            behind=after[:200],
        )
        return
    literal, id = first[2:]
    eos = examined.tok.eos_token_id
    without = () if isinstance(labelled, str) else tuple(labelled.turns_without_end)
    facts: dict[str, Any] = {"token": literal, "id": id, "eos": eos, "turns_without_end": some(without)}
    if id != eos and eos is not None and not _stops(examined, id):
        yield found(
            "end_of_turn",
            "file",
            f"turns end with {examined.name_of(id)}, and eos is {examined.name_of(eos)}",
            status="warn",
            way_out="generation must stop at the end-of-turn token, too: name it in generation_config.json",
            **facts,
        )
        return
    yield found("end_of_turn", "file", f"a turn ends with {examined.name_of(id)}", **facts)


def _stops(examined: Examined, id: int) -> bool:
    """Whether generation stops at this id, by the generation_config.json of the folder."""
    settings = examined.setting("generation_config.json")
    eos = settings.get("eos_token_id") if isinstance(settings, dict) else None
    return id in (eos if isinstance(eos, list) else [eos])


def _generation_prompt(examined: Examined) -> Iterator[Finding]:
    try:
        plain = examined.tok.render_chat(CHAT[:3]).text
        asked = examined.tok.render_chat(CHAT[:3], add_generation_prompt=True).text
        whole = examined.tok.render_chat(CHAT).text
    except TokenmillError as error:
        examined.skip("generation_prompt", str(error))
        return
    if plain == asked:
        header = whole[len(plain) : whole.rfind(REPLY)] if whole.startswith(plain) else ""
        if not header.strip():
            yield found("generation_prompt", "file", "an answer begins without a header")
            return
        yield found(
            "generation_prompt",
            "file",
            f"add_generation_prompt writes nothing, and an answer begins with {listed([header])}",
            status="warn",
            way_out="without it a model may answer in another role: the template must write the header of "
            "the assistant where add_generation_prompt is set",
            header=header,
        )
        return
    if not asked.startswith(plain) or not whole.startswith(asked):
        yield found(
            "generation_prompt",
            "file",
            "what add_generation_prompt writes is not how the answer begins in the whole conversation",
            status="warn",
            way_out="the model continues another text than it was trained on; templates for reasoning do "
            "this on purpose (an empty block of thoughts)",
            prompt=asked[len(plain) :],
            whole=whole[len(plain) : len(plain) + 200],
        )
        return
    yield found(
        "generation_prompt",
        "file",
        "an answer begins as add_generation_prompt says",
        prompt=asked[len(plain) :],
    )


def _literals(examined: Examined) -> Iterator[Finding]:
    """The literals that the template writes, in what a user says: text, whoever encodes."""
    written = [literal for literal in examined.template_literals() if literal.strip()]
    if not written:
        examined.skip("template_literals", "the template writes no added token")
        return
    forged: list[str] = []
    try:
        plain = examined.tok.apply_chat_template([{"role": "user", "content": "ab"}])["input_ids"]
        for literal in written[:50]:
            chat = [{"role": "user", "content": f"a{literal}b"}]
            ids = examined.tok.apply_chat_template(chat)["input_ids"]
            id = examined.added[literal]
            if ids.count(id) > plain.count(id):
                forged.append(literal)
    except TokenmillError as error:
        examined.skip("template_literals", str(error))
        return
    if forged:
        yield found(
            "template_literals",
            "file",
            f"a user can write control tokens: {listed(forged)}",
            status="fail",
            way_out="the template copies content in a way that hides its source; reject such messages with "
            "literals='reject'",
            forged=forged,
        )
        return
    yield found(
        "template_literals", "file", f"{len(written)} literals of the template are text in what a user says"
    )


def _labels(examined: Examined, labelled: Any) -> Iterator[Finding]:
    if isinstance(labelled, str):
        yield found(
            "labels",
            "file",
            f"no labels can be made: {labelled}",
            status="warn",
            way_out="to train with this template, its turns must be told apart, or its {% generation %} "
            "blocks be around what the assistant says",
        )
        return
    trained = [id for id in labelled["labels"] if id != -100]
    text = examined.tok.decode(trained)
    problems = [content for content in (ANSWER, REPLY) if _bare(content) not in _bare(text)]
    foreign = [content for content in (USER, NEXT) if _bare(content) in _bare(text)]
    if problems or foreign:
        yield found(
            "labels",
            "file",
            f"trained is not what the assistant says: {listed([text])}",
            status="fail",
            way_out="the template marks other parts with {% generation %}, or turns overlap",
            trained=text[:500],
        )
        return
    yield found(
        "labels", "file", "labels are what the assistant says, and -100 elsewhere", trained=len(trained)
    )


def _bare(text: str) -> str:
    return "".join(text.split()).lower()


def _padding(examined: Examined, labelled: Any) -> Iterator[Finding]:
    tok = examined.tok
    pad = tok.pad_token_id
    if pad is None:
        yield found(
            "padding",
            "file",
            "no token is named for padding",
            way_out="",
            side=tok.padding_side,
        )
        return
    if labelled is None:
        short = examined.encode("a")
        if isinstance(short, TokenmillError) or not short:
            examined.skip("padding", "the vocabulary cannot spell a text to pad")
            return
        rows = [{"input_ids": short, "labels": list(short)}, {"input_ids": short * 5, "labels": short * 5}]
    else:
        ids, labels = list(labelled["input_ids"]), list(labelled["labels"])
        rows = [{"input_ids": ids[:3], "labels": labels[:3]}, {"input_ids": ids, "labels": labels}]
    batch = tok.pad_batch(rows)
    length, width = len(rows[0]["input_ids"]), len(batch["input_ids"][0])
    lost = slice(length, None) if tok.padding_side == "right" else slice(0, width - length)
    is_masked = (
        set(batch["labels"][0][lost]) == {-100}
        and set(batch["attention_mask"][0][lost]) == {0}
        and set(batch["input_ids"][0][lost]) == {pad}
    )
    facts: dict[str, Any] = {"id": pad, "side": tok.padding_side}
    if not is_masked:
        yield found(
            "padding",
            "file",
            "padding is not masked in labels and attention_mask",
            status="fail",
            way_out="please report the tokenizer",
            **facts,
        )
        return
    yield found(
        "padding",
        "file",
        f"padded on the {tok.padding_side} with {examined.name_of(pad)}; labels are -100 and the attention "
        "mask 0 "
        "there",
        **facts,
    )
