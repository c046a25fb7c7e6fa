"""Special tokens and roles: whole, found where they stand, apart from one another, put around a text once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import TokenmillError
from ..findings import Finding
from .examined import Examined, counted, found, listed, some

__all__ = ["ROLES", "checks"]

ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")


def checks(examined: Examined) -> Iterator[Finding]:
    """``atomic``, ``special_flags``, ``reserved``, ``roles``, ``pad_eos``, ``double_bos``."""
    yield from _atomic(examined)
    yield _flags(examined)
    yield from _reserved(examined)
    yield from _roles(examined)
    yield from _pad_eos(examined)
    yield from _double_bos(examined)


def _atomic(examined: Examined) -> Iterator[Finding]:
    """Each special token in a text of its own and within one: one id, at its place."""
    if not examined.special:
        examined.skip("atomic", "there are no special tokens")
        return
    broken: list[str] = []
    takes_spaces: list[str] = []
    single_word: list[str] = []
    for literal, id in examined.special.items():
        size = len(literal)
        if not size:
            continue
        alone = examined.tok.find_added(literal)
        if [(start, stop) for start, stop, other in alone if other == id] != [(0, size)]:
            if not _is_written_by_normalizer(examined, literal):
                broken.append(literal)
            continue
        within = [span[:2] for span in examined.tok.find_added(f"a {literal} b") if span[2] == id]
        if within != [(2, 2 + size)]:
            (takes_spaces if within else broken).append(literal)
        elif not examined.tok.find_added(f"a{literal}b"):
            single_word.append(literal)
    facts: dict[str, Any] = {
        "tokens": len(examined.special),
        "broken": some(broken),
        "take_spaces": some(takes_spaces),
        "whole_words_only": some(single_word),
    }
    if broken:
        yield found(
            "atomic",
            "file",
            counted(len(broken), "special token is", "special tokens are")
            + f" not found as one id: {listed(broken)}",
            status="fail",
            way_out="add them as special tokens with the ids that the model knows (load(special_tokens=))",
            **facts,
        )
    elif takes_spaces or single_word:
        parts = [f"{listed(takes_spaces)} take the spaces beside them"] if takes_spaces else []
        parts += [f"{listed(single_word)} are found as whole words only"] if single_word else []
        yield found(
            "atomic",
            "file",
            "; ".join(parts),
            status="warn",
            way_out="lstrip, rstrip and single_word of an added token: compare them with the published file",
            **facts,
        )
    else:
        message = counted(len(examined.special), "special token is one id", "special tokens are one id each")
        yield found("atomic", "file", message, **facts)


def _is_written_by_normalizer(examined: Examined, literal: str) -> bool:
    """Whether another added token begins the literal, or is it: then that one is found."""
    others = [other for other in examined.added if other and other != literal]
    return any(other in literal for other in others)


def _flags(examined: Examined) -> Finding:
    """Tokens that steer a model but are not marked as special: every text may hold them."""
    roles = {f"{role}_token": getattr(examined.tok, f"{role}_token_id") for role in ROLES}
    ordinary = {id: literal for literal, id in examined.added.items() if literal not in examined.special}
    wrong = [f"{name} {ordinary[id]}" for name, id in roles.items() if id in ordinary and name != "unk_token"]
    ends = _turn_ends(examined)
    wrong += [f"end of turn {literal}" for literal, id in ends.items() if id in ordinary]
    pattern = [
        literal
        for literal in ordinary.values()
        if literal.startswith("<|") and literal.endswith("|>") and literal in examined.template_literals()
    ]
    wrong += [literal for literal in pattern if not any(literal in other for other in wrong)]
    if wrong:
        return found(
            "special_flags",
            "file",
            f"not marked as special, so that any text may hold them: {listed(wrong)}",
            status="fail",
            way_out='set "special": true for them in tokenizer.json and tokenizer_config.json',
            tokens=some(wrong),
        )
    others = some(ordinary.values())
    message = "the tokens that steer a model are special"
    if others:
        are = counted(len(ordinary), "added token is", "added tokens are")
        message += f"; {are} ordinary: {listed(others)}"
    return found("special_flags", "file", message, ordinary=others)


def _turn_ends(examined: Examined) -> dict[str, int]:
    """The added tokens that are named like the end of a turn, of those that a template writes."""
    names = ("im_end", "eot", "end_of_turn", "end|", "<|end")
    return {
        literal: id
        for literal, id in examined.template_literals().items()
        if any(name in literal for name in names)
    }


def _reserved(examined: Examined) -> Iterator[Finding]:
    """The literals of special tokens as content of a text: text, and none of the ids."""
    if not examined.special:
        examined.skip("reserved", "there are no special tokens")
        return
    forged: list[str] = []
    special = set(examined.special.values()) - {examined.tok.unk_token_id}
    for literal in list(examined.special)[:500]:
        ids = examined.encode(f"a{literal}b")
        if isinstance(ids, list) and special & {*ids}:
            forged.append(literal)
    always = [literal for literal in examined.added if literal not in examined.special and literal.strip()]
    written = [literal for literal in always if literal in examined.template_literals()]
    facts: dict[str, Any] = {"tokens": len(special), "forged": some(forged), "always_matched": some(always)}
    if forged:
        yield found(
            "reserved",
            "file",
            f"text becomes special ids: {listed(forged)}",
            status="fail",
            way_out="refuse such content with special='raise', and report the tokenizer",
            **facts,
        )
        return
    notes = f"; always matched, as not special: {listed(always)}" if always else ""
    if written:
        notes += "; apply_chat_template keeps those that the template writes out of messages"
    yield found("reserved", "file", f"the literals of special tokens are text in a text{notes}", **facts)


def _roles(examined: Examined) -> Iterator[Finding]:
    """Role tokens that a folder's settings name and its vocabulary does not have: they get new ids."""
    ids = {role: getattr(examined.tok, f"{role}_token_id") for role in ROLES}
    named = {role: id for role, id in ids.items() if id is not None}
    config, raw = examined.setting("tokenizer_config.json"), examined.raw
    strangers: list[str] = []
    if isinstance(config, dict) and raw:
        model = raw["model"].get("vocab")
        known = set(model) if isinstance(model, dict) else {row[0] for row in model or []}
        known |= {entry.get("content") for entry in raw.get("added_tokens") or [] if isinstance(entry, dict)}
        decoder = config.get("added_tokens_decoder")
        if isinstance(decoder, dict):
            known |= {entry.get("content") for entry in decoder.values() if isinstance(entry, dict)}
        extra = examined.setting("added_tokens.json")
        known |= set(extra) if isinstance(extra, dict) else set()
        for role in named:
            token = config.get(f"{role}_token")
            token = token.get("content") if isinstance(token, dict) else token
            if isinstance(token, str) and token not in known:
                strangers.append(f"{role}_token {token}")
    facts: dict[str, Any] = {"ids": named, "strangers": strangers}
    if strangers:
        yield found(
            "roles",
            "file",
            f"tokenizer_config.json names tokens that tokenizer.json does not have, which get new ids: "
            f"{listed(strangers)}",
            status="fail",
            way_out="name the token that the model was trained with; a new id has no trained row, or none "
            "at all",
            **facts,
        )
    else:
        shown = ", ".join(f"{role} {examined.name_of(id)}" for role, id in named.items())
        yield found("roles", "file", shown or "no token has a role", **facts)


