"""Faults that are planted into the files of a healthy tokenizer, and the check that must name each.

``made`` writes a small folder as models have it; a ``Fault`` edits a copy of it, and says what evidence
shows it. Faults of published vocabularies (``fertility``, byte tokens, other files) are in
``test_doctor_vocabularies``, and those that no file causes (``offsets``, ``reserved``,
``template_literals``, ``padding``: the program itself would have to be wrong) in ``test_doctor_stand_ins``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenmill

__all__ = ["FAULTS", "QUICK", "Fault", "made"]

TEXT = (
    "The river rose slowly during the night, and by morning the lower fields were under water.\n"
    "Nobody in the village had seen it so high since the winter that their grandparents talked about.\n"
    "In der Nacht stieg der Fluss langsam an. La rivière monta lentement pendant la nuit, à côté des prés.\n"
    "for index, value in enumerate(values):\n    if value > limit:\n        return index\n"
    "NATO, IBM, THE RIVER ROSE. Ünder Élan Ärger; Hello World, The Nobody In La\n"
)
NUMBERS = " ".join(f"{n:03d}" for n in range(0, 1000, 4))
SPECIAL = ["<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
    "'<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
ROWS, WIDTH = 1024, 2


def made(folder: Path) -> None:
    """A healthy folder: tokenizer, manifest, vocab.json and merges.txt, configuration and tensors."""
    texts = [TEXT, NUMBERS] * 3
    tok = tokenmill.train(
        texts=texts, vocab_size=900, split="cl100k", special_tokens=SPECIAL, special_ids="last"
    )
    tok = tok.with_special_tokens(
        bos_token="<s>", eos_token="<|im_end|>", pad_token="<pad>", add_bos_token=True
    )
    tok.with_chat_template(CHATML).save(folder)
    write_parts(folder)
    ids = tok.special_tokens
    write(folder / "config.json", {
        "vocab_size": ROWS, "tie_word_embeddings": False, "bos_token_id": ids["<s>"],
        "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<pad>"],
    })  # fmt: skip
    write(folder / "generation_config.json", {
        "eos_token_id": [ids["<|im_end|>"], ids["</s>"]], "pad_token_id": ids["<pad>"],
    })  # fmt: skip
    tensors(folder, {"model.embed_tokens.weight": (ROWS, WIDTH), "lm_head.weight": (ROWS, WIDTH)})


def write_parts(folder: Path) -> None:
    """``vocab.json`` and ``merges.txt`` as tokenizer.json has them."""
    model = read(folder / "tokenizer.json")["model"]
    write(folder / "vocab.json", model["vocab"])
    lines = ["#version: 0.2", *(row if isinstance(row, str) else " ".join(row) for row in model["merges"])]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def tensors(folder: Path, shapes: dict[str, tuple[int, ...]], name: str = "model.safetensors") -> None:
    """A file of tensors of zeros, as the format has it."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for tensor, shape in shapes.items():
        size = 2
        for length in shape:
            size *= length
        header[tensor] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    data = json.dumps(header).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(data)) + data + bytes(at))


Edit = Callable[[Path], None]


@dataclass(frozen=True)
class Fault:
    """A fault, how it is planted, and the check that names it with the evidence that is given."""

    name: str
    check: str
    edit: Edit
    against: bool = False
    """Whether the untouched folder is given as reference."""
    manifest: bool = False
    """Whether the folder keeps its manifest."""
    texts: tuple[str, ...] = ()


# ---- edits ------------------------------------------------------------------------------------


def of_json(name: str, change: Callable[[Any], None]) -> Edit:
    """Change one JSON file."""

    def edit(folder: Path) -> None:
        value = read(folder / name)
        change(value)
        write(folder / name, value)

    return edit


def of_tokenizer(change: Callable[[Any], None], *, parts: bool = True) -> Edit:
    """Change tokenizer.json, and the files beside it that say the same."""

    def edit(folder: Path) -> None:
        of_json("tokenizer.json", change)(folder)
        if parts:
            write_parts(folder)

    return edit


def of_template(old: str, new: str) -> Edit:
    def edit(folder: Path) -> None:
        path = folder / "chat_template.jinja"
        source = path.read_text(encoding="utf-8")
        assert old in source
        path.write_text(source.replace(old, new), encoding="utf-8")

    return edit


