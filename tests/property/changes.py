"""Changes of a tokenizer.json: those of notation, and edits that may change what the tokenizer does.

Both take a random source and the parsed file, and give a changed copy with a name of the change. What an
edit does to a particular tokenizer is for the caller to find out: an edit of something that no text reaches
changes nothing. ``MAKERS`` has tokenizers that have, together, something in every stage.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Parts = dict[str, Any]
Edit = Callable[[random.Random, Parts], object]

TEXTS = [
    "low lower lowest don't 123 4567",
    "newest widest NEW Näive näive",
    "low low \n\n  lower 12 2024",
] * 4


# ---- tokenizers to change ---------------------------------------------------------------------


def byte_level(native: Any) -> Parts:
    """BPE over bytes, with a normalizer, a template and added tokens."""
    specials = ["<s>", "</s>", "<pad>"]
    tok = native.train(texts=TEXTS, vocab_size=300, split="cl100k", special_tokens=specials)
    parts = parsed(tok)
    parts["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    last = 1 + max(*parts["model"]["vocab"].values(), *(entry["id"] for entry in parts["added_tokens"]))
    parts["added_tokens"] += [
        {"id": last, "content": "<tool>", **added, "special": False},
        {"id": last + 1, "content": "\t\t", **added, "special": False},
    ]
    return with_template(parts, {"<s>": 0, "</s>": 1})


def characters(native: Any) -> Parts:
    """BPE over characters with an unknown token and byte fallback, as Llama writes it."""
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"<0x{byte:02X}>": 3 + byte for byte in range(256)}}
    for char in "▁lowerstnwid124N":
        vocab[char] = len(vocab)
    merges = []
    for left, right in ["lo", ("lo", "w"), "er", ("▁", "low"), "es", ("es", "t"), "ne", ("ne", "w"), "12"]:
        vocab[left + right] = len(vocab)
        merges.append([left, right])
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    parts: Parts = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": literal, **special}
            for number, literal in enumerate(["<unk>", "<s>", "</s>"])
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": merges,
        },
    }
    return with_template(parts, {"<s>": 1})


def wordpiece(native: Any) -> Parts:
    """WordPiece as BERT has it."""
    tok = native.train(
        texts=TEXTS,
        model="wordpiece",
        vocab_size=60,
        normalizer="BertNormalizer",
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        post_processor="BertProcessing",
    )
    return parsed(tok)


MAKERS = {"byte level": byte_level, "characters": characters, "wordpiece": wordpiece}


def parsed(tok: Any) -> Parts:
    """A tokenizer as the parts of its tokenizer.json."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        tok.save(path, lossy=True)
        parts: Parts = json.loads(path.read_text(encoding="utf-8"))
    return parts