def _pad_eos(examined: Examined) -> Iterator[Finding]:
    pad, eos, unk = (getattr(examined.tok, f"{role}_token_id") for role in ("pad", "eos", "unk"))
    if pad is None:
        examined.skip("pad_eos", "no token is named for padding")
        return
    turn_ends = {id: literal for literal, id in _turn_ends(examined).items()}
    other = "eos" if pad == eos else "unk" if pad == unk else "end-of-turn" if pad in turn_ends else None
    if other is not None:
        yield found(
            "pad_eos",
            "file",
            f"padding is the {other} token: {examined.name_of(pad)}",
            status="warn",
            way_out="mask labels by the attention mask, never by the id, or the model never learns to stop "
            "(Tokenizer.pad_batch does so); or name a padding token of its own",
            pad=pad,
            eos=eos,
            unk=unk,
        )
        return
    if pad in examined.ordinary:
        yield found(
            "pad_eos",
            "file",
            f"padding is a token that texts have: {examined.name_of(pad)}",
            status="warn",
            way_out="name a special token as padding",
            pad=pad,
            eos=eos,
            unk=unk,
        )
        return
    yield found(
        "pad_eos", "file", f"padding is a token of its own: {examined.name_of(pad)}", pad=pad, eos=eos
    )


def _double_bos(examined: Examined) -> Iterator[Finding]:
    """A begin token twice: from the post-processor alone, or from it and the chat template."""
    bos = examined.tok.bos_token_id
    if bos is None:
        bos = examined.tok.cls_token_id
    try:
        around = examined.tok.encode("a", add_special_tokens=True)
    except TokenmillError:
        around = []
    if bos is None and len(around) > 1 and around[0] in examined.special.values():
        bos = around[0]
    if bos is None:
        examined.skip("double_bos", "no token begins a text")
        return
    name = examined.name_of(bos)
    if around[:2] == [bos, bos]:
        yield found(
            "double_bos",
            "file",
            f"add_special_tokens=True puts {name} before a text twice",
            status="fail",
            way_out="one of the post-processors, or add_bos_token, is too many",
            bos=bos,
        )
        return
    literal = examined.tok.id_to_token(bos) or ""
    written = [name for name, source in examined.tok.chat_templates.items() if _begins(source, literal)]
    if around[:1] == [bos] and written:
        yield found(
            "double_bos",
            "file",
            f"the chat template writes {literal} and add_special_tokens=True puts it before a text, too",
            status="warn",
            way_out="encode a rendered conversation without add_special_tokens, as apply_chat_template does",
            bos=bos,
            templates=written,
        )
        return
    yield found("double_bos", "file", f"{name} begins a text once at most", bos=bos)


def _begins(source: str, literal: str) -> bool:
    return "bos_token" in source or (bool(literal) and literal in source)