def of_tensors(shapes: dict[str, tuple[int, ...]]) -> Edit:
    return lambda folder: tensors(folder, shapes)


def setting(**values: Any) -> Callable[[Any], None]:
    return lambda value: value.update(values)


def parts_of(merge: Any) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else list(merge)


def swap_merges(value: Any) -> None:
    """The first merge that needs the one right before it changes places with it.

    No training gives this order; texts have the same ids, since nothing comes between the two.
    """
    merges = value["model"]["merges"]
    for rank in range(1, len(merges)):
        if "".join(parts_of(merges[rank - 1])) in parts_of(merges[rank]):
            merges[rank - 1], merges[rank] = merges[rank], merges[rank - 1]
            return
    raise AssertionError("no merge needs its neighbour")


def swap_rivals(value: Any) -> None:
    """The first merge, and the next that wants its right symbol on the left: ``a b`` and ``b c``."""
    merges = value["model"]["merges"]
    right = parts_of(merges[0])[1]
    rank = next(rank for rank in range(1, len(merges)) if parts_of(merges[rank])[0] == right)
    merges[0], merges[rank] = merges[rank], merges[0]


def reverse_merges(value: Any) -> None:
    value["model"]["merges"].reverse()


def drop_merge(value: Any) -> None:
    del value["model"]["merges"][0]


def change_split(old: str, new: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        text = json.dumps(value["pre_tokenizer"])
        assert json.dumps(old)[1:-1] in text
        value["pre_tokenizer"] = json.loads(text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))

    return change


def set_stage(name: str, stage: Any) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value[name] = stage

    return change


def prefix_space(value: Any) -> None:
    for step in [value["pre_tokenizer"], *value["pre_tokenizer"].get("pretokenizers", [])]:
        if step["type"] == "ByteLevel":
            step["add_prefix_space"] = True
            return
    raise AssertionError("no ByteLevel")


def without_regex(value: Any) -> None:
    value["pre_tokenizer"] = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False,
    }  # fmt: skip


def without_byte(value: Any) -> None:
    del value["model"]["vocab"]["Ā"]


def without_letter(value: Any) -> None:
    del value["model"]["vocab"]["~"]


def parts_of_characters(value: Any) -> None:
    """Pairs of bytes of which UTF-8 never begins a character: GPT-2 writes these bytes as they are."""
    model = value["model"]
    letters = [chr(byte) for byte in range(0xA1, 0xAD)]
    for left in letters:
        for right in letters:
            if left + right not in model["vocab"]:
                model["vocab"][left + right] = 2000 + len(model["merges"])
                model["merges"].append(
                    [left, right] if not isinstance(model["merges"][0], str) else f"{left} {right}"
                )


def split_by(pattern: str) -> Callable[[Any], None]:
    """Another pattern in place of the split."""

    def change(value: Any) -> None:
        without_regex(value)
        pieces = {
            "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False,
        }  # fmt: skip
        value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [pieces, value["pre_tokenizer"]]}

    return change


def decoder_drops(char: str) -> Callable[[Any], None]:
    """A decoder that leaves out a character."""

    def change(value: Any) -> None:
        drops = {"type": "Replace", "pattern": {"String": char}, "content": ""}
        value["decoder"] = {"type": "Sequence", "decoders": [value["decoder"], drops]}

    return change


def truncate(value: Any, kept: int | None = None) -> None:
    """Keep the first merges, by default a quarter of them, and drop the tokens that the others build."""
    model = value["model"]
    kept = len(model["merges"]) // 4 if kept is None else kept
    lost = {"".join(parts_of(merge)) for merge in model["merges"][kept:]}
    model["merges"] = model["merges"][:kept]
    model["vocab"] = {token: id for token, id in model["vocab"].items() if token not in lost}


def flag(literal: str, **flags: Any) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        entries = [entry for entry in value["added_tokens"] if entry["content"] == literal]
        assert entries
        entries[0].update(flags)

    return change


def flag_everywhere(literal: str, **flags: Any) -> Edit:
    """In tokenizer.json and, where it repeats its tokens, in tokenizer_config.json."""

    def edit(folder: Path) -> None:
        of_tokenizer(flag(literal, **flags))(folder)
        config = read(folder / "tokenizer_config.json")
        for entry in config.get("added_tokens_decoder", {}).values():
            if entry["content"] == literal:
                entry.update(flags)
        if flags.get("special") is False:
            # A role makes a token special.
            for name in [name for name, token in config.items() if token == literal]:
                del config[name]
            config.pop("additional_special_tokens", None)
            config.pop("extra_special_tokens", None)
            (folder / "special_tokens_map.json").unlink(missing_ok=True)
        write(folder / "tokenizer_config.json", config)

    return edit


