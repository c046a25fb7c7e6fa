"""Rows: arguments and items of a wrong type. Each is named, with its place, what it must be and is."""

from __future__ import annotations

from collections import UserDict
from typing import Any

from errors.making import Exports, Run, Streams, array, column, forcing, load, rows, train, with_tok


def made(name: str, *tables: Any, **options: Any) -> Run:
    """Call this constructor."""
    return lambda native, _: getattr(native.Tokenizer, name)(*tables, **options)


def trained_on(files: Any) -> Run:
    return lambda native, _: native.train(files, num_merges=1)


CALLS = rows(
    TypeError,
    ("None as a path", lambda native, _: native.load(None), "path must be str or os.PathLike, not NoneType"),
    ("bytes as a path", lambda native, _: native.load(b"x"), "path must be str or os.PathLike, not bytes"),
    ("text as seconds", with_tok(lambda tok, _: tok.audit(seconds="3")), "must be real number, not str"),
    (
        "half a byte",
        with_tok(lambda tok, _: tok.audit(max_bytes=0.5)),
        "max_bytes must be an integer, not float",
    ),
    (
        "numbers as untrusted ranges",
        with_tok(lambda tok, _: tok.encode("low", untrusted=[0, 3])),
        "untrusted[0] must be a pair (start, stop), not int",
    ),
    (
        "text as an untrusted range",
        with_tok(lambda tok, _: tok.encode("low", untrusted=["ab"])),
        "untrusted[0] must be a pair (start, stop), not str",
    ),
    (
        "half a character as an untrusted range",
        with_tok(lambda tok, _: tok.encode("low", untrusted=[(0, 0.5)])),
        "untrusted[0][1] must be an integer, not float",
    ),
    (
        "a number as untrusted ranges of a row",
        with_tok(lambda tok, _: tok.encode_batch(["low"], untrusted=[3])),
        "untrusted[0] must be a sequence of pairs (start, stop), not int",
    ),
    (
        "one literal as what is protected",
        with_tok(lambda tok, _: tok.encode("low", protected="<s>")),
        "protected must be a collection of str and int, not str",
    ),
    (
        "bytes as what is protected",
        with_tok(lambda tok, _: tok.encode("low", protected=[b"<s>"])),
        "protected[0] must be an integer, not bytes",
    ),
    ("a number as text", with_tok(lambda tok, _: tok.encode(3)), "text must be str, bytes, bytearray or"),
    ("None as text", with_tok(lambda tok, _: tok.count(None)), "not NoneType"),
    (
        "an encoding as ids",
        with_tok(lambda tok, _: tok.decode(tok("low"))),
        "such as the .ids of what was given, not Encoding",
    ),
    ("texts with counts as files", trained_on({"low": 5}), "not dict; texts go into texts="),
    ("one text as a batch", with_tok(lambda tok, _: tok.encode_batch("low")), "wrap it in a list"),
    ("one text to count", with_tok(lambda tok, _: tok.count_batch(b"low")), "wrap it in a list"),
    ("a number as a batch", with_tok(lambda tok, _: tok.encode_batch(3)), "texts must be an iterable of"),
    ("a batch of numbers", with_tok(lambda tok, _: tok.encode_batch(["a", 3])), "texts[1] must be str"),
    (
        "a batch of numbers to count",
        with_tok(lambda tok, _: tok.count_batch(["a", "b", None])),
        "texts[2] must be str, bytes, bytearray or memoryview, not NoneType",
    ),
    (
        "an Arrow array of numbers as a batch",
        with_tok(lambda tok, _: tok.encode_batch(column([1]))),
        "texts is an Arrow array of int64, but must be of string, large_string or",
    ),
    (
        "an Arrow array of lists to count",
        with_tok(lambda tok, _: tok.count_batch(column([["low"]]))),
        "Arrow array of list, but",
    ),
    (
        "an Arrow array with a dictionary of numbers",
        with_tok(lambda tok, _: tok.encode_batch(column([1]).dictionary_encode())),
        "cast it, or pass a list of texts",
    ),
    (
        "a stream that is none",
        with_tok(lambda tok, _: tok.encode_arrow(Streams((1, 2)))),
        "what data.__arrow_c_stream__() gives must be the capsule of a stream, not tuple",
    ),
    (
        "a list for encode_arrow",
        with_tok(lambda tok, _: tok.encode_arrow(["low"])),
        "data must be an Arrow batch, table or stream",
    ),
    (
        "a column of numbers",
        with_tok(lambda tok, _: tok.encode_arrow(column([{"text": 1}]))),
        'column "text" of data is an Arrow array of int64, but',
    ),
    (
        "an export that is none",
        with_tok(lambda tok, _: tok.encode_batch(Exports((1, 2)))),
        "what texts.__arrow_c_array__() gives must be the capsules of a schema and of an array, not tuple",
    ),
    ("text as ids", with_tok(lambda tok, _: tok.decode("low")), "not text"),
    ("bytes as ids", with_tok(lambda tok, _: tok.decode(b"low")), "not text"),
    ("a bytearray as ids", with_tok(lambda tok, _: tok.decode(bytearray(b"low"))), "not text"),
    ("a number as a level", forcing(2), "level must be str, not int"),
    ("one id as ids", with_tok(lambda tok, _: tok.decode(3)), "write [3]"),
    (
        "None as ids",
        with_tok(lambda tok, _: tok.decode(None)),
        "ids must be a sequence of integers, not None",
    ),
    ("floats as ids", with_tok(lambda tok, _: tok.decode([1, 1.0])), "ids[1] must be an integer, not float"),
    (
        "floats of an iterator as ids",
        with_tok(lambda tok, _: tok.decode(iter([1, 1.0]))),
        "ids[1] must be an integer, not float",
    ),
    (
        "an array of floats as ids",
        with_tok(lambda tok, _: tok.decode(array([1.0]))),
        "ids[0] must be an integer, not float64",
    ),
    (
        "a table of ids",
        with_tok(lambda tok, _: tok.decode(array([[1, 1], [2, 2]]))),
        "ids[0] must be an integer, not ndarray; rows of ids are for decode_batch",
    ),
    (
        "rows of ids as ids",
        with_tok(lambda tok, _: tok.decode([[1, 2]])),
        "ids[0] must be an integer, not list; rows of ids are for decode_batch",
    ),
    (
        "inputs of a model as ids",
        with_tok(lambda tok, _: tok.decode({"input_ids": [1, 2]})),
        'ids must be a sequence of integers, not dict; pass one of its values, such as that of "input_ids"',
    ),
    (
        "inputs of a model as a batch of ids",
        with_tok(lambda tok, _: tok.decode_batch(UserDict({"input_ids": [[1, 2]]}))),
        "batch must be an iterable of rows of ids, not UserDict; pass one of its values",
    ),
    (
        "one row of ids as a batch",
        with_tok(lambda tok, _: tok.decode_batch([1])),
        "batch[0] must be a sequence of integers, not one; for one id write [1]",
    ),
    ("text in a batch of ids", with_tok(lambda tok, _: tok.decode_batch([[1], "low"])), "batch[1] must be a"),
    ("None in a batch of ids", with_tok(lambda tok, _: tok.decode_batch([[1], None])), "batch[1] must be a"),
    (
        "a float in a batch of ids",
        with_tok(lambda tok, _: tok.decode_batch([[1], [2, 1.5]])),
        "batch[1][1] must be an integer, not float",
    ),
    (
        "a number as a batch of ids",
        with_tok(lambda tok, _: tok.decode_batch(3)),
        "batch must be an iterable of",
    ),
    (
        "a number as special=",
        with_tok(lambda tok, _: tok.encode("a", special=3)),
        'special must be "text", "parse", "raise" or a set of str, not int',
    ),
    (
        "a number among the literals",
        with_tok(lambda tok, _: tok.encode("a", special={3})),
        "each literal of special must be str, not int",
    ),
    (
        "a word as num_threads=",
        with_tok(lambda tok, _: tok.encode("a", num_threads="2")),
        "num_threads must be an integer or None, not str",
    ),
    ("a list as out", with_tok(lambda tok, _: tok.encode_to_numpy("a", out=[1])), "numpy array"),
    ("text as an id", with_tok(lambda tok, _: tok.id_to_token("a")), "id must be an integer, not str"),
    (
        "text as a size",
        with_tok(lambda tok, _: tok.with_vocab_size("a")),
        "vocab_size must be an integer, not str",
    ),
    (
        "a number among special tokens",
        with_tok(lambda tok, _: tok.with_special_tokens(["<x>", 5])),
        "special_tokens[1] must be str, not int",
    ),
    (
        "a number as special tokens",
        with_tok(lambda tok, _: tok.with_special_tokens(5)),
        "special_tokens must be a list of str or a dict of ids, not int",
    ),
    (
        "a number as the key of a special token",
        with_tok(lambda tok, _: tok.with_special_tokens({"<x>": 999, 5: 1000})),
        "key 1 of special_tokens must be str, not int",
    ),
    (
        "text as the id of a special token",
        with_tok(lambda tok, _: tok.with_special_tokens({"<x>": "999"})),
        'special_tokens["<x>"] must be an integer, not str',
    ),
)

