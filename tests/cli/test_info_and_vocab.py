"""``info`` and ``vocab``: what the library says of a tokenizer, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tokenmill
from exact.folders_made import BERT, LLAMA, Json, byte_level, klass, make, pieces, words

from .conftest import END, TEXT, Run

ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")


def test_info_for_programs_is_what_the_library_says(run: Run, folder: Path, named: Path) -> None:
    for path in (folder, named):
        tokenizer = tokenmill.load(path)
        assert run("info", "-t", path, "--json").json == {
            "tokenizer": str(path),
            "vocab_size": tokenizer.vocab_size,
            "max_id": tokenizer.max_id,
            "merges": len(tokenizer.merges),
            "model": "BPE over bytes",
            "split": tokenizer.split,
            "special_tokens": tokenizer.special_tokens,
            "roles": {role: getattr(tokenizer, f"{role}_token_id") for role in ROLES},
            "padding_side": "right",
            "truncation_side": "right",
            "model_max_length": None,
            "chat_templates": {},
            "fingerprint": tokenizer.fingerprint,
            "digests": tokenizer.digests,
            "memory": tokenizer.memory_usage(),
            "around": {"text": [None] if path == folder else [0, None], "pair": [None, None]},
            "tolerated": [],
        }


def test_info_for_people(run: Run, named: Path, tmp_path: Path) -> None:
    tokenizer = tokenmill.load(named)
    result = run("info", "-t", named)
    lines = result.out.decode().splitlines()
    digests = tokenizer.digests
    assert (result.code, result.err) == (0, "")
    assert lines[:-1] == [
        f"tokenizer       {named}",
        f"vocabulary      {tokenizer.vocab_size} ids, the largest {tokenizer.max_id}",
        f"merges          {len(tokenizer.merges)}",
        "model           BPE over bytes",
        "split           gpt2",
        "special tokens  0  <s>",
        "                1  </s>",
        "                2  <pad>",
        "roles           bos   0  <s>",
        "                eos   1  </s>",
        "                pad   2  <pad>",
        "around a text   <s> …",
        "around a pair   … …",
        "inputs          padded right, cut right",
        "chat templates  none",
        f"fingerprint     {tokenizer.fingerprint}",
        f"digests         encode    {digests['encode']}",
        f"                decode    {digests['decode']}",
        f"                template  {digests['template']}",
        f"                chat      {digests['chat']}",
    ]
    assert lines[-1].startswith("memory          ")
    target = tmp_path / "info"
    assert run("info", "-t", named, "--out", target).out == b""
    assert target.read_bytes() == result.out


def test_info_says_how_texts_become_inputs(run: Run, named: Path) -> None:
    config = named / "tokenizer_config.json"
    settings = {"padding_side": "left", "model_max_length": 4096}
    config.write_text(json.dumps(json.loads(config.read_text()) | settings))
    page = run("info", "-t", named).out.decode()
    assert "inputs          padded left, cut right, at most 4,096 ids\n" in page


@pytest.mark.parametrize(
    ("bos", "eos", "text", "pair"),
    [
        (None, None, "nothing", None),
        (True, None, "<s> …", "<s> … <s> …"),
        (True, True, "<s> … </s>", "<s> … </s> <s> … </s>"),
    ],
)
@pytest.mark.parametrize("sample", [TEXT, "bcb bc b", "ὀξύ ὀξύ"])
def test_info_shows_what_is_put_around_texts(
    run: Run, tmp_path: Path, sample: str, bos: bool | None, eos: bool | None, text: str, pair: str | None
) -> None:
    path = tmp_path / "t"
    tokenizer = tokenmill.train(
        texts=[sample],
        num_merges=2,
        bos_token="<s>",
        eos_token="</s>",
        add_bos_token=bos,
        add_eos_token=eos,
        alphabet="chars",
    )
    tokenizer.save(path)
    rows = [line for line in run("info", "-t", path).out.decode().splitlines() if "around" in line]
    assert rows == [f"around a text   {text}", *([f"around a pair   {pair}"] if pair else [])]
    around = run("info", "-t", path, "--json").json["around"]
    word = sample.split()[0]
    ids = tokenizer.encode(word)
    for name, given in (("text", (word,)), ("pair", (word, word))):
        encoded = tokenizer.encode_with_offsets(*given, add_special_tokens=True).ids
        spread = [[id] if id is not None else ids for id in around[name]]
        assert [id for part in spread for id in part] == encoded


def test_info_shows_a_pair_of_bert(run: Run, tmp_path: Path) -> None:
    roles = {"cls_token": "[CLS]", "sep_token": "[SEP]"}
    path = make(tmp_path / "t", words(BERT), tokenizer_config=klass("BertTokenizer", **roles))
    page = run("info", "-t", path).out.decode()
    assert "around a text   [CLS] … [SEP]\naround a pair   [CLS] … [SEP] … [SEP]\n" in page


def test_info_of_a_vocabulary_that_spells_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t"
    tokenmill.train(texts=[""], num_merges=0, alphabet="chars", special_tokens=["<s>"]).save(path)
    assert run("info", "-t", path, "--json").json["around"] == {"text": None, "pair": None}
    assert "around" not in run("info", "-t", path).out.decode()


def test_info_lists_what_was_tolerated(run: Run, tmp_path: Path) -> None:
    description = byte_level([END])
    description["model"]["spa\x1bre"] = 2
    path = make(tmp_path / "t", description)
    report = tokenmill.load(path).load_report
    assert report is not None
    [found] = report.tolerated
    assert (found.file, found.field) == ("tokenizer.json", "model.spa\x1bre")
    result = run("info", "-t", path)
    [row] = [line for line in result.out.decode().splitlines() if line.startswith("tolerated ")]
    assert row.startswith("tolerated       tokenizer.json: model.spa\\x1bre: ")
    assert found.reason.replace("\x1b", "\\x1b") in row
    assert run("info", "-t", path, "--json").json["tolerated"] == [
        {"kind": found.kind, "file": found.file, "field": found.field, "reason": found.reason}
    ]


def test_info_says_what_there_is_none_of(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t"
    tokenmill.train(texts=[TEXT], num_merges=0, split="none").save(path)
    page = run("info", "-t", path).out.decode()
    for line in ("merges          0", "split           none", "special tokens  none", "roles           none"):
        assert line in page.splitlines()


def test_info_of_many_special_tokens_shows_the_first(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t"
    tokens = [f"<{number}\x1b>" for number in range(25)]
    tokenmill.train(texts=[TEXT], num_merges=0, special_tokens=tokens).save(path)
    page = run("info", "-t", path).out.decode()
    assert "special tokens   0  <0\\x1b>\n" in page
    assert "                19  <19\\x1b>\n                and 5 more: tokenmill vocab --special\n" in page
    assert "\x1b" not in page
    assert list(run("info", "-t", path, "--json").json["special_tokens"]) == tokens


@pytest.mark.parametrize(
    ("description", "model", "has_merges"),
    [
        (byte_level([END]), "BPE over bytes", True),
        (words(BERT), "WordPiece", False),
        (pieces(LLAMA), "Unigram", False),
    ],
)
def test_info_names_the_model(
    run: Run, tmp_path: Path, description: Json, model: str, has_merges: bool
) -> None:
    path = make(tmp_path / "made", description)
    facts = run("info", "-t", path, "--json").json
    assert facts["model"] == model
    assert (facts["merges"] is not None) == has_merges
    page = run("info", "-t", path).out.decode()
    assert ("no list of merges" in page) != has_merges
    assert f"model           {model}\n" in page
    split = tokenmill.load(path).split or "no single split"
    assert f"split           {split}\n" in page


def test_info_of_characters_and_whole_words(run: Run, tmp_path: Path) -> None:
    tokenmill.train(texts=[TEXT], num_merges=2, alphabet="chars", unk_token="?").save(tmp_path / "chars")
    assert run("info", "-t", tmp_path / "chars", "--json").json["model"] == "BPE over characters"
    model = {"type": "WordLevel", "vocab": {"fox": 0, "?": 1}, "unk_token": "?"}
    made = make(tmp_path / "words", byte_level([], model=model, decoder=None, post_processor=None))
    facts = run("info", "-t", made, "--json").json
    assert (facts["model"], facts["roles"]["unk"]) == ("WordLevel", 1)


def test_vocab_is_a_line_for_each_id_and_reads_back(run: Run, folder: Path, named: Path) -> None:
    for path in (folder, named):
        tokenizer = tokenmill.load(path)
        result = run("vocab", "-t", path)
        assert (result.code, result.err) == (0, "")
        rows = [line.split("\t") for line in result.out.decode().splitlines()]
        assert [int(number) for number, _, _ in rows] == list(range(tokenizer.vocab_size))
        assert {json.loads(token): int(number) for number, token, _ in rows} == tokenizer.vocab
        assert {int(number): bytes.fromhex(content) for number, _, content in rows} == {
            number: tokenizer.token_bytes(number) for number in range(tokenizer.vocab_size)
        }
    assert b'35\t"A"\t41\n' in run("vocab", "-t", named).out
    assert '223\t"Ġ"\t20\n'.encode() in run("vocab", "-t", named).out


def test_a_token_is_on_one_line_whatever_is_in_it(run: Run, tmp_path: Path) -> None:
    strange = [
        "a\nb",
        "a\u2028b",
        "a\x85b",
        'a"b',
        "a\tb",
        "\\u0041",
        "\x1b[1m",
        "\u200b",
        "\U000e0001",
        "🦊",
    ]
    path = tmp_path / "t"
    tokenmill.train(texts=[TEXT], num_merges=0, special_tokens=strange).save(path)
    page = run("vocab", "-t", path, "--special").out.decode()
    assert [json.loads(line.split("\t")[1]) for line in page.splitlines()] == strange
    assert all(line.replace("\t", "").isprintable() for line in page.splitlines())
    assert "🦊" in page


def test_vocab_for_programs(run: Run, folder: Path, tmp_path: Path) -> None:
    tokenizer = tokenmill.load(folder)
    found = run("vocab", "-t", folder, "--json").json
    assert found["vocab_size"] == len(found["tokens"]) == tokenizer.vocab_size
    for number, row in enumerate(found["tokens"]):
        assert row == {
            "id": number,
            "token": tokenizer.id_to_token(number),
            "bytes": tokenizer.token_bytes(number).hex(),
            "special": number in tokenizer.special_tokens.values(),
        }
    only = run("vocab", "-t", folder, "--json", "--special").json["tokens"]
    assert [(row["id"], row["token"]) for row in only] == [(0, END)]
    tokenmill.train(texts=[TEXT], num_merges=0).save(tmp_path / "t")
    assert run("vocab", "-t", tmp_path / "t", "--special").out == b""
    assert run("vocab", "-t", tmp_path / "t", "--special", "--json").json["tokens"] == []


def test_ids_may_have_gaps(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    tokens = [bytes([byte]) for byte in range(256)]
    tokenmill.Tokenizer.from_tokens(tokens, special_tokens={END: 4_000_000_000}).save(path)
    lines = run("vocab", "-t", path).out.decode().splitlines()
    assert len(lines) == 257
    assert lines[-1].startswith(f'4000000000\t"{END}"\t')
    facts = run("info", "-t", path, "--json").json
    assert (facts["vocab_size"], facts["max_id"]) == (257, 4_000_000_000)


def test_tokens_that_share_an_id_or_a_written_form_are_all_there(run: Run, tmp_path: Path) -> None:
    shared = byte_level([END])
    shared["model"]["vocab"]["ab"] = shared["model"]["vocab"]["a"]
    path = make(tmp_path / "shared", shared)
    tokenizer = tokenmill.load(path)
    rows = [line.split("\t") for line in run("vocab", "-t", path).out.decode().splitlines()]
    assert {json.loads(token): int(number) for number, token, _ in rows} == tokenizer.vocab
    assert len({number for number, _, _ in rows}) == tokenizer.vocab_size < len(rows)


def test_an_ordinary_token_that_is_written_as_a_special_one_is_there_too(
    run: Run, text_file: Path, tmp_path: Path
) -> None:
    ranks = tmp_path / "own.tiktoken"
    run("train", text_file, "--num-merges", 4, "--out", ranks, "--lossy")
    lines = run("vocab", "-t", ranks, "--split", "gpt2", "--special-token", "a=300").out.splitlines()
    assert len(lines) == 261
    assert [line for line in lines if line.endswith(b'"a"\t61')] == [b'97\t"a"\t61', b'300\t"a"\t61']


def test_both_take_a_rank_file_with_its_special_tokens(run: Run, text_file: Path, tmp_path: Path) -> None:
    ranks = tmp_path / "own.tiktoken"
    run("train", text_file, "--num-merges", 4, "--out", ranks, "--lossy")
    own = ("-t", ranks, "--split", "gpt2", "--special-token", f"{END}=300")
    assert run("info", *own, "--json").json["special_tokens"] == {END: 300}
    assert run("vocab", *own, "--special").out.startswith(b"300\t")


def test_info_has_the_names_and_sizes_of_chat_templates(run: Run, named: Path, tmp_path: Path) -> None:
    tokenizer = tokenmill.load(named).with_chat_template("{{ 'é' }}").with_chat_template("{", "a\n")
    tokenizer.save(tmp_path / "t")
    assert run("info", "-t", tmp_path / "t", "--json").json["chat_templates"] == {"default": 10, "a\n": 1}
    lines = run("info", "-t", tmp_path / "t").out.decode().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("chat templates"))
    assert lines[start : start + 2] == [
        "chat templates  default  10 bytes",
        "                a\\n  1 bytes",
    ]