def duplicate_token(value: Any) -> None:
    """An ordinary token a second time, as an added one that is written with its space."""
    assert "Ġriver" in value["model"]["vocab"]
    last = max(entry["id"] for entry in value["added_tokens"])
    entry = dict(value["added_tokens"][0])
    entry.update(content=" river", id=last + 1, special=False, normalized=False)
    value["added_tokens"].append(entry)


def template_of(*pieces: Any) -> dict[str, Any]:
    """A post-processor that puts tokens around ``A``."""
    shown = [
        {"Sequence": {"id": "A", "type_id": 0}}
        if piece == "A"
        else {"SpecialToken": {"id": piece, "type_id": 0}}
        for piece in pieces
    ]
    return {"single": shown}


def around(*pieces: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        ids = {entry["content"]: entry["id"] for entry in value["added_tokens"]}
        single = template_of(*pieces)["single"]
        value["post_processor"] = {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {
                piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in {*pieces} - {"A"}
            },
        }

    return change


def around_without_config(*pieces: str) -> Edit:
    def edit(folder: Path) -> None:
        of_tokenizer(around(*pieces))(folder)
        of_json("tokenizer_config.json", lambda config: config.pop("add_bos_token", None))(folder)

    return edit


def move_special(value: Any) -> None:
    """Every special token one id further."""
    for entry in value["added_tokens"]:
        entry["id"] += 1


def one_more(value: Any) -> None:
    """A token that the model does not have, before the special ones."""
    vocab = value["model"]["vocab"]
    vocab["ĠrĠ"] = len(vocab)
    move_special(value)


def leave_out(value: Any) -> None:
    """The last ordinary token moves behind all others."""
    vocab = value["model"]["vocab"]
    token = list(vocab)[-1]
    vocab[token] += 20
    for at, entry in enumerate(value["added_tokens"]):
        entry["id"] = vocab[token] + 1 + at


def repeated_tokens(value: Any) -> None:
    """Tokens of one page that a corpus held thousands of times."""
    model = value["model"]
    size = 2000
    token = "Ġ"
    for at, char in enumerate("rawdownloadcloneembedreportprintrawdownloadcloneembedreportprint"):
        if token + char not in model["vocab"]:
            model["merges"].append(
                [token, char] if not isinstance(model["merges"][0], str) else f"{token} {char}"
            )
            model["vocab"][token + char] = size + at
        token += char


def swap_in_vocab_json(value: Any) -> None:
    first, second = list(value)[300:302]
    value[first], value[second] = value[second], value[first]


def other_merges(folder: Path) -> None:
    other = tokenmill.train(
        texts=["another model of other words, said again"] * 9, vocab_size=330, split="cl100k"
    )
    lines = [f"{left.decode('latin-1')} {right.decode('latin-1')}" for left, right in other.merges]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(lines) + "\n", encoding="utf-8")


def merges_out_of_order(folder: Path) -> None:
    path = folder / "merges.txt"
    head, first, second, *rest = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([head, second, first, *rest]), encoding="utf-8")


def shorter_merges(folder: Path) -> None:
    path = folder / "merges.txt"
    path.write_text("\n".join(path.read_text(encoding="utf-8").split("\n")[:100]) + "\n", encoding="utf-8")


def stale(folder: Path) -> None:
    """The file changes, its hash stays."""
    of_json("tokenizer.json", swap_merges)(folder)


def stale_template(folder: Path) -> None:
    of_template("<|im_end|>", "")(folder)