TABLES = rows(
    TypeError,
    ("str tokens in a list", made("from_tokens", [b"a", "a"]), "tokens[1] must be bytes, not str"),
    ("numbers in a list", made("from_tokens", [3]), "tokens[0] must be bytes, not int"),
    ("one token as a list", made("from_tokens", b"abc"), "tokens must be a sequence of bytes, not bytes"),
    ("a set of tokens", made("from_tokens", {b"a"}), "tokens must be a sequence of bytes, not set"),
    ("no list of tokens", made("from_tokens", None), "tokens must be a sequence of bytes, not NoneType"),
    (
        "None as the split of tokens",
        made("from_tokens", [b"a"], split=None),
        "split must be str, not NoneType",
    ),
    ("ranks in a list", made("from_ranks", [b"a"]), "ranks must be a mapping of tokens to ranks, not list"),
    ("str tokens with ranks", made("from_ranks", {b"a": 0, "b": 1}), "key 1 of ranks must be bytes, not str"),
    ("a rank that is no number", made("from_ranks", {b"a": "0"}), 'ranks["a"] must be an integer, not str'),
    (
        "a list as a vocabulary",
        made("from_merges", ["a"], []),
        "vocab must be a mapping of tokens to ids, not list",
    ),
    (
        "a number as a key",
        made("from_merges", {"a": 0, 3: 1}, []),
        "key 1 of vocab must be bytes or str, not int",
    ),
    (
        "text as an id of a table",
        made("from_merges", {"a": "0"}, []),
        'vocab["a"] must be an integer, not str',
    ),
    (
        "None as an id of a table",
        made("from_merges", {"a": None}, []),
        'vocab["a"] must be an integer, not None',
    ),
    (
        "merges as lines",
        made("from_merges", {"a": 0}, [("a", "a"), "a a"]),
        "merges[1] must be a tuple of two tokens, not str",
    ),
    (
        "merges as lists",
        made("from_merges", {"a": 0}, [["a", "a"]]),
        "merges[0] must be a tuple of two tokens, not",
    ),
    (
        "a merge of a number",
        made("from_merges", {"a": 0}, [("a", 3)]),
        "merges[0][1] must be bytes or str, not int",
    ),
    (
        "merges as text",
        made("from_merges", {"a": 0}, "a a"),
        "merges must be a sequence of tuples of two tokens, not",
    ),
    ("pairs as lists", made("from_pairs", [[97, 98]]), "pairs[0] must be a tuple of two ids, not list"),
    ("a pair of text", made("from_pairs", [(97, 98), ("a", 98)]), "pairs[1][0] must be an integer, not str"),
    ("a number as pairs", made("from_pairs", 3), "pairs must be a sequence of tuples of two ids, not int"),
    (
        "a cache of bytes in words",
        load("r.tiktoken", "YQ== 0\n", split="none", cache_bytes="1 MB"),
        "cache_bytes must be an integer, not str",
    ),
    (
        "a str of special tokens to load",
        load("r.tiktoken", "YQ== 0\n", split="none", special_tokens="x"),
        "special_tokens must be a list of str or a dict of ids, not str",
    ),
)

