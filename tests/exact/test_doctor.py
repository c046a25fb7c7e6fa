"""The doctor: planted faults are found and named, and not in the untouched original."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenmill
from tokenmill import Diagnosis
from tokenmill._doctor import diagnose

from .planted_faults import FAULTS, QUICK, Fault, made

Examine = Callable[[Path, Fault], Diagnosis]


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The untouched folder."""
    folder = tmp_path_factory.mktemp("healthy") / "tokenizer"
    folder.mkdir()
    made(folder)
    return folder


@pytest.fixture(scope="session")
def original(healthy: Path) -> Callable[[Fault], Diagnosis]:
    """The diagnosis of the untouched folder with the evidence of a fault, made once for each kind."""
    kept: dict[tuple[bool, bool, tuple[str, ...]], Diagnosis] = {}

    def find(fault: Fault) -> Diagnosis:
        kind = (fault.against, fault.manifest, fault.texts)
        if kind not in kept:
            folder = healthy
            if not fault.manifest:
                folder = healthy.with_name("without manifest")
                if not folder.exists():
                    copied(healthy, folder, manifest=False)
            # A text for which the vocabulary is not, shows the fault: the original sees its own.
            texts = ("the river rose slowly\n" * 40,) if fault.texts else None
            kept[kind] = tokenmill.doctor(folder, texts=texts, against=healthy if fault.against else None)
        return kept[kind]

    return find


@pytest.fixture(autouse=True)
def short_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests look for needs no long measurement of growth."""
    monkeypatch.setattr(diagnose, "AUDIT_SECONDS", 0.02)


def copied(healthy: Path, folder: Path, *, manifest: bool) -> Path:
    shutil.copytree(healthy, folder)
    if not manifest:
        (folder / "tokenmill.json").unlink()
    return folder


def check(fault: Fault, healthy: Path, original: Callable[[Fault], Diagnosis], tmp_path: Path) -> None:
    folder = copied(healthy, tmp_path / "tokenizer", manifest=fault.manifest)
    fault.edit(folder)
    diagnosis = tokenmill.doctor(
        folder, texts=fault.texts or None, against=healthy if fault.against else None
    )
    assert diagnosis[fault.check].status in ("warn", "fail"), f"{fault.name}\n{diagnosis}"
    assert diagnosis[fault.check].message
    assert diagnosis[fault.check].way_out
    assert not diagnosis.ok(strict=True)
    before = original(fault)
    made = {row.check for row in before}
    assert fault.check in made | {*before.skipped}, fault.name
    if fault.check in made:
        assert before[fault.check].status == "pass", f"{fault.name}: in the original, too\n{before}"


def test_there_are_faults_enough() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 60
    assert set(QUICK) <= {fault.name for fault in FAULTS}


@pytest.mark.parametrize("name", QUICK)
def test_faults_are_found_and_named(
    name: str, healthy: Path, original: Callable[[Fault], Diagnosis], tmp_path: Path
) -> None:
    check(next(fault for fault in FAULTS if fault.name == name), healthy, original, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.name not in QUICK], ids=lambda f: f.name
)
def test_every_other_fault_is_found_and_named(
    fault: Fault, healthy: Path, original: Callable[[Fault], Diagnosis], tmp_path: Path
) -> None:
    check(fault, healthy, original, tmp_path)


def test_the_untouched_folder_is_healthy(healthy: Path) -> None:
    diagnosis = tokenmill.doctor(healthy, against=healthy)
    assert [str(row) for row in diagnosis.failed] == []
    assert {row.check for row in diagnosis.warned} <= {"fertility", "double_bos"}