def gone(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()


def stale_vector(manifest: Any) -> None:
    """A recorded text has other ids."""
    next(vector for vector in manifest["golden"] if vector["ids"])["ids"][0] += 1


def of_manifest(**values: Any) -> Edit:
    """Fields of the manifest, which keeps the hashes of its files."""
    return of_json("tokenmill.json", setting(**values))


def stale_hash_entry(folder: Path) -> None:
    def change(manifest: Any) -> None:
        manifest["files"]["tokenizer.json"]["sha256"] = hashlib.sha256(b"another").hexdigest()

    of_json("tokenmill.json", change)(folder)


def broken_json(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_bytes(path.read_bytes()[:-20])


def unknown_merge(value: Any) -> None:
    merges = value["model"]["merges"]
    merges.append("qq zz" if isinstance(merges[0], str) else ["qq", "zz"])


def pad_is_eos(config: Any) -> None:
    config["pad_token"] = config["eos_token"]


def pad_is_a_stranger(config: Any) -> None:
    config["pad_token"] = "[PADDING]"


def eos_is_bos(config: Any) -> None:
    config["eos_token"] = "</s>"


def eos_elsewhere(folder: Path) -> None:
    of_json("tokenizer_config.json", eos_is_bos)(folder)
    (folder / "generation_config.json").unlink()


def shifted_eos(config: Any) -> None:
    eos = config["eos_token_id"]
    config["eos_token_id"] = [id - 1 for id in eos] if isinstance(eos, list) else eos - 1


SLOW_SPLIT = r"(?>(?:[^☃](?!☂)){0,2000}☃)|[\s\S]"
TRUNCATION = {"direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0,
    "pad_type_id": 0, "pad_token": "<pad>",
}  # fmt: skip
HANZI = "河水在夜里慢慢上涨到了早晨低处的田地都被水淹没了"
FOREIGN = tuple(HANZI[at:] + HANZI[:at] for at in range(len(HANZI))) * 22

FAULTS: tuple[Fault, ...] = (
    # the model and its merges
    Fault("two merges swapped", "merge_order", of_tokenizer(swap_merges)),
    Fault("rival merges swapped, by reference", "reference_ids", of_tokenizer(swap_rivals), against=True),
    Fault("merges out of order", "unused_merges", of_tokenizer(reverse_merges)),
    Fault("a merge is missing", "unreachable", of_tokenizer(drop_merge)),
    Fault("a merge is missing, by reference", "reference_ids", of_tokenizer(drop_merge), against=True),
    Fault("a byte is missing", "missing_bytes", of_tokenizer(without_byte)),
    Fault("the vocabulary is cut off", "added_ids", of_tokenizer(truncate)),
    Fault(
        "the vocabulary is cut off, by reference",
        "reference_vocabulary",
        of_tokenizer(truncate),
        against=True,
    ),
    Fault("a letter is missing", "unknown", of_tokenizer(without_letter)),
    Fault("tokens of cut characters", "partial_utf8", of_tokenizer(parts_of_characters)),
    Fault("a token has two ids", "duplicates", of_tokenizer(duplicate_token)),
    Fault("tokens of a repeated page", "over_represented", of_tokenizer(repeated_tokens)),
    Fault("dropout is set", "determinism", of_tokenizer(lambda v: v["model"].update(dropout=0.1))),
    Fault("model.type is missing", "model_type", of_tokenizer(lambda v: v["model"].pop("type"))),
    # split and normalizer
    Fault("numbers by two digits", "split_against_merges", of_tokenizer(change_split("{1,3}", "{1,2}"))),
    Fault(
        "numbers by two digits, by reference",
        "reference_ids",
        of_tokenizer(change_split("{1,3}", "{1,2}")),
        against=True,
    ),
    Fault("the split is removed", "reference_ids", of_tokenizer(without_regex), against=True),
    Fault("a split that reads on", "growth", of_tokenizer(split_by("a*b|a"))),
    Fault("a split that backtracks", "throughput", of_tokenizer(split_by(SLOW_SPLIT))),
    Fault("a space is put in front", "prefix", of_tokenizer(prefix_space)),
    Fault("a space is put in front: texts", "round_trip", of_tokenizer(prefix_space)),
    Fault("a space is put in front, by reference", "reference_ids", of_tokenizer(prefix_space), against=True),
    Fault(
        "lower-casing is added", "normalizer", of_tokenizer(set_stage("normalizer", {"type": "Lowercase"}))
    ),
    Fault(
        "lower-casing is added, by reference",
        "reference_ids",
        of_tokenizer(set_stage("normalizer", {"type": "Lowercase"})),
        against=True,
    ),
    Fault(
        "NFC is added", "reference_ids", of_tokenizer(set_stage("normalizer", {"type": "NFC"})), against=True
    ),
    Fault(
        "NFKC is added",
        "reference_ids",
        of_tokenizer(set_stage("normalizer", {"type": "NFKC"})),
        against=True,
    ),
    Fault(
        "accents are stripped",
        "reference_ids",
        of_tokenizer(
            set_stage(
                "normalizer",
                {
                    "type": "Sequence",
                    "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}],
                },
            )
        ),
        against=True,
    ),
    # decoder and post-processor
    Fault("the decoder is removed", "round_trip", of_tokenizer(set_stage("decoder", None))),
    Fault(
        "the decoder is removed: given text",
        "round_trip_of_text",
        of_tokenizer(set_stage("decoder", None)),
        texts=("the river rose",),
    ),
    Fault(
        "the decoder is removed, by reference",
        "reference_text",
        of_tokenizer(set_stage("decoder", None)),
        against=True,
    ),
    Fault(
        "the decoder of WordPiece",
        "round_trip",
        of_tokenizer(set_stage("decoder", {"type": "WordPiece", "prefix": "##", "cleanup": True})),
    ),
    Fault("the decoder drops a character", "invisible", of_tokenizer(decoder_drops("\u200b"))),
    Fault("BOS twice", "double_bos", around_without_config("<s>", "<s>", "A")),
    Fault(
        "BOS by template and post-processor",
        "double_bos",
        of_template("{% for message in messages %}", "{{ bos_token }}{% for message in messages %}"),
    ),
    Fault(
        "EOS is added, by reference",
        "reference_around",
        around_without_config("<s>", "A", "</s>"),
        against=True,
    ),
    # special tokens and roles
    Fault("end of turn is not special", "special_flags", flag_everywhere("<|im_end|>", special=False)),
    Fault("a special token eats the space before", "atomic", flag_everywhere("<|im_start|>", lstrip=True)),
    Fault("a special token eats the space behind", "atomic", flag_everywhere("<|im_end|>", rstrip=True)),
    Fault("a special token is a whole word only", "atomic", flag_everywhere("</s>", single_word=True)),
    Fault("special ids one further", "reference_vocabulary", of_tokenizer(one_more), against=True),
    Fault("special ids off by one", "added_ids", of_tokenizer(move_special)),
    Fault("an id is left out", "gaps", of_tokenizer(leave_out)),
    Fault("an id is left out: loading", "tolerated", of_tokenizer(leave_out)),
    Fault("padding is eos", "pad_eos", of_json("tokenizer_config.json", pad_is_eos)),
    Fault(
        "padding is a token that is not there", "roles", of_json("tokenizer_config.json", pad_is_a_stranger)
    ),
    Fault(
        "another eos, by reference",
        "reference_roles",
        of_json("tokenizer_config.json", eos_is_bos),
        against=True,
    ),
    Fault(
        "eos is not what ends a turn",
        "end_of_turn",
        eos_elsewhere,
    ),
    # chat template
    Fault("no end of turn", "end_of_turn", of_template("<|im_end|>", "")),
    Fault(
        "no generation prompt",
        "generation_prompt",
        of_template("{% if add_generation_prompt %}", "{% if false %}"),
    ),
    Fault(
        "another generation prompt",
        "generation_prompt",
        of_template("'<|im_start|>assistant\\n' }}{% endif", "'<|im_start|>bot\\n' }}{% endif"),
    ),
    Fault("roles are left out", "template", of_template("message.role", "'user'")),
    Fault(
        "users are left out",
        "template",
        of_template(
            "{% for message in messages %}", "{% for message in messages if message.role != 'user' %}"
        ),
    ),
    Fault("a template that is broken", "template", of_template("{% endfor %}", "{% endfr %}")),
    Fault(
        "the user is trained",
        "labels",
        of_template(
            "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
            "'<|im_end|>\\n' }}",
            "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.role == "
            "'user' %}{% generation %}{{ message.content }}{% endgeneration %}{% else %}{{ message.content "
            "}}{% endif %}{{ '<|im_end|>\\n' }}",
        ),
    ),
    Fault(
        "another template, by reference",
        "reference_chat",
        of_template("'\\n' + message.content", "'\\n\\n' + message.content"),
        against=True,
    ),
    # files of one folder
    Fault("vocab.json with moved ids", "agreement", of_json("vocab.json", swap_in_vocab_json)),
    Fault("vocab.json lacks a token", "agreement", of_json("vocab.json", lambda v: v.pop("er"))),
    Fault("merges.txt of another model", "agreement", other_merges),
    Fault("merges.txt out of order", "agreement", merges_out_of_order),
    Fault("merges.txt cut off", "agreement", shorter_merges),
    Fault(
        "added_tokens.json with other ids",
        "agreement",
        lambda folder: write(folder / "added_tokens.json", {"<pad>": 7}),
    ),
    Fault(
        "special_tokens_map.json of another model",
        "agreement",
        lambda folder: write(folder / "special_tokens_map.json", {"eos_token": "</s>"}),
    ),
    Fault("truncation is active", "file_limits", of_tokenizer(set_stage("truncation", TRUNCATION))),
    Fault("padding is active", "file_limits", of_tokenizer(set_stage("padding", PADDING))),
    Fault(
        "padding sides disagree",
        "padding_side",
        lambda folder: (
            of_tokenizer(set_stage("padding", PADDING))(folder),
            of_json("tokenizer_config.json", setting(padding_side="right"))(folder),
        )[0],
    ),
    Fault("tokenizer.json is cut off", "loads", broken_json),
    Fault("a merge of unknown tokens", "loads", of_tokenizer(unknown_merge)),
    # manifest
    Fault("a file changed after it was saved", "hashes", stale, manifest=True),
    Fault("the template changed after it was saved", "hashes", stale_template, manifest=True),
    Fault("a file is gone", "hashes", gone, manifest=True),
    Fault("a stale hash", "hashes", stale_hash_entry, manifest=True),
    Fault("a recorded text has other ids", "vectors", of_json("tokenmill.json", stale_vector), manifest=True),
    Fault("another size is recorded", "vectors", of_manifest(vocab_size=1), manifest=True),
    Fault(
        "generation padded on the right",
        "padding_side",
        of_manifest(padding_side_train="right", padding_side_generate="right"),
        manifest=True,
    ),
    Fault(
        "trained with the other side",
        "padding_side",
        of_manifest(padding_side_train="left", padding_side_generate="left"),
        manifest=True,
    ),
    # the model
    Fault("a foreign configuration", "config_vocab_size", of_json("config.json", setting(vocab_size=512))),
    Fault(
        "the configuration of a large model",
        "config_vocab_size",
        of_json("config.json", setting(vocab_size=152_064)),
    ),
    Fault("eos is off by one", "config_eos", of_json("config.json", shifted_eos)),
    Fault("eos has no token", "config_eos", of_json("config.json", setting(eos_token_id=4000))),
    Fault("bos is an ordinary token", "config_bos", of_json("config.json", setting(bos_token_id=1))),
    Fault("padding differs", "config_pad", of_json("config.json", setting(pad_token_id=0))),
    Fault("generation stops elsewhere", "generation_eos", of_json("generation_config.json", shifted_eos)),
    Fault(
        "generation pads elsewhere",
        "generation_pad",
        of_json("generation_config.json", setting(pad_token_id=3)),
    ),
    Fault(
        "generation begins elsewhere",
        "generation_bos",
        of_json("generation_config.json", setting(bos_token_id=3)),
    ),
    Fault(
        "the embedding has too few rows",
        "embedding_rows",
        of_tensors({"model.embed_tokens.weight": (700, WIDTH), "lm_head.weight": (700, WIDTH)}),
    ),
    Fault(
        "the head has too few rows",
        "head_rows",
        of_tensors({"model.embed_tokens.weight": (ROWS, WIDTH), "lm_head.weight": (512, WIDTH)}),
    ),
    Fault(
        "head and embedding differ",
        "tied_heads",
        of_tensors({"model.embed_tokens.weight": (ROWS, WIDTH), "lm_head.weight": (ROWS + 64, WIDTH)}),
    ),
    Fault("the head is missing", "tied_heads", of_tensors({"model.embed_tokens.weight": (ROWS, WIDTH)})),
    # texts
    Fault("a vocabulary for another language", "unseen", lambda folder: None, texts=FOREIGN),
)

QUICK = (
    "two merges swapped",
    "numbers by two digits",
    "no end of turn",
    "padding is eos",
    "eos is off by one",
    "a stale hash",
    "a recorded text has other ids",
    "a byte is missing",
    "a foreign configuration",
    "lower-casing is added",
    "vocab.json with moved ids",
    "another template, by reference",
    "the embedding has too few rows",
)
"""The faults of the normal run."""