def with_template(parts: Parts, tokens: dict[str, int]) -> Parts:
    """The same with the first of these tokens before each text, and the others behind it."""
    first, *rest = tokens
    piece = [{"SpecialToken": {"id": first, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    last = [{"SpecialToken": {"id": literal, "type_id": 0}} for literal in rest]
    parts["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [*piece, *last],
        "pair": [*piece, *last, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            literal: {"id": literal, "ids": [number], "tokens": [literal]}
            for literal, number in tokens.items()
        },
    }
    return parts


# ---- notation ---------------------------------------------------------------------------------


def shuffled(rng: random.Random, value: Any) -> Any:
    """The same value with the keys of its objects in another order.

    The order of a vocabulary of pairs, and of lists, means something.
    """
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(rng, value[key]) for key in keys}
    return [shuffled(rng, item) for item in value] if isinstance(value, list) else value


def without_nulls(value: Any) -> Any:
    """The same value without the keys whose value is null, but for those of the file itself."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def notations(rng: random.Random, parts: Parts) -> Iterator[tuple[str, str]]:
    """Endless changes of notation: (what was changed, the text of the file)."""
    while True:
        changed, done = copy.deepcopy(parts), []
        merges = changed["model"].get("merges")
        if merges and rng.random() < 0.5 and not any(" " in part for pair in merges for part in pair):
            changed["model"]["merges"] = [" ".join(pair) for pair in merges]
            done.append("merges as strings")
        if rng.random() < 0.5:
            changed = shuffled(rng, changed)
            done.append("order of keys")
        if rng.random() < 0.4:
            changed["model"] = without_nulls(changed["model"])
            done.append("no nulls in the model")
        for name, inner in (
            ("normalizer", "normalizers"),
            ("pre_tokenizer", "pretokenizers"),
            ("decoder", "decoders"),
        ):
            if rng.random() < 0.3 and changed.get(name) is not None:
                changed[name] = {"type": "Sequence", inner: [changed[name]]}
                done.append(f"{name} in a sequence")
        if rng.random() < 0.3:
            rng.shuffle(changed["added_tokens"])
            changed["added_tokens"].sort(key=lambda entry: entry["id"])
            for entry in changed["added_tokens"]:
                entry.update(dict(sorted(entry.items(), key=lambda _: rng.random())))
        if rng.random() < 0.3:
            for name in ("truncation", "padding", "normalizer", "post_processor"):
                if changed.get(name, 0) is None and rng.random() < 0.5:
                    del changed[name]
                    done.append(f"no {name} for null")
        if rng.random() < 0.3:
            changed["post_processor"] = changed.get("post_processor") and {
                "type": "Sequence",
                "processors": [changed["post_processor"]],
            }
            done.append("post_processor in a sequence")
        indent = rng.choice([None, 0, 1, 2, 4, "\t"])
        separators = rng.choice([None, (",", ":"), (" , ", " : ")])
        ascii_only = rng.random() < 0.5
        done.append(f"indent {indent!r}, separators {separators}, ascii {ascii_only}")
        text = json.dumps(changed, indent=indent, separators=separators, ensure_ascii=ascii_only)
        yield ", ".join(done), text


# ---- edits ------------------------------------------------------------------------------------


def steps_of(parts: Parts, name: str, inner: str) -> list[Any]:
    """The steps of a stage, which becomes a sequence of them."""
    stage = parts.get(name)
    if stage is None:
        parts[name] = {"type": "Sequence", inner: []}
    elif stage["type"] != "Sequence":
        parts[name] = {"type": "Sequence", inner: [stage]}
    steps: list[Any] = parts[name][inner]
    return steps


def swap_merges(rng: random.Random, parts: Parts) -> object:
    """Two neighbouring merges, of which the later is not made of the earlier."""
    merges = parts["model"]["merges"]
    pairs = [
        at
        for at in range(len(merges) - 1)
        if "".join(merges[at]) not in merges[at + 1] and set(merges[at]) & set(merges[at + 1])
    ]
    at = rng.choice(pairs or list(range(len(merges) - 1)))
    merges[at], merges[at + 1] = merges[at + 1], merges[at]
    return at


def move_merge_to_end(rng: random.Random, parts: Parts) -> object:
    """A merge that no other needs becomes the last."""
    merges = parts["model"]["merges"]
    used = {part for pair in merges for part in pair}
    at = rng.choice([at for at, pair in enumerate(merges) if "".join(pair) not in used])
    merges.append(merges.pop(at))
    return at


def drop_merge(rng: random.Random, parts: Parts) -> object:
    """A merge that no other needs is gone; its token stays."""
    merges = parts["model"]["merges"]
    used = {part for pair in merges for part in pair}
    at = rng.choice([at for at, pair in enumerate(merges) if "".join(pair) not in used])
    return merges.pop(at)


def swap_ids(rng: random.Random, parts: Parts) -> object:
    """Two ordinary tokens with each other's ids."""
    vocab = parts["model"]["vocab"]
    added = {entry["content"] for entry in parts["added_tokens"]}
    left, right = rng.sample([token for token in vocab if token not in added], 2)
    vocab[left], vocab[right] = vocab[right], vocab[left]
    return left, right


def swap_added_ids(rng: random.Random, parts: Parts) -> object:
    """Two added tokens with each other's ids; the vocabulary and the template keep up."""
    left, right = rng.sample(parts["added_tokens"], 2)
    left["content"], right["content"] = right["content"], left["content"]
    vocab = parts["model"]["vocab"]
    if left["content"] in vocab and right["content"] in vocab:
        vocab[left["content"]], vocab[right["content"]] = vocab[right["content"]], vocab[left["content"]]
    return left["content"], right["content"]


def flag(name: str) -> Edit:
    def turn(rng: random.Random, parts: Parts) -> object:
        entry = rng.choice(parts["added_tokens"])
        entry[name] = not entry[name]
        return entry["content"]

    turn.__name__ = f"{name}_of_added"
    return turn


def rename_added(rng: random.Random, parts: Parts) -> object:
    entry = rng.choice([entry for entry in parts["added_tokens"] if not entry["special"]])
    entry["content"] = f"{entry['content']}{rng.choice('xyz')}"
    return entry["content"]


def drop_added(rng: random.Random, parts: Parts) -> object:
    at = rng.choice([at for at, entry in enumerate(parts["added_tokens"]) if not entry["special"]])
    return parts["added_tokens"].pop(at)["content"]


def add_added(rng: random.Random, parts: Parts) -> object:
    ids = [*parts["model"]["vocab"].values(), *(entry["id"] for entry in parts["added_tokens"])]
    content = rng.choice(["low", "we", "12", " n", "est", "<x>", "é"])
    entry = {"id": max(ids) + 1, "content": content, "special": rng.random() < 0.3}
    flags = {"single_word": rng.random() < 0.3, "lstrip": False, "rstrip": False, "normalized": False}
    parts["added_tokens"].append({**entry, **flags})
    return entry


def change_split(rng: random.Random, parts: Parts) -> object:
    pattern = rng.choice(
        [
            r"\p{N}{1,2}|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
            r"\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+",
            r" ?\S+|\s+",
            r"[a-z]+|[^a-z]+",
            r"\w+|\W+",
        ]
    )
    for step in steps_of(parts, "pre_tokenizer", "pretokenizers"):
        if step["type"] == "Split":
            step["pattern"] = {"Regex": pattern}
            return pattern
    steps_of(parts, "pre_tokenizer", "pretokenizers").insert(
        0, {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    )
    return pattern


def split_behavior(rng: random.Random, parts: Parts) -> object:
    steps = steps_of(parts, "pre_tokenizer", "pretokenizers")
    behavior = rng.choice(["Removed", "MergedWithPrevious", "MergedWithNext"])
    steps.insert(
        0, {"type": "Split", "pattern": {"String": rng.choice("oe1 ")}, "behavior": behavior, "invert": False}
    )
    return behavior


def add_pre_tokenizer(rng: random.Random, parts: Parts) -> object:
    step = rng.choice(
        [
            {"type": "Digits", "individual_digits": True},
            {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "WhitespaceSplit"},
        ]
    )
    steps_of(parts, "pre_tokenizer", "pretokenizers").insert(0, step)
    return step


def add_normalizer(rng: random.Random, parts: Parts) -> object:
    step = rng.choice(
        [
            {"type": "Lowercase"},
            {"type": "NFD"},
            {"type": "NFKC"},
            {"type": "Strip", "strip_left": True, "strip_right": rng.random() < 0.5},
            {"type": "Replace", "pattern": {"String": rng.choice("low12")}, "content": rng.choice("enst")},
            {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            {"type": "Prepend", "prepend": rng.choice([" ", "n", "low"])},
        ]
    )
    steps = steps_of(parts, "normalizer", "normalizers")
    steps.insert(rng.randint(0, len(steps)), step)
    return step


def drop_normalizer(rng: random.Random, parts: Parts) -> object:
    steps = steps_of(parts, "normalizer", "normalizers")
    return steps.pop(rng.randrange(len(steps)))


def bert_normalizer(rng: random.Random, parts: Parts) -> object:
    for step in steps_of(parts, "normalizer", "normalizers"):
        if step["type"] == "BertNormalizer":
            name = rng.choice(["lowercase", "handle_chinese_chars", "clean_text"])
            step[name] = not step[name]
            return name
    raise LookupError("no such step")


def change_decoder(rng: random.Random, parts: Parts) -> object:
    step = rng.choice(
        [
            {"type": "Replace", "pattern": {"String": rng.choice("lowe1")}, "content": rng.choice("xyz")},
            {"type": "Strip", "content": rng.choice("lH "), "start": 1, "stop": 0},
            {"type": "Strip", "content": rng.choice("!w "), "start": 0, "stop": 1},
        ]
    )
    steps = steps_of(parts, "decoder", "decoders")
    steps.append(step)
    return step


def drop_decoder(rng: random.Random, parts: Parts) -> object:
    steps = steps_of(parts, "decoder", "decoders")
    return steps.pop(rng.randrange(len(steps)))


def change_template(rng: random.Random, parts: Parts) -> object:
    template = parts["post_processor"]
    pieces = template["single"]
    special = [piece for piece in pieces if "SpecialToken" in piece]
    kind = rng.choice(["drop", "twice", "move", "ids"])
    if kind == "drop":
        pieces.remove(rng.choice(special))
    elif kind == "twice":
        pieces.insert(rng.randint(0, len(pieces)), rng.choice(special))
    elif kind == "move":
        pieces.reverse()
    else:
        entry = rng.choice(list(template["special_tokens"].values()))
        entry["ids"] = [rng.choice([number for number in range(3) if number not in entry["ids"]])]
    return kind


def model_flag(name: str, *values: object) -> Edit:
    def change(rng: random.Random, parts: Parts) -> object:
        model = parts["model"]
        model[name] = rng.choice([value for value in values if value != model.get(name)])
        return model[name]

    change.__name__ = f"model_{name}"
    return change


def drop_token(rng: random.Random, parts: Parts) -> object:
    """A token that no merge needs and that is no character; its merge goes with it."""
    model = parts["model"]
    added = {entry["content"] for entry in parts["added_tokens"]}
    merges = model.get("merges") or []
    used = {part for pair in merges for part in pair}
    prefix = model.get("continuing_subword_prefix") or ""
    free = [
        token
        for token in model["vocab"]
        if token not in added and token not in used and len(token.removeprefix(prefix)) > 1
    ]
    token = rng.choice([token for token in free if not token.startswith("<0x")])
    del model["vocab"][token]
    model["merges"] = [pair for pair in merges if "".join(pair) != token]
    if "merges" in model and not merges:
        del model["merges"]
    return token


EDITS: list[Edit] = [
    swap_merges,
    move_merge_to_end,
    drop_merge,
    swap_ids,
    swap_added_ids,
    *(flag(name) for name in ("lstrip", "rstrip", "single_word", "special", "normalized")),
    rename_added,
    drop_added,
    add_added,
    change_split,
    split_behavior,
    add_pre_tokenizer,
    add_normalizer,
    drop_normalizer,
    bert_normalizer,
    change_decoder,
    drop_decoder,
    change_template,
    model_flag("byte_fallback", True, False),
    model_flag("fuse_unk", True, False),
    model_flag("max_input_chars_per_word", 3, 100),
    drop_token,
]


def behaviour_edits(rng: random.Random, parts: Parts) -> Iterator[tuple[str, Parts]]:
    """Endless edits that may change behaviour: (what was changed, the changed parts), each kind as often.

    A kind that has nothing to change in this file is left out. ``load`` may refuse an edited file.
    """
    while True:
        for edit in rng.sample(EDITS, len(EDITS)):
            changed = copy.deepcopy(parts)
            try:
                what = edit(rng, changed)
            except (LookupError, ValueError, AttributeError, TypeError):
                continue
            yield f"{edit.__name__}: {what}", changed
