"""`tokenmill.compat.transformers` beside transformers 5.23: every published folder, every setting.

Each test has two tokenizers made from the same folder, one of them attached. What they return must be
the same, but for offsets that docs/differences.md explains.
"""

from __future__ import annotations

import copy
import itertools
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .test_folders import PUBLISHED, auto, covers, texts

os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})
# Its threads cost more than they bring with texts as short as these.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# These have no configuration, and are loaded as files.
FILES = ["deepseek-v3", "gpt2", "llama3", "llama3.1", "mistral-nemo"]
# Those whose families are among the others.
LATER = [
    "deepseek-v3",
    "gpt-oss",
    "llama3",
    "llama3.1",
    "mistral-7b-v0.3",
    "mistral-nemo",
    "phi-3-mini",
    "qwen3",
    "whisper-tiny",
]
NAMES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LATER else []) for name in [*PUBLISHED, *FILES]
]
SPLIT = {"is_split_into_words": True}
SINGLE = ["Hello world", "", " a  b", "naïve café 🙂 \u200d x", "don't stop, it's 1234567 o'clock"]
# Characters of a text in the calls of every kind, and tokens that a model takes there.
LONGEST = 100
FEW_TOKENS = 64
WORDS = [["Hello", "world"], [], ["", "a b", "  "], ["naïve", "🙂🙂", "don't"]]


@pytest.fixture(scope="module", autouse=True)
def _ours(native: Any) -> None:
    """All of it needs the package."""


def plain_tokenizer(folder: Path) -> Any:
    transformers: Any = pytest.importorskip("transformers")

    if (folder / "tokenizer_config.json").is_file():
        made = auto(folder)
    else:
        made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    if made.pad_token is None:
        first = min(made.added_tokens_decoder.items(), key=lambda entry: entry[0])
        made.pad_token = first[1].content
    return made


def attached(theirs: Any, **options: Any) -> Any:
    """A tokenizer with the same settings, attached. A deepcopy would be another one where it is Unigram."""
    from tokenmill.compat.transformers import attach

    ours = attach(copy.copy(theirs), **options)
    ours.__dict__ = {
        name: value if name == "_tokenizer" else copy.deepcopy(value) for name, value in vars(ours).items()
    }
    return ours


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, data: Path) -> tuple[Any, Any]:
    """A tokenizer, and another that is the same, but attached."""
    theirs = plain_tokenizer(data / "vocab" / request.param)
    return theirs, attached(theirs)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or that it fails."""
    try:
        return call()
    except BaseException as error:
        # A panic is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return type(error)
        raise


class Count:
    """How many results were compared, and how many offsets docs/differences.md explains."""

    def __init__(self) -> None:
        self.results = self.errors = self.explained = 0

    def __str__(self) -> str:
        return (
            f"{self.results} results and {self.errors} errors compared, 0 differences, "
            f"{self.explained} encodings with offsets explained"
        )

    def same(self, theirs: Any, ours: Any, *, normalizes: bool, what: Any = None) -> None:
        if isinstance(theirs, type):
            # Errors of the tokenizers library have no type of their own.
            assert isinstance(ours, type), (what, theirs, ours)
            assert issubclass(ours, Exception)
            self.errors += 1
            return
        assert not isinstance(ours, type), (what, ours)
        assert theirs.keys() == ours.keys(), what
        self.results += 1
        for key in theirs:
            # These are compared encoding by encoding.
            if key not in ("offset_mapping", "token_type_ids"):
                assert plain_lists(theirs[key]) == plain_lists(ours[key]), (what, key)
        assert len(theirs.encodings) == len(ours.encodings), what
        samples = theirs.get("overflow_to_sample_mapping", range(len(theirs.encodings)))
        is_first = [i == 0 or samples[i] != samples[i - 1] for i in range(len(theirs.encodings))]
        for first, want, got in zip(is_first, theirs.encodings, ours.encodings, strict=True):
            # The types of other windows are not those of the template there (docs/differences.md).
            assert want.type_ids == got.type_ids or not first, what
            self.same_encoding(want, got, normalizes, what)
            if "overflow_to_sample_mapping" not in theirs:
                # Windows have windows of their own there, too (docs/differences.md).
                assert len(want.overflowing) == len(got.overflowing), what

    def same_encoding(self, want: Any, got: Any, normalizes: bool, what: Any) -> None:
        for name in ("ids", "attention_mask", "special_tokens_mask", "word_ids", "tokens"):
            assert getattr(want, name) == getattr(got, name), (what, name)
        assert want.n_sequences == got.n_sequences, what
        if 0 in want.attention_mask and want.sequence_ids != got.sequence_ids:
            # Padding belongs to no sequence here (docs/differences.md).
            is_text = [bool(mask) for mask in want.attention_mask]
            assert list(itertools.compress(want.sequence_ids, is_text)) == list(
                itertools.compress(got.sequence_ids, is_text)
            ), what
        else:
            assert want.sequence_ids == got.sequence_ids, what
        assert len(want) == len(got)
        if want.offsets != got.offsets:
            assert normalizes, what
            assert covers(got.offsets, want.offsets), what
            self.explained += 1


def plain_lists(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def normalizes(theirs: Any) -> bool:
    return theirs.backend_tokenizer.normalizer is not None


# ---- calls --------------------------------------------------------------------------------------


CHOICES: dict[str, list[Any]] = {
    "add_special_tokens": [True, False],
    "padding": [False, True, "longest", "max_length", "do_not_pad"],
    "truncation": [False, True, "longest_first", "only_first", "only_second", "do_not_truncate"],
    "max_length": [None, 1, 2, 3, 6, 9, 20],
    "stride": [0, 0, 0, 0, 1, 2],
    "pad_to_multiple_of": [None, None, 8],
    "padding_side": [None, "left", "right"],
    "return_overflowing_tokens": [False, True],
    "return_token_type_ids": [None, True],
    "return_special_tokens_mask": [True],
    "return_offsets_mapping": [True],
    "return_length": [False, True],
}
SIDES = ["left", "right"]
PAIRS = {
    frozenset([(name, value), (other, another)])
    for (name, values), (other, others) in itertools.combinations({**CHOICES, "side": SIDES}.items(), 2)
    for value, another in itertools.product(values, others)
}
"""Every value of each setting with every value of each other one."""


def settings(rng: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Some of the combinations of all settings, each of which is in some."""
    for _ in range(count):
        yield {name: rng.choice(values) for name, values in CHOICES.items()}