TRAINING = rows(
    TypeError,
    ("a number as a document", train(texts=["a", 3]), "texts[1] must be str, not int"),
    ("bytes as a document", train(texts=[b"a"]), "texts[0] must be str, not bytes"),
    ("a number as texts", train(texts=3), "texts must be an iterable of str, not int"),
    ("a number as files", trained_on(3), "files must be a path or a sequence of paths, not int"),
    ("a number among files", trained_on(["a.txt", 3]), "files[1] must be str or os.PathLike, not int"),
    ("half a merge", train(num_merges=1.5), "num_merges must be an integer, not float"),
    ("a word as a size", train(vocab_size="300"), "vocab_size must be an integer, not str"),
    ("a word as threads", train(num_threads="2"), "num_threads must be an integer or None, not str"),
    ("a number as a tie-break", train(tie_break=3), "tie_break must be str or None, not int"),
    ("a number as a split", train(split=3), "split must be str, not int"),
    (
        "a number as an unknown token",
        train(alphabet="chars", unk_token=3),
        "unk_token must be str or None, not int",
    ),
    (
        "a number among special tokens of training",
        train(special_tokens=["<s>", 5]),
        "special_tokens[1] must be str",
    ),
    (
        "a number as special tokens of training",
        train(special_tokens=5),
        "special_tokens must be a list of str",
    ),
    (
        "a progress that cannot be called",
        train(progress=3),
        "progress must be a bool, None or a callable, not int",
    ),
)

TYPES = [*CALLS, *TABLES, *TRAINING]

LENGTHS = rows(
    ValueError,
    (
        "a cache of fewer than no bytes",
        load("r.tiktoken", "YQ== 0\n", split="none", cache_bytes=-1),
        "cache_bytes=-1",
    ),
    (
        "a merge of three tokens",
        made("from_merges", {"a": 0}, [("a", "a", "a")]),
        "merges[0] must be a tuple of two tokens, not of 3",
    ),
    ("a pair of one", made("from_pairs", [(97,)]), "pairs[0] must be a tuple of two ids, not of 1"),
)
