"""``tokenmill.train``: text into a ``Tokenizer``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from ._core import Tokenizer
from ._forks import waited_for
from ._progress import follower
from ._reading import check_literals, contradiction, differences, facts_of, filled, refuse, resolved
from ._train_inputs import SupportsArrow, check_rows, expand, merge_filter, misuse, settings_of, weights
from .pretoken_counts import PretokenCounts

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["train"]


@overload
def train(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    texts: Iterable[str] | Mapping[str, int] | SupportsArrow | None = None,
    field: str | None = None,
    column: str | None = None,
    vocab_size: int | None = None,
    num_merges: int | None = None,
    model: Literal["bpe"] = "bpe",
    normalizer: Literal["NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "none"] | None = None,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    clean_text: bool | None = None,
    handle_chinese_chars: bool | None = None,
    split: Literal["none"],
    special_tokens: Sequence[str] | None = None,
    special_ids: Literal["first", "last"] = "first",
    bos_token: str | None = None,
    eos_token: str | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    add_bos_token: bool | None = None,
    add_eos_token: bool | None = None,
    initial_alphabet: str | None = None,
    whole_characters: bool | None = None,
    allowed_merges: Callable[[bytes], bool] | str | None = None,
    reserved_tokens: int = 0,
    pad_vocab_to_multiple_of: int | None = None,
    tie_break: Literal["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
    | None = None,
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    documents: Literal["file"] = "file",
    alphabet: Literal["bytes", "chars"] | None = None,
    end_of_word: str | None = None,
    end_of_word_form: Literal["separate", "suffix"] | None = None,
    errors: Literal["strict", "replace", "skip"] = "strict",
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
    return_ids: Literal[True],
) -> tuple[Tokenizer, npt.NDArray[Any]]: ...
@overload
def train(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    texts: Iterable[str] | Mapping[str, int] | SupportsArrow | None = None,
    field: str | None = None,
    column: str | None = None,
    counts: PretokenCounts
    | str
    | os.PathLike[str]
    | Sequence[PretokenCounts | str | os.PathLike[str]]
    | None = None,
    vocab_size: int | None = None,
    num_merges: int | None = None,
    base: Tokenizer | None = None,
    model: Literal["bpe", "wordpiece", "unigram"] = "bpe",
    normalizer: Literal["NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "none"]
    | Literal["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"]
    | None = None,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    clean_text: bool | None = None,
    handle_chinese_chars: bool | None = None,
    split: str | None = None,
    special_tokens: Sequence[str] | None = None,
    special_ids: Literal["first", "last"] = "first",
    bos_token: str | None = None,
    eos_token: str | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    add_bos_token: bool | None = None,
    add_eos_token: bool | None = None,
    post_processor: Literal["BertProcessing"] | None = None,
    score: Literal["frequency", "likelihood"] | None = None,
    continuing_subword_prefix: str | None = None,
    max_input_chars_per_word: int | None = None,
    dialect: Literal["sentencepiece", "tokenizers"] | None = None,
    byte_fallback: bool | None = None,
    user_defined_symbols: Sequence[str] | None = None,
    character_coverage: float | None = None,
    initial_alphabet: str | None = None,
    limit_alphabet: int | None = None,
    whole_characters: bool | None = None,
    allowed_merges: Callable[[bytes], bool] | str | None = None,
    reserved_tokens: int = 0,
    pad_vocab_to_multiple_of: int | None = None,
    split_by_unicode_script: bool | None = None,
    split_digits: bool | None = None,
    add_dummy_prefix: bool | None = None,
    remove_extra_whitespaces: bool | None = None,
    tie_break: Literal["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
    | None = None,
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    documents: Literal["file", "lines"] = "file",
    alphabet: Literal["bytes", "chars"] | None = None,
    end_of_word: str | None = None,
    end_of_word_form: Literal["separate", "suffix"] | None = None,
    errors: Literal["strict", "replace", "skip"] = "strict",
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
    return_ids: Literal[False] = False,
) -> Tokenizer: ...
def train(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    texts: Iterable[str] | Mapping[str, int] | SupportsArrow | None = None,
    field: str | None = None,
    column: str | None = None,
    counts: PretokenCounts
    | str
    | os.PathLike[str]
    | Sequence[PretokenCounts | str | os.PathLike[str]]
    | None = None,
    vocab_size: int | None = None,
    num_merges: int | None = None,
    base: Tokenizer | None = None,
    model: Literal["bpe", "wordpiece", "unigram"] = "bpe",
    normalizer: Literal["NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "none"]
    | Literal["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"]
    | None = None,
    lowercase: bool | None = None,
    strip_accents: bool | None = None,
    clean_text: bool | None = None,
    handle_chinese_chars: bool | None = None,
    split: str | None = None,
    special_tokens: Sequence[str] | None = None,
    special_ids: Literal["first", "last"] = "first",
    bos_token: str | None = None,
    eos_token: str | None = None,
    unk_token: str | None = None,
    sep_token: str | None = None,
    pad_token: str | None = None,
    cls_token: str | None = None,
    mask_token: str | None = None,
    add_bos_token: bool | None = None,
    add_eos_token: bool | None = None,
    post_processor: Literal["BertProcessing"] | None = None,
    score: Literal["frequency", "likelihood"] | None = None,
    continuing_subword_prefix: str | None = None,
    max_input_chars_per_word: int | None = None,
    dialect: Literal["sentencepiece", "tokenizers"] | None = None,
    byte_fallback: bool | None = None,
    user_defined_symbols: Sequence[str] | None = None,
    character_coverage: float | None = None,
    initial_alphabet: str | None = None,
    limit_alphabet: int | None = None,
    whole_characters: bool | None = None,
    allowed_merges: Callable[[bytes], bool] | str | None = None,
    reserved_tokens: int = 0,
    pad_vocab_to_multiple_of: int | None = None,
    split_by_unicode_script: bool | None = None,
    split_digits: bool | None = None,
    add_dummy_prefix: bool | None = None,
    remove_extra_whitespaces: bool | None = None,
    tie_break: Literal["lexicographic", "lexicographic-largest", "first-seen", "token-id", "huggingface"]
    | None = None,
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    documents: Literal["file", "lines"] = "file",
    alphabet: Literal["bytes", "chars"] | None = None,
    end_of_word: str | None = None,
    end_of_word_form: Literal["separate", "suffix"] | None = None,
    errors: Literal["strict", "replace", "skip"] = "strict",
    num_threads: int | None = None,
    progress: bool | Callable[[str, int, int], object] | None = None,
    return_ids: bool = False,
) -> Tokenizer | tuple[Tokenizer, Any]:
    """Learn a byte-pair encoding, or a WordPiece or Unigram vocabulary, from text.

    ``tok.training_report`` says what was read and learned.

    What is read, exactly one of:

    - ``files``: a path, a glob (``**`` for any depth), a folder, a URL (extra ``remote``), or a list of them;
      text, JSONL, Parquet and Arrow files, text and JSONL also as ``.gz`` and ``.zst``. A text is one
      document, or with ``documents="lines"`` each of its lines is one, without the line end. Each is read
      once, so it may be a pipe, if it is given once. ``field`` says which string of a line of JSONL is a
      document (``"text"`` unless given, keys with dots between them, as ``"meta.body"``; with it every
      file is JSONL but for tables), ``column`` which column of a table (``"text"``; extra ``arrow``).
      The page "sources" of the documentation says how each is told apart.
    - ``texts``: an iterable of ``str``; each item is a document. It is read once, as training goes along. A
      mapping from texts to counts (whole numbers from 1 on) is the same as that many copies of each. An Arrow
      array, stream or table (with ``column``) is read as it is, no ``str`` made; its nulls are no documents.
    - ``counts``: ``PretokenCounts``, a file or folder of them, or a list of these, which are summed. They
      know how texts were read: ``normalizer``, ``split``, ``special_tokens`` and other options about that
      need not be given, and others than theirs are refused. The vocabulary is that of the texts, and so is
      the report; ``tie_break="first-seen"`` and ``return_ids`` need the texts.

    How much is learned, exactly one of ``vocab_size`` (special tokens, alphabet and merges together) and
    ``num_merges``. Training stops earlier when no pair occurs ``min_frequency`` times (2 unless given; a
    count equal to it still merges), and the report says so.

    Where it begins: with ``base``, a byte-pair tokenizer over bytes, training goes on from that: its
    merges are made first, and learned ones come after them, with ids after its last. It says how text
    is normalized and split and which special tokens there are, so options for that are refused.
    ``vocab_size`` counts its ids, ``num_merges`` only new merges. Going on from the first merges of a
    training gives what that training gave. Its texts may be ``counts`` if it has no normalizer.

    How:

    - ``model``: ``"bpe"``, ``"wordpiece"`` or ``"unigram"``.
    - ``normalizer``: a normal form of Unicode (the tables of today's version) that text is brought into
      before it is split, here and in ``encode``; what stands between special tokens, each on its own. Or
      ``"BertNormalizer"`` (the default of WordPiece) with ``lowercase``, ``strip_accents`` (by default as
      ``lowercase``), ``clean_text`` and ``handle_chinese_chars`` as in tokenizer.json. ``"none"`` for none.
      Unigram's SentencePiece dialect takes that library's rules instead: ``"nmt_nfkc"`` (its default),
      ``"nfkc"``, ``"nmt_nfkc_cf"``, ``"nfkc_cf"`` or ``"identity"``.
    - ``split``: what cuts a document into pretokens, which no token crosses: ``"gpt2"``, ``"cl100k"``,
      ``"o200k"``, ``"llama3"``, ``"qwen2"``, ``"whitespace"``, ``"none"``, ``"BertPreTokenizer"``
      (white space and punctuation), or a regular expression (the text between two matches is a
      pretoken too), or ``"Metaspace"`` (words with a ``▁`` in place of the space before them). By
      default ``"cl100k"``, for WordPiece ``"BertPreTokenizer"``, for Unigram ``"Metaspace"``.
    - ``special_tokens``: literals that take ids of their own: 0 and up, or after all others with
      ``special_ids="last"``. Found in the text, they are cut out: not counted, and not merged across.
    - ``bos_token``, ``eos_token``, ``unk_token``, ``sep_token``, ``pad_token``, ``cls_token``,
      ``mask_token``: the special tokens with these roles. They come after those of ``special_tokens``
      where they are not listed there. ``tok.pad_token_id`` and the others have their ids, and a saved
      folder says which they are. With ``add_bos_token=True`` and ``add_eos_token=True``,
      ``encode(text, add_special_tokens=True)`` and ``tok(text)`` put them around each text.
    - ``post_processor="BertProcessing"``: ``encode(text, add_special_tokens=True)`` puts ``cls_token`` before
      a text and ``sep_token`` after it.
    - ``tie_break``: which of several pairs with the same count is merged: the smallest pair of byte
      strings (the default), the largest one, the pair that is seen first in the corpus as it then
      stands, the smallest pair of ids, or the smallest pair of ids as the library tokenizers gives
      them.
    - ``max_token_length``: the longest token that may be made, in bytes (characters for ``"chars"``,
      WordPiece and Unigram, where it is 16 unless given).
    - ``alphabet``: ``"bytes"`` (all 256; the default) or ``"chars"``, the characters that occur. With
      characters, ``end_of_word`` is a symbol after each pretoken, on its own
      (``end_of_word_form="separate"``, the default) or glued to the last character (``"suffix"``), and
      ``unk_token`` stands for characters that are not in the alphabet (bytes need none).
    - ``errors``: what happens to a document that is not UTF-8: a ``TrainingError`` naming file and byte,
      U+FFFD in place of what is wrong, or the document is left out (``"skip"``; ``"ignore"`` of Python's
      codecs would drop bytes and keep the rest). The report counts both.

    ``return_ids=True`` gives ``(tokenizer, ids)``: the ids of the text, which are there when training ends.
    They are those of ``encode(text, special="parse")``, as a numpy array of uint16, or uint32 where the
    vocabulary has larger ids. It is for byte-pair encoding of one document (one file, or one of ``texts``)
    with ``split="none"``. A text that would take more memory than there is, at about 28 bytes for each of
    its bytes, is a ``MemoryError`` before training begins.

    WordPiece: the alphabet is that of characters, once as they begin a word and once, with
    ``continuing_subword_prefix`` (``"##"``), as they continue it. The best pair is merged until the
    vocabulary is full; tokens that are written alike are one token. ``score="frequency"`` takes the
    pair that occurs most often; ``"likelihood"`` the one whose count, divided by the counts of both
    parts, is highest. Of equal pairs it takes that with the smallest ids. ``unk_token`` is needed: it
    stands for a word that cannot be spelled, or that has more than ``max_input_chars_per_word`` (100)
    characters. Merges are not kept: encoding takes the longest token that fits.

    Unigram: starts with up to a million substrings that occur more than once, and drops those without
    which the text loses least likelihood, until ``vocab_size`` is reached (``num_merges`` means
    nothing here). ``dialect="sentencepiece"`` (the default) is saved as a ``.model``: a token begins with
    ``▁`` or has none, and holds characters of one script unless ``split_by_unicode_script=False``; with
    ``split_digits=True`` digits stand alone. ``add_dummy_prefix`` and ``remove_extra_whitespaces``
    are that library's options (both on). ``unk_token`` is ``"<unk>"`` unless given; other special tokens
    are control pieces, of which none is there by itself. ``dialect="tokenizers"`` is saved as
    tokenizer.json and takes any ``split``. The alphabet is that of characters: the most frequent ones
    that cover ``character_coverage`` of the text (0.9995 for sentencepiece, else 1.0), and those of
    ``initial_alphabet``. What it leaves out is unknown, or with ``byte_fallback=True`` the tokens of its
    bytes. ``user_defined_symbols`` are always one token. ``save`` in the format of the other dialect
    needs ``lossy=True``.

    What people ask for besides:

    - ``limit_alphabet``, ``character_coverage``, ``initial_alphabet``: for alphabets of characters. At most
      that many of them, the most frequent ones; those that cover this share of the text; these, whether or
      not they occur. Nothing is merged across a character that is left out; WordPiece learns nothing of
      a word with one.
    - ``whole_characters=True``: a token over bytes lies within one character or is made of whole ones.
    - ``allowed_merges``: says which tokens may be made: a function that gets the bytes of the token, or a
      regular expression that its text has to match (parts of a character always may be). A function is
      called once for each merge that is the next one. For byte-pair encoding and WordPiece.
    - ``reserved_tokens=n``: special tokens ``<|reserved_0|>`` and so on after the others, for later use.
      They count in ``vocab_size``. ``pad_vocab_to_multiple_of=n`` adds more of them at the end.

    ``num_threads=None`` takes every core that this process may use; the result is the same for any number.
    It is the default here, where one call is all the work, and 1 where calls are many.
    ``progress`` is ``None`` or ``False`` (silent), ``True`` (a bar on stderr; extra ``cli``), or a callable
    that gets ``(phase, done, total)``, where a total of 0 is unknown. Ctrl-C stops within 200 ms.

    Raises ``TrainingError`` for sources that cannot be used (with file, and row or byte, where they are
    damaged) and for such arguments, ``PatternError`` for a bad ``split``, ``OSError``
    (``FileNotFoundError`` also for a glob without a match, and a folder with no such file) for files,
    ``MissingExtraError`` where a library is needed.

    >>> tok = train(texts=["low lower lowest"] * 2, num_merges=2)
    >>> tok.merges
    [(b'l', b'o'), (b'lo', b'w')]
    >>> train(texts=["lower lowest"] * 2, num_merges=1, base=tok).merges
    [(b'l', b'o'), (b'lo', b'w'), (b'low', b'e')]
    >>> tok, ids = train(texts=["low lower lowest"], num_merges=2, split="none", return_ids=True)
    >>> ids.tolist() == tok.encode("low lower lowest")
    True
    >>> tok = train(texts=["low lower lowest"] * 2, model="wordpiece", unk_token="[UNK]", num_merges=4)
    >>> [tok.id_to_token(id) for id in tok.encode("lower")]
    ['lowe', '##r']
    >>> tok = train(texts=["low lower lowest"] * 2, model="unigram", vocab_size=11)
    >>> [tok.id_to_token(id) for id in tok.encode("lowest")]
    ['▁low', 'e', 's', 't']
    """
    sources = {"files": files, "texts": texts, "counts": counts}
    if len(given := [name for name, source in sources.items() if source is not None]) != 1:
        raise misuse(f"give exactly one of files, texts and counts, not {' and '.join(given) or 'none'}")
    if (vocab_size is None) == (num_merges is None):
        both = "both" if vocab_size is not None else "neither"
        raise misuse(f"give exactly one of vocab_size and num_merges, not {both}")
    if isinstance(texts, str | bytes):
        raise misuse("texts is a single string, whose characters would be the documents: pass a list")
    if base is not None:
        from_base = {
            "model": None if model == "bpe" else model,
            "normalizer": normalizer,
            "lowercase": lowercase,
            "strip_accents": strip_accents,
            "clean_text": clean_text,
            "handle_chinese_chars": handle_chinese_chars,
            "split": split,
            "special_tokens": special_tokens,
            "special_ids": None if special_ids == "first" else special_ids,
            "bos_token": bos_token,
            "eos_token": eos_token,
            "unk_token": unk_token,
            "sep_token": sep_token,
            "pad_token": pad_token,
            "cls_token": cls_token,
            "mask_token": mask_token,
            "add_bos_token": add_bos_token,
            "add_eos_token": add_eos_token,
            "alphabet": alphabet,
            "end_of_word": end_of_word,
            "end_of_word_form": end_of_word_form,
            "whole_characters": whole_characters,
            "reserved_tokens": reserved_tokens or None,
            "return_ids": return_ids or None,
        }
        if not isinstance(base, Tokenizer):
            raise TypeError(f"base must be Tokenizer or None, not {type(base).__name__}")
        for name, value in from_base.items():
            if value is not None:
                raise misuse(
                    f"{name} does not go with base, which says how text is read and what there is already"
                )
        if counts is not None and (base.split is None or base != base.with_normalizer(None)):
            raise misuse(
                "counts do not go with this base, which does more to a text than to split it; give files or "
                "texts"
            )
    check_literals(special_tokens)
    check_rows(files, texts, field, column)
    if texts is not None and documents == "lines":
        raise misuse('documents="lines" is for files; each of the texts is a document')
    if counts is not None and documents == "lines":
        raise misuse('documents="lines" is for files; counts were made of documents before')
    if return_ids and documents == "lines":
        raise misuse('return_ids=True needs one document; with documents="lines" each line is one')
    bpe = {
        "tie_break": tie_break,
        "alphabet": alphabet,
        "end_of_word": end_of_word,
        "end_of_word_form": end_of_word_form,
        "whole_characters": whole_characters,
    }
    wordpiece = {
        "score": score,
        "continuing_subword_prefix": continuing_subword_prefix,
        "max_input_chars_per_word": max_input_chars_per_word,
        "post_processor": post_processor,
    }
    characters = {
        "character_coverage": character_coverage,
        "initial_alphabet": initial_alphabet,
        "limit_alphabet": limit_alphabet,
    }
    reading: dict[str, Any] = {
        "dialect": dialect,
        "user_defined_symbols": user_defined_symbols,
        "normalizer": normalizer,
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "clean_text": clean_text,
        "handle_chinese_chars": handle_chinese_chars,
        "split": split,
        "split_by_unicode_script": split_by_unicode_script,
        "split_digits": split_digits,
        "add_dummy_prefix": add_dummy_prefix,
        "remove_extra_whitespaces": remove_extra_whitespaces,
        "unk_token": unk_token,
    }
    if model != "bpe":
        refuse(bpe, 'model="bpe"')
    if model != "wordpiece":
        refuse(wordpiece, 'model="wordpiece"')
    if model != "unigram":
        refuse({"byte_fallback": byte_fallback}, 'model="unigram"')
    if model == "unigram":
        merging = {"min_frequency": min_frequency, "allowed_merges": allowed_merges}
        refuse(merging, "models that merge pairs")
        if num_merges is not None:
            raise misuse("num_merges is for models that merge pairs; give vocab_size")
    counted = None
    if counts is not None:
        with waited_for:
            from .pretoken_counts import gathered
        counted = gathered(counts)
        if base is None:
            literals = {"special_tokens": special_tokens, "reserved_tokens": reserved_tokens}
            reading = filled(model, {**reading, **literals}, counted[1].reading)
            special_tokens = reading["special_tokens"]
        errors = counted[1].reading["errors"] if errors == "strict" else errors
    reading = resolved(model, reading)
    if character_coverage is None and reading["dialect"] == "sentencepiece":
        characters["character_coverage"] = 0.9995
    if model == "wordpiece":
        wordpiece["score"] = "frequency" if score is None else score
        if continuing_subword_prefix is None:
            wordpiece["continuing_subword_prefix"] = "##"
    options: dict[str, object] = {
        "model": model,
        **bpe,
        **wordpiece,
        **characters,
        **reading,
        "byte_fallback": byte_fallback,
        "allowed_merges": merge_filter(allowed_merges) if isinstance(allowed_merges, str) else allowed_merges,
        "reserved_tokens": reserved_tokens,
        "pad_vocab_to_multiple_of": pad_vocab_to_multiple_of,
        "vocab_size": vocab_size,
        "num_merges": num_merges,
        "special_tokens": special_tokens,
        "special_ids": special_ids,
        "bos_token": bos_token,
        "eos_token": eos_token,
        "sep_token": sep_token,
        "pad_token": pad_token,
        "cls_token": cls_token,
        "mask_token": mask_token,
        "add_bos_token": add_bos_token,
        "add_eos_token": add_eos_token,
        "min_frequency": min_frequency,
        "max_token_length": max_token_length,
        "documents": documents,
        "column": column,
        "errors": errors,
        "num_threads": num_threads,
        "return_ids": return_ids,
        "base": base,
    }
    read_as, asked = options, "asked for"
    if base is not None:
        options["split"] = base.split or "none"
        read_as, asked = {**options, "special_tokens": list(base.added_tokens)}, "base"
    if counted is not None and (found := differences(counted[1].reading, facts_of(read_as))):
        raise contradiction("the counts", asked, found)
    options["settings"] = settings_of({**options, "allowed_merges": allowed_merges})
    with follower(progress) as follow:
        if counted is not None:
            return _core.train_counts(counted[0], counted[1].figures, options, follow)
        if isinstance(texts, Mapping):
            tokenizer, ids = _core.train_texts(list(texts), options, follow, weights(texts))
        elif texts is not None:
            tokenizer, ids = _core.train_texts(texts, options, follow)
        else:
            assert files is not None
            tokenizer, ids = _core.train_files(expand(files, field=field, column=column), options, follow)
    return tokenizer if ids is None else (tokenizer, ids)