@pytest.mark.parametrize(
    "combinations", [40, pytest.param(500, marks=pytest.mark.slow)], ids=["sample", "all"]
)
def test_calls_of_every_kind_with_every_setting(combinations: int, pair: tuple[Any, Any], data: Path) -> None:
    """Each kind of call with each combination; in the slow run every two settings meet in all ways."""
    theirs, ours = pair
    rng = random.Random(len(theirs))
    pool = [*SINGLE, *texts(theirs, data, 100)]
    count = Count()
    # Some models take 131,072 tokens: texts that are filled up to so many show no more, and none is longer.
    model_max_length = theirs.model_max_length
    if model_max_length < 10**6:
        theirs.model_max_length = ours.model_max_length = min(model_max_length, FEW_TOKENS)
    pairs_seen: set[frozenset[tuple[str, Any]]] = set()
    for chosen in settings(rng, combinations):
        side = theirs.truncation_side = ours.truncation_side = rng.choice(SIDES)
        pairs_seen.update(map(frozenset, itertools.combinations({**chosen, "side": side}.items(), 2)))
        # In windows of one token a long text has as many windows as tokens, and shows no more.
        batch = [rng.choice(pool)[:LONGEST] for _ in range(rng.randint(1, 4))]
        others = [rng.choice(pool)[:LONGEST] for _ in batch]
        words = [rng.choice(WORDS) for _ in batch]
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            ((batch[0],), {}),
            ((batch,), {}),
            ((batch[0], others[0]), {}),
            ((batch, others), {}),
            ((words[0],), SPLIT),
            ((words,), SPLIT),
            ((words[0], words[-1]), SPLIT),
            ((words, words[::-1]), SPLIT),
        ]
        for arguments, split in calls:
            want = outcome(partial(theirs, *arguments, **chosen, **split))
            got = outcome(partial(ours, *arguments, **chosen, **split))
            count.same(want, got, normalizes=normalizes(theirs), what=(chosen, arguments))
    theirs.truncation_side = ours.truncation_side = "right"
    theirs.model_max_length = ours.model_max_length = model_max_length
    print(f"\n{type(theirs).__name__}: {count}")
    assert count.results > combinations
    assert combinations < 500 or pairs_seen == PAIRS


@pytest.mark.parametrize("split_special_tokens", [False, True])
def test_texts_and_what_is_looked_up_in_them(
    split_special_tokens: bool, pair: tuple[Any, Any], data: Path
) -> None:
    theirs, ours = pair
    count = Count()
    forged = 0
    unknown = theirs.backend_tokenizer.token_to_id(theirs.unk_token or "")
    special = {id for id, token in theirs.added_tokens_decoder.items() if token.special} - {unknown}
    for text in texts(theirs, data, 60):
        options = {"split_special_tokens": split_special_tokens, "return_offsets_mapping": True}
        want, got = theirs(text, **options), ours(text, **options)
        if split_special_tokens and want["input_ids"] != got["input_ids"]:
            # The model of the peer spells the literal of a special token (law 9), or of the unknown one.
            added = set(theirs("")["input_ids"])
            assert (set(want["input_ids"]) & special) - added or theirs.unk_token in text, text
            assert not (set(got["input_ids"]) & special) - added, text
            forged += 1
            continue
        count.same(want, got, normalizes=normalizes(theirs), what=text)
        assert theirs.tokenize(text) == ours.tokenize(text)
        if want["offset_mapping"] != got["offset_mapping"]:
            continue
        places = range(0, min(len(text), 60))
        for name in ("char_to_token", "char_to_word"):
            lookups = [[getattr(one, name)(place) for place in places] for one in (want, got)]
            assert lookups[0] == lookups[1], (text, name)
        for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
            places = range(min(len(want["input_ids"]), 60))
            lookups = [[getattr(one, name)(place) for place in places] for one in (want, got)]
            assert lookups[0] == lookups[1], (text, name)
        for word in {word for word in want.word_ids()[:60] if word is not None}:
            for name in ("word_to_tokens", "word_to_chars"):
                assert getattr(want, name)(word) == getattr(got, name)(word), (text, name)
    print(f"\n{type(theirs).__name__}: {count}, {forged} texts became special tokens in the peer")


