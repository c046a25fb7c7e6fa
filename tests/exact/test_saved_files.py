"""Files that go between libraries: what we save others read alike, and what others wrote we do.

Compared with tokenizers 0.23.3, transformers 5.23.0 and tiktoken 0.14.0: ids, offsets, decoded text.
The fast run takes 64 kB of each corpus in pieces of 2 kB, the slow one 1 MB.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import files
from .peer_tokenizers import CORPORA, USER_REGEX, prefix, same_ids, same_lists, samples, saved

SPECIALS = ["<|endoftext|>", "<s>", "<s><s>", "<|a b|>"]

TRAINED: dict[str, dict[str, Any]] = {
    "gpt2": {"split": "gpt2"},
    "cl100k": {"split": "cl100k"},
    "cl100k, special tokens first": {"split": "cl100k", "special_tokens": SPECIALS},
    "cl100k, special tokens last": {
        "split": "cl100k",
        "special_tokens": SPECIALS,
        "special_ids": "last",
        "tie_break": "first-seen",
    },
    "o200k": {"split": "o200k", "tie_break": "huggingface", "special_tokens": SPECIALS},
    "qwen2": {"split": "qwen2", "tie_break": "lexicographic-largest"},
    "whitespace": {"split": "whitespace", "special_tokens": SPECIALS, "special_ids": "last"},
    "none": {"split": "none", "special_tokens": SPECIALS, "max_token_length": 12},
    "user regex": {"split": USER_REGEX, "special_tokens": SPECIALS},
    "characters": {
        "split": "whitespace",
        "alphabet": "chars",
        "end_of_word": "</w>",
        "end_of_word_form": "suffix",
        "unk_token": "<unk>",
        "special_tokens": SPECIALS,
    },
    "characters, special tokens last": {
        "split": "gpt2",
        "alphabet": "chars",
        "unk_token": "<unk>",
        "special_tokens": ["<unk>", *SPECIALS],
        "special_ids": "last",
    },
    "characters alone": {"split": "cl100k", "alphabet": "chars"},
}
RANKS = ["cl100k_base", "o200k_base", "r50k_base", "p50k_base"]

Make = Callable[[str], Any]


@pytest.fixture(scope="module")
def make(native: Any, data: Path) -> Make:
    """A tokenizer of ours by its name: trained on all corpora, or loaded."""
    made: dict[str, Any] = {}
    texts: list[str] = []

    def by_name(name: str) -> Any:
        if name not in made:
            if name in RANKS:
                made[name] = native.load(data / "vocab" / name / f"{name}.tiktoken")
            else:
                if not texts:
                    texts.extend(prefix(data / "corpus" / f"{corpus}.txt", 200_000) for corpus in CORPORA)
                options = TRAINED[name]
                # Without a split the whole text is one pretoken.
                few = [text[:20_000] for text in texts] if options["split"] == "none" else texts
                made[name] = native.train(texts=few, num_merges=3_000, **options)
        return made[name]

    return by_name


def spelled(tok: Any, name: str, texts: list[str]) -> list[str]:
    """The texts without the characters that the tokenizer cannot spell."""
    if name != "characters alone":
        return texts
    known = set("".join(tok.vocab))
    return ["".join(char for char in text if char in known) for text in texts]


def sprinkled(texts: list[str], literals: list[str]) -> list[str]:
    """The same texts with special tokens in them, at any place and in a row."""
    if not literals:
        return []
    draw = random.Random(20)
    out = []
    for text in texts[::7]:
        for _ in range(4):
            at = draw.randint(0, len(text))
            text = text[:at] + "".join(draw.choices(literals, k=draw.randint(1, 3))) + text[at:]
        out.append(text)
    return out


@pytest.fixture(params=[*TRAINED, *RANKS])
def name(request: pytest.FixtureRequest) -> str:
    """One of our tokenizers."""
    chosen: str = request.param
    return chosen


def texts_for(tok: Any, name: str, data: Path, limit: int, adversarial: int) -> list[str]:
    texts = spelled(tok, name, samples(data, 2_048, limit, adversarial))
    return texts + sprinkled(texts, list(tok.special_tokens))


def compare_with_both(tok: Any, name: str, folder: Path, texts: list[str]) -> None:
    """The saved file, read by tokenizers and by transformers."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    path = saved(tok, folder)
    peer = Tokenizer.from_file(str(path))
    compared = same_ids(f"{name} in tokenizers", texts, peer, tok)
    untyped: Any = PreTrainedTokenizerFast
    fast = untyped(tokenizer_file=str(path))
    ids = fast(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"]
    assert same_lists(f"{name} in transformers", texts, ids, (tok.encode(t, special="parse") for t in texts))
    assert len(tok) == peer.get_vocab_size() == len(fast)
    print(f"{name}: {compared} pieces compared with tokenizers and with transformers, 0 differences")


def test_a_saved_file_gives_the_same_ids_elsewhere(name: str, make: Make, data: Path, tmp_path: Path) -> None:
    tok = make(name)
    compare_with_both(tok, name, tmp_path, texts_for(tok, name, data, 64_000, 2_000))


@pytest.mark.slow
def test_a_saved_file_gives_the_same_ids_elsewhere_on_1_mb(
    name: str, make: Make, data: Path, tmp_path: Path
) -> None:
    tok = make(name)
    compare_with_both(tok, name, tmp_path, texts_for(tok, name, data, 1_000_000, 20_000))


def test_a_saved_file_loads_here_as_what_it_was(name: str, make: Make, native: Any, tmp_path: Path) -> None:
    tok = make(name)
    path = saved(tok, tmp_path)
    again = native.load(path)
    assert again == tok
    before = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == before


def test_decoding_gives_the_same_text(name: str, make: Make, data: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    tok = make(name)
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    texts = texts_for(tok, name, data, 8_000, 1_000)
    rows = [tok.encode(text, special="parse") for text in texts]
    draw = random.Random(7)
    # Slices end within characters; ids drawn at random are no text at all.
    rows += [row[draw.randint(0, 9) : draw.randint(10, 60)] for row in rows]
    known = sorted(tok.vocab.values())
    rows += [draw.choices(known, k=12) for _ in range(300)]
    for skip in [False, True]:
        theirs = peer.decode_batch(rows, skip_special_tokens=skip)
        ours = tok.decode_batch(rows, skip_special_tokens=skip)
        same_lists(f"{name}, decoded", [str(row) for row in rows], theirs, ours)
    print(f"{name}: {2 * len(rows)} rows decoded, 0 differences")


def test_offsets_are_the_same(name: str, make: Make, data: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    tok = make(name)
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    texts = texts_for(tok, name, data, 16_000, 2_000)
    theirs = peer.encode_batch(texts, add_special_tokens=False)
    ours = [tok.encode_with_offsets(text, special="parse") for text in texts]
    same_lists(f"{name}, ids", texts, [row.ids for row in theirs], [row.ids for row in ours])
    same_lists(f"{name}, offsets", texts, [row.offsets for row in theirs], [row.offsets for row in ours])
    same_lists(f"{name}, tokens", texts, [row.tokens for row in theirs], [row.tokens for row in ours])
    print(f"{name}: offsets of {len(texts)} pieces compared, 0 differences")


def test_the_literal_of_the_unknown_token_is_as_long_as_it_is(make: Make) -> None:
    tok = make("characters")
    unk = tok.unk_token_id
    text = "a<unk>b"
    encoding = tok.encode_with_offsets(text, special="parse")
    assert encoding.ids[1] == unk
    assert encoding.offsets == [(0, 1), (1, 6), (6, 7)]


def test_an_end_of_word_symbol_of_its_own_cannot_be_saved(native: Any, tmp_path: Path) -> None:
    tok = native.train(
        texts=["low lower"], num_merges=3, split="whitespace", alphabet="chars", end_of_word="</w>"
    )
    with pytest.raises(native.FormatError, match="end-of-word") as raised:
        tok.save(tmp_path / "tokenizer.json")
    assert raised.value.field == "model.end_of_word_suffix"
    assert list(tmp_path.iterdir()) == []


def test_the_score_of_a_special_token_may_be_the_lowest(native: Any, tmp_path: Path) -> None:
    # It decides what an unknown character counts.
    vocab = [["<unk>", 0.0], ["</s>", -100.0], ["a", -1.5], ["b", -2.0], ["ab", -8.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    file = files.file_of(["a"], model=model, added_tokens=[files.special(1, "</s>")])
    ours, theirs = files.both(native, tmp_path, file)
    ours.save(tmp_path / "first.json")
    again, theirs_again = files.both(native, tmp_path, json.loads((tmp_path / "first.json").read_text()))
    assert (again, again.fingerprint) == (ours, ours.fingerprint)
    for text in ("abxab</s>b", "xx a", "ab"):
        ids = theirs.encode(text).ids
        assert theirs_again.encode(text).ids == ids
        assert again.encode(text, special="parse") == ids
        assert again.log_probability(text) == ours.log_probability(text)


def test_ids_of_cl100k_with_holes_are_kept(make: Make, native: Any, tmp_path: Path) -> None:
    """100,256 and 100,261 to 100,275 do not exist; the peer numbers added tokens without holes."""
    from tokenizers import Tokenizer

    tok = make("cl100k_base")
    peer = Tokenizer.from_file(str(saved(tok, tmp_path)))
    for literal, number in tok.special_tokens.items():
        assert peer.token_to_id(literal) == number
        assert native.load(tmp_path / "tokenizer.json").special_tokens[literal] == number


# ---- formats that hold less ---------------------------------------------------------------------

PAIRS = [
    "gpt2",
    "cl100k",
    "cl100k, special tokens first",
    "cl100k, special tokens last",
    "cl100k_base",
    "r50k_base",
]


@pytest.mark.parametrize("name", PAIRS)
def test_vocab_and_merges_saved_give_the_same_ids_elsewhere(
    name: str, make: Make, native: Any, data: Path, tmp_path: Path
) -> None:
    from tokenizers import AddedToken, Tokenizer, models

    tok = make(name)
    with pytest.raises(native.FormatError):
        tok.save(tmp_path / "refused", format="vocab+merges")
    tok.save(tmp_path / "pair", format="vocab+merges", lossy=True)
    files = tmp_path / "pair" / "vocab.json", tmp_path / "pair" / "merges.txt"
    peer = Tokenizer(models.BPE.from_file(*map(str, files)))
    peer.pre_tokenizer = Tokenizer.from_file(str(saved(tok, tmp_path))).pre_tokenizer
    # A literal with a space has a test of its own, below.
    literals = [literal for literal in tok.special_tokens if " " not in literal]
    peer.add_special_tokens([AddedToken(literal, normalized=False) for literal in literals])
    texts = samples(data, 2_048, 64_000, 2_000)
    texts += sprinkled(texts, literals)
    special = set(literals)
    compared = same_ids(f"{name} as vocab.json and merges.txt", texts, peer, tok, special=special)
    again = native.load(tmp_path / "pair", split=tok.split, special_tokens=tok.special_tokens)
    same_ids(f"{name} loaded again", texts, peer, again, special=special)
    assert again.special_tokens == tok.special_tokens
    print(f"{name} as vocab.json and merges.txt: {compared} pieces compared, 0 differences")


def test_a_special_token_with_a_space_has_its_own_spelling_in_vocab_json(native: Any, tmp_path: Path) -> None:
    """As in the vocab of a tokenizer.json; others look literals up as they are."""
    from tokenizers import AddedToken, Tokenizer, models

    literals = ["<|a b|>", "<é>"]
    tok = native.train(texts=["low lower"] * 2, num_merges=3, special_tokens=literals)
    tok.save(tmp_path / "pair", format="vocab+merges", lossy=True)
    files = tmp_path / "pair" / "vocab.json", tmp_path / "pair" / "merges.txt"
    peer = Tokenizer(models.BPE.from_file(*map(str, files)))
    peer.add_special_tokens([AddedToken(literal, normalized=False) for literal in literals])
    assert {literal: peer.token_to_id(literal) for literal in literals} == tok.special_tokens
    again = native.load(tmp_path / "pair", split="cl100k", special_tokens=tok.special_tokens)
    assert again == tok


@pytest.mark.parametrize(
    "name",
    [
        "gpt2",
        "cl100k",
        "cl100k, special tokens first",
        "cl100k, special tokens last",
        "o200k",
        "qwen2",
        "whitespace",
        "user regex",
        "cl100k_base",
        "p50k_base",
    ],
)
def test_ranks_saved_give_the_same_ids_in_tiktoken(
    name: str, make: Make, native: Any, data: Path, tmp_path: Path
) -> None:
    import tiktoken

    tok = make(name)
    path = tmp_path / "ranks.tiktoken"
    with pytest.raises(native.FormatError):
        tok.save(path)
    tok.save(path, lossy=True)
    ranks = {
        base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())
    }
    peer = tiktoken.Encoding(
        "saved",
        pat_str=PATTERNS.get(tok.split, tok.split),
        mergeable_ranks=ranks,
        special_tokens=tok.special_tokens,
    )
    texts = texts_for(tok, name, data, 64_000, 2_000)
    again = native.load(path, split=tok.split, special_tokens=tok.special_tokens)
    parse: tuple[str, Any] = ("parse", "all")
    for special, allowed in [parse, ("text", set())]:
        theirs = [peer.encode(text, allowed_special=allowed, disallowed_special=()) for text in texts]
        for what, one in [("saved", tok), ("loaded again", again)]:
            found = one.encode_batch(texts, special=special).to_lists()
            compared = same_lists(f"{name}, ranks {what}", texts, theirs, found)
    print(f"{name} as ranks: {compared} pieces compared, 0 differences")


_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
# The known splits, written down once more.
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}",
    "qwen2": rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}",
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTIONS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}",
    "whitespace": r" ?\S+|\s+",
}


