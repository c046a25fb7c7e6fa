"""``tokenmill doctor``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import tokenmill
from tokenmill._doctor import diagnose

from .conftest import Run


@pytest.fixture(autouse=True)
def short_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnose, "AUDIT_SECONDS", 0.02)


def test_exit_codes_and_json(run: Run, folder: Path, tmp_path: Path) -> None:
    done = run("doctor", folder, "--json")
    assert done.code == 0
    names = [row["check"] for row in done.json["findings"]]
    assert names == [row.check for row in tokenmill.doctor(folder)]
    assert done.json["ok"] is True
    assert run("doctor", folder, "--strict").code == (0 if done.json["ok_strict"] else 1)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    changed = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
    changed["decoder"] = None
    (copy / "tokenizer.json").write_text(json.dumps(changed), encoding="utf-8")
    done = run("doctor", copy)
    assert done.code == 1
    first = done.out.decode().splitlines()[1]
    assert first.startswith("fail  hashes")
    # A file by itself has no manifest to contradict.
    assert run("doctor", copy / "tokenizer.json", "--against", folder, "--json").json["ok"] is False


def test_texts_configuration_and_output(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The quick brown fox", encoding="utf-8")
    (tmp_path / "config.json").write_text('{"vocab_size": 10}', encoding="utf-8")
    arguments = (
        "doctor",
        folder,
        "--text",
        tmp_path / "a.txt",
        "--config",
        tmp_path / "config.json",
        "--json",
    )
    done = run(*arguments, "--out", tmp_path / "out.json")
    assert (done.code, done.out) == (1, b"")
    rows = {row["check"]: row for row in json.loads((tmp_path / "out.json").read_text())["findings"]}
    assert rows["round_trip_of_text"]["status"] == "pass"
    assert rows["unseen"]["evidence"] == "text"
    assert rows["config_vocab_size"]["status"] == "fail"


@pytest.mark.parametrize("option", ["--config", "--against"])
def test_bad_use(run: Run, folder: Path, option: str) -> None:
    assert run("doctor", folder, option, "").code == 2
    done = run("doctor", folder, option, "not-there")
    assert done.code == 2
    assert "not-there" in done.err


def test_what_does_not_load_is_a_finding(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"', encoding="utf-8")
    done = run("doctor", tmp_path / "tokenizer.json", "--json")
    assert done.code == 1
    assert [row["check"] for row in done.json["findings"]] == ["loads"]
    assert run("doctor", tmp_path / "missing").code == 2