def test_ids_to_text(pair: tuple[Any, Any], data: Path) -> None:
    theirs, ours = pair
    rng = random.Random(1)
    rows = [theirs(text)["input_ids"] for text in texts(theirs, data, 40)]
    rows += [[rng.randrange(len(theirs)) for _ in range(rng.randint(0, 30))] for _ in range(200)]
    rows += [[len(theirs) + 5, *rows[2]]]
    for options in [{}, {"skip_special_tokens": True}, {"clean_up_tokenization_spaces": True}]:
        assert [ours.decode(row, **options) for row in rows] == [
            theirs.decode(row, **options) for row in rows
        ]
        assert ours.batch_decode(rows, **options) == theirs.batch_decode(rows, **options)
    assert ours.decode(rows[2][0]) == theirs.decode(rows[2][0])
    tokens = [ours.convert_ids_to_tokens(row) for row in rows]
    assert tokens == [theirs.convert_ids_to_tokens(row) for row in rows]
    known = [[token for token in row if token is not None] for row in tokens]
    assert [ours.convert_tokens_to_string(row) for row in known] == [
        theirs.convert_tokens_to_string(row) for row in known
    ]
    assert ours.convert_tokens_to_ids(known[2]) == theirs.convert_tokens_to_ids(known[2])
    assert ours.get_vocab() == theirs.get_vocab()
    assert (len(ours), ours.vocab_size) == (len(theirs), theirs.vocab_size)
    assert ours.num_special_tokens_to_add(True) == theirs.num_special_tokens_to_add(True)


def test_numpy_arrays_and_pad(pair: tuple[Any, Any]) -> None:
    theirs, ours = pair
    options = {"return_tensors": "np", "padding": True, "truncation": True, "max_length": 12}
    for side in ("left", "right"):
        want, got = theirs(SINGLE, padding_side=side, **options), ours(SINGLE, padding_side=side, **options)
        assert {name: value.tolist() for name, value in want.items()} == {
            name: value.tolist() for name, value in got.items()
        }
    rows = [{"input_ids": one(text)["input_ids"]} for one in (ours,) for text in SINGLE]
    assert ours.pad(rows, padding=True)["input_ids"] == theirs.pad(rows, padding=True)["input_ids"]


# ---- templates ----------------------------------------------------------------------------------

CHAT = [
    {"role": "user", "content": "How many <|im_end|> are there?"},
    {"role": "assistant", "content": "Two, naïvely é."},
    {"role": "user", "content": "Thanks 🙂"},
    {"role": "assistant", "content": "  Not at all.\n"},
]
MARKED = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
)


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("qwen2.5", "Qwen-Qwen2.5-7B-Instruct"),
        ("qwen2.5", None),
        ("llama2", "mistral-7b-v0.3"),
        ("phi-3-mini", "microsoft-Phi-3.5-mini-instruct"),
        pytest.param("gpt-oss", "openai-gpt-oss-120b", marks=pytest.mark.slow),
        pytest.param("qwen3", "Qwen-Qwen3-0.6B", marks=pytest.mark.slow),
    ],
)
def test_chat_templates(name: str, template: str | None, data: Path) -> None:
    pytest.importorskip("jinja2")
    theirs = plain_tokenizer(data / "vocab" / name)
    theirs.chat_template = (
        (data / "templates" / f"{template}.jinja").read_text(encoding="utf-8") if template else MARKED
    )
    ours = attached(theirs)
    every: list[dict[str, Any]] = [
        {"return_dict": True},
        {"return_dict": False},
        {"return_dict": True, "add_generation_prompt": True},
        {"return_dict": True, "return_tensors": "np"},
        {"return_dict": True, "max_length": 9, "truncation": True, "padding": "max_length"},
        {"tokenize": False},
        {"return_dict": True, "sanitize_control_tokens": True},
    ]
    if template is None:
        every.append({"return_dict": True, "return_assistant_tokens_mask": True})
    for options in every:
        for chat in (CHAT[:1], CHAT, [CHAT[:3], CHAT]):
            if "return_tensors" in options and chat[0] == CHAT[:3]:
                continue
            want = outcome(partial(theirs.apply_chat_template, chat, **options))
            got = outcome(partial(ours.apply_chat_template, chat, **options))
            assert not isinstance(want, type) or "sanitize_control_tokens" in options
            if not isinstance(want, str | list | type):
                want, got = ({key: plain_lists(one[key]) for key in one} for one in (want, got))
            assert got == want, (options, chat)
    if template is None:
        mask = ours.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)
        assert 0 < sum(mask["assistant_masks"]) < len(mask["assistant_masks"])