# ---- files of others ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpt2", "gpt-oss"])
def test_a_published_tokenizer_json_gives_the_same_ids_here(name: str, native: Any, data: Path) -> None:
    from tokenizers import Tokenizer

    path = data / "vocab" / name / "tokenizer.json"
    tok, peer = native.load(path), Tokenizer.from_file(str(path))
    assert len(tok) == peer.get_vocab_size()
    assert tok.vocab == peer.get_vocab()
    texts = texts_for(tok, name, data, 64_000, 2_000)
    compared = same_ids(name, texts, peer, tok)
    theirs = peer.encode_batch(texts, add_special_tokens=False)
    ours = [tok.encode_with_offsets(text, special="parse") for text in texts]
    same_lists(f"{name}, offsets", texts, [row.offsets for row in theirs], [row.offsets for row in ours])
    rows = [row.ids for row in ours]
    theirs_text = peer.decode_batch(rows, skip_special_tokens=False)
    same_lists(f"{name}, text", texts, theirs_text, tok.decode_batch(rows))
    assert tok.decode_batch(rows) == texts
    print(f"{name}: {compared} pieces compared, 0 differences")


def test_the_published_vocab_and_merges_of_gpt2_need_no_split(native: Any, data: Path) -> None:
    from tokenizers import Tokenizer

    folder = data / "vocab" / "gpt2"
    peer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for path in [folder / "vocab.json", folder / "merges.txt"]:
        tok = native.load(path)
        assert tok.split == "gpt2"
        assert tok.special_tokens == {"<|endoftext|>": 50_256}
        assert tok.vocab == peer.get_vocab()
        texts = texts_for(tok, "gpt2", data, 64_000, 2_000)
        compared = same_ids(path.name, texts, peer, tok)
        print(f"gpt2 by its {path.name}: {compared} pieces compared, 0 differences")


def test_a_score_with_many_digits_is_kept(native: Any, tmp_path: Path) -> None:
    """Of 17 digits tokenizers reads the number beside the nearest, and so on with each save."""
    from tokenizers import Tokenizer
    from tokenizers.models import Unigram

    def score(path: Path) -> float:
        """What the peer reads."""
        found: float = json.loads(Tokenizer.from_file(str(path)).to_str())["model"]["vocab"][1][1]
        return found

    first, ours, again = (tmp_path / f"{name}.json" for name in ("first", "ours", "again"))
    written = -3.7643179893493652
    Tokenizer(Unigram([("<unk>", 0.0), ("a", written)], 0)).save(str(first))
    assert score(first) != written
    tok = native.load(first)
    tok.save(ours)
    assert score(ours) == score(first)
    assert native.load(ours) == tok
    native.load(ours).save(again)
    assert again.read_bytes() == ours.read_bytes()
