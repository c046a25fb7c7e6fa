"""Random tokenizer.json files, made of every component with random legal settings, and texts for them."""

from __future__ import annotations

import random
from typing import Any

from .files import file_of

Json = dict[str, Any]

CHARS = [
    "a",
    "b",
    "c",
    "A",
    "é",
    "e",
    "\u0301",
    "漢",
    "1",
    ".",
    "'",
    "▁",
    "Ġ",
    " ",
    " ",
    "\n",
    "İ",
    "ß",
    "😀",
]
# As the byte alphabet writes what the texts are made of.
BYTES = "abcAe1.'ĠĊÃ©ÌģæŃ±¢âĸ±ÄłÄ°ÃŁðŁĺĢ"
WORDS = ["ab", "a b", "ca", "<s>", "Ab", "ée", "e\u0301", "##a", "▁a", "</w>", "l'a", "11", "..", "漢a"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SCHEMES = ["always", "first", "never"]
PATTERNS = [
    {"String": "a"},
    {"String": " "},
    {"String": "ab"},
    {"Regex": "\\s+"},
    {"Regex": "[ab]+"},
    {"Regex": "\\p{L}"},
    {"Regex": "a|1"},
    {"Regex": "(?=b)"},
]


class Drawn(random.Random):
    """Choices that components are made of."""

    def flag(self, share: float = 0.5) -> bool:
        return self.random() < share

    def text(self, most: int) -> str:
        parts = [
            self.choice(CHARS) if self.flag(0.8) else self.choice(WORDS) for _ in range(self.randint(0, most))
        ]
        return "".join(parts)


def normalizer(drawn: Drawn) -> Json:
    kind = drawn.choice(
        [
            "NFC",
            "NFD",
            "NFKC",
            "NFKD",
            "Lowercase",
            "StripAccents",
            "Nmt",
            "Strip",
            "Replace",
            "Prepend",
            "ByteLevel",
            "BertNormalizer",
        ]
    )
    more: dict[str, Json] = {
        "Strip": {"strip_left": drawn.flag(), "strip_right": drawn.flag()},
        "Replace": {
            "pattern": drawn.choice(PATTERNS[:-1]),
            "content": drawn.choice(["", "▁", "x", "ab", "é", " "]),
        },
        "Prepend": {"prepend": drawn.choice(["▁", "a", "b "])},
        "BertNormalizer": {
            "clean_text": drawn.flag(),
            "handle_chinese_chars": drawn.flag(),
            "strip_accents": drawn.choice([None, True, False]),
            "lowercase": drawn.flag(),
        },
    }
    return {"type": kind, **more.get(kind, {})}


def byte_level(drawn: Drawn) -> Json:
    flags = {name: drawn.flag() for name in ("add_prefix_space", "trim_offsets", "use_regex")}
    return {"type": "ByteLevel", **flags}


def metaspace(drawn: Drawn) -> Json:
    scheme = drawn.choice(SCHEMES)
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": drawn.flag()}


def pre_tokenizer(drawn: Drawn) -> Json:
    kind = drawn.choice(
        [
            "ByteLevel",
            "BertPreTokenizer",
            "Metaspace",
            "Whitespace",
            "WhitespaceSplit",
            "CharDelimiterSplit",
            "Split",
            "Punctuation",
            "Digits",
            "UnicodeScripts",
            "FixedLength",
        ]
    )
    more: dict[str, Json] = {
        "ByteLevel": byte_level(drawn),
        "Metaspace": metaspace(drawn),
        "CharDelimiterSplit": {"delimiter": drawn.choice("a .")},
        "Split": {
            "pattern": drawn.choice(PATTERNS),
            "behavior": drawn.choice(BEHAVIORS),
            "invert": drawn.flag(),
        },
        "Punctuation": {"behavior": drawn.choice(BEHAVIORS)},
        "Digits": {"individual_digits": drawn.flag()},
        "FixedLength": {"length": drawn.randint(1, 4)},
    }
    return {"type": kind, **more.get(kind, {})}


def decoder(drawn: Drawn) -> Json:
    kind = drawn.choice(
        [
            "ByteLevel",
            "WordPiece",
            "Metaspace",
            "BPEDecoder",
            "CTC",
            "ByteFallback",
            "Fuse",
            "Strip",
            "Replace",
        ]
    )
    more: dict[str, Json] = {
        "ByteLevel": byte_level(drawn),
        "WordPiece": {"prefix": drawn.choice(["##", "a"]), "cleanup": drawn.flag()},
        "Metaspace": metaspace(drawn),
        "BPEDecoder": {"suffix": drawn.choice(["</w>", "a"])},
        "CTC": {
            "pad_token": drawn.choice(["a", "<p>"]),
            "word_delimiter_token": drawn.choice(["b", "|"]),
            "cleanup": drawn.flag(),
        },
        "Strip": {"content": drawn.choice(" a▁"), "start": drawn.randint(0, 2), "stop": drawn.randint(0, 1)},
        "Replace": {"pattern": drawn.choice(PATTERNS[:-1]), "content": drawn.choice(["", " ", "ab"])},
    }
    return {"type": kind, **more.get(kind, {})}


def template(drawn: Drawn) -> Json:
    def piece(name: str) -> Json:
        return {"SpecialToken": {"id": name, "type_id": drawn.randint(0, 2)}}

    def sequence(name: str) -> Json:
        return {"Sequence": {"id": name, "type_id": drawn.randint(0, 2)}}

    ends = [[piece("[C]")] if drawn.flag() else [] for _ in range(3)]
    pair = [*ends[0], sequence("A"), *ends[1], sequence("B"), *ends[2]]
    tokens = {"[C]": {"id": "[C]", "ids": [0, 1][: drawn.randint(1, 2)], "tokens": ["x", "y"]}}
    tokens["[C]"]["tokens"] = ["x", "y"][: len(tokens["[C]"]["ids"])]
    return {
        "type": "TemplateProcessing",
        "single": [*ends[1], sequence("A"), *ends[2]],
        "pair": pair,
        "special_tokens": tokens,
    }


def post_processor(drawn: Drawn) -> Json:
    kind = drawn.choice(["ByteLevel", "BertProcessing", "RobertaProcessing", "TemplateProcessing"])
    if kind == "TemplateProcessing":
        return template(drawn)
    if kind == "ByteLevel":
        return byte_level(drawn)
    frame: Json = {"type": kind, "sep": ["b", 1], "cls": ["a", 0]}
    if kind == "RobertaProcessing":
        frame |= {"trim_offsets": drawn.flag(), "add_prefix_space": drawn.flag()}
    return frame


def several(drawn: Drawn, make: Any, list_name: str, most: int) -> Json | None:
    """None, one component, or a sequence of them."""
    count = drawn.choice([0, 1, 1, *range(2, most + 1)])
    parts = [make(drawn) for _ in range(count)]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 and drawn.flag() else {"type": "Sequence", list_name: parts}


def tokens_of(drawn: Drawn, chars: list[str], count: int, most: int) -> list[str]:
    made = ["".join(drawn.choices(chars, k=drawn.randint(1, most))) for _ in range(count)]
    return list(dict.fromkeys(made))


def bpe(drawn: Drawn, chars: list[str]) -> Json:
    prefix = drawn.choice([None, None, "##", "a"])
    suffix = drawn.choice([None, None, "</w>", "b"])
    byte_fallback = drawn.flag(0.3)
    tokens = dict.fromkeys(["<unk>"])
    for char in chars:
        for before in ("", prefix or ""):
            for after in ("", suffix or ""):
                if drawn.flag(0.8):
                    tokens[before + char + after] = None
    if byte_fallback:
        tokens |= dict.fromkeys(f"<0x{byte:02X}>" for byte in range(256) if drawn.flag(0.98))
    merges: dict[tuple[str, str], None] = {}
    parts = [token for token in tokens if not token.startswith("<0x")]
    for _ in range(drawn.randint(0, 16)):
        left, right = drawn.choices(parts, k=2)
        if right.startswith(prefix or ""):
            joined = left + right[len(prefix or "") :]
            tokens[joined] = None
            parts.append(joined)
            merges[left, right] = None
    return {
        "type": "BPE",
        "vocab": numbered(drawn, list(tokens)),
        "merges": [list(merge) for merge in merges],
        "unk_token": "<unk>",
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": drawn.flag(),
        "byte_fallback": byte_fallback,
        "ignore_merges": drawn.flag(),
    }


def numbered(drawn: Drawn, tokens: list[str]) -> dict[str, int]:
    """Ids in order; sometimes with a hole, or one id for two tokens."""
    ids = list(range(len(tokens)))
    if drawn.flag(0.15) and len(tokens) > 4:
        ids[-1] += drawn.randint(1, 3)
    if drawn.flag(0.1) and len(tokens) > 4:
        ids[3] = ids[2]
    return dict(zip(tokens, ids, strict=True))


def model(drawn: Drawn, chars: list[str]) -> Json:
    kind = drawn.choice(["BPE", "WordPiece", "WordLevel", "Unigram"])
    if kind == "BPE":
        return bpe(drawn, chars)
    tokens = [
        "<unk>",
        *[char for char in dict.fromkeys(chars) if drawn.flag(0.8)],
        *tokens_of(drawn, chars, 24, 3),
    ]
    tokens = list(dict.fromkeys(tokens))
    if kind == "WordLevel":
        return {"type": kind, "vocab": numbered(drawn, tokens), "unk_token": "<unk>"}
    if kind == "WordPiece":
        prefix = drawn.choice(["##", "a", ""])
        followers = [prefix + token for token in tokens[1:] if drawn.flag(0.8)]
        return {
            "type": kind,
            "vocab": numbered(drawn, list(dict.fromkeys([*tokens, *followers]))),
            "unk_token": "<unk>",
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": drawn.choice([3, 5, 100]),
        }
    byte_fallback = drawn.flag(0.4)
    if byte_fallback:
        tokens += [f"<0x{byte:02X}>" for byte in range(256) if drawn.flag(0.98)]
    if drawn.flag(0.2):
        tokens.append(drawn.choice(tokens[1:]))
    scores = [drawn.choice([-1.0, -1.5, -2.0, -3.0, -4.25, drawn.uniform(-9, -1)]) for _ in tokens]
    vocab = [[token, score] for token, score in zip(tokens, scores, strict=True)]
    return {"type": kind, "unk_id": 0, "vocab": vocab, "byte_fallback": byte_fallback}


def added_tokens(drawn: Drawn, vocab: list[str]) -> list[Json]:
    contents: dict[str, None] = {}
    for _ in range(drawn.choice([0, 1, 2, 3, 5])):
        content = drawn.choice(WORDS) if drawn.flag() else drawn.text(3)
        if drawn.flag(0.2):
            content = drawn.choice(vocab)
        contents[content] = None
    # What the vocabulary has is no special token: text would become it there (law 9).
    flags = ["single_word", "lstrip", "rstrip"]
    return [
        {
            "id": number,
            "content": content,
            **{name: drawn.flag(0.25) for name in flags},
            "normalized": drawn.flag(0.4),
            "special": content not in vocab and drawn.flag(0.4),
        }
        for number, content in enumerate(contents)
    ]


def random_file(drawn: Drawn) -> Json:
    """A whole file."""
    before = several(drawn, pre_tokenizer, "pretokenizers", 3)
    first = several(drawn, normalizer, "normalizers", 3)
    in_bytes = "ByteLevel" in str([before, first])
    chars = list(BYTES) if in_bytes else list(dict.fromkeys(CHARS))
    made = model(drawn, chars)
    vocab = [entry if isinstance(entry, str) else entry[0] for entry in made["vocab"]]
    return file_of(
        [""],
        model=made,
        added_tokens=added_tokens(drawn, vocab),
        normalizer=first,
        pre_tokenizer=before,
        post_processor=several(drawn, post_processor, "processors", 2),
        decoder=several(drawn, decoder, "decoders", 3),
    )


def random_texts(drawn: Drawn, file: Json, count: int) -> list[str]:
    """Texts with the added tokens of a file in them."""
    contents = [token["content"] for token in file["added_tokens"]] or [" "]
    return [
        "".join(
            drawn.choice(contents) if drawn.flag(0.25) else drawn.text(4) for _ in range(drawn.randint(0, 5))
        )
        for _ in range(count)
    ]
