"""The workflows: of the published schema, actions pinned, permissions few, all systems and Pythons there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
MAY_WRITE = {
    ("wheels.yml", "provenance"): {"contents": "read", "id-token": "write", "attestations": "write"},
    ("wheels.yml", "publish"): {"id-token": "write"},
}
"""The jobs that may do more than read, and what each may do."""


def read(name: str) -> dict[Any, Any]:
    """A workflow as it is read."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    assert isinstance(workflow, dict)
    return workflow


def steps() -> list[dict[str, Any]]:
    """The steps of all jobs."""
    jobs = [job for path in WORKFLOWS for job in read(path.name)["jobs"].values()]
    return [step for job in jobs for step in job["steps"]]


def schema(path: Path) -> subprocess.CompletedProcess[str]:
    """Checks a file against the published schema of workflows, which the checker has with it."""
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
        str(path),
    ]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_there_are_workflows() -> None:
    assert {path.name for path in WORKFLOWS} >= {"ci.yml", "wheels.yml"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_each_is_of_the_published_schema(path: Path) -> None:
    done = schema(path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_misspelt_key_is_found(tmp_path: Path) -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    wrong = tmp_path / "wheels.yml"
    wrong.write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert schema(wrong).returncode == 1


def test_actions_are_pinned_to_a_full_version() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert len(used) > 10
    assert [name for name in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+\.\d+\.\d+", name)] == []
    versions = {tuple(name.split("@")) for name in used}
    assert len(versions) == len({name for name, _ in versions}), "one action at two versions"


def test_no_job_may_do_more_than_it_needs() -> None:
    for path in WORKFLOWS:
        workflow = read(path.name)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            allowed = MAY_WRITE.get((path.name, name), {"contents": "read"})
            assert job.get("permissions", {"contents": "read"}) == allowed, f"{path.name}: {name}"
            assert "timeout-minutes" in job, f"{path.name}: {name}"
    for step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_wheels_are_made_for_each_system_and_python() -> None:
    job = read("wheels.yml")["jobs"]["wheel"]
    matrix = job["strategy"]["matrix"]
    assert {platform["name"] for platform in matrix["platform"]} == {
        "manylinux-x86_64",
        "manylinux-aarch64",
        "macos-x86_64",
        "macos-arm64",
        "windows-x86_64",
    }
    assert matrix["python"] == PYTHONS
    [build] = [step for step in job["steps"] if "maturin-action" in step.get("uses", "")]
    assert "--release --locked" in build["with"]["args"]
    assert build["with"]["manylinux"]
    assert any("tests/shipping/installed.py" in step.get("run", "") for step in job["steps"])


def test_what_is_made_of_a_tag_has_a_provenance_and_is_published_by_hand() -> None:
    workflow = read("wheels.yml")
    # YAML reads the key `on` as a truth value.
    started = workflow[True]
    assert started["push"] == {"tags": ["v*"]}
    assert started["workflow_dispatch"]["inputs"]["publish"]["default"] is False
    jobs = workflow["jobs"]
    assert jobs["provenance"]["needs"] == ["wheel", "sdist"]
    assert any("attest-build-provenance" in step.get("uses", "") for step in jobs["provenance"]["steps"])
    assert jobs["publish"]["needs"] == ["provenance"]
    assert "github.event_name == 'workflow_dispatch' && inputs.publish" in jobs["publish"]["if"]
    assert jobs["publish"]["environment"]


def test_tests_run_on_each_python_but_the_first_and_on_each_system() -> None:
    jobs = read("ci.yml")["jobs"]
    matrix = jobs["python"]["strategy"]["matrix"]
    given = [step.get("with", {}).get("python-version") for step in jobs["checks"]["steps"]]
    [own] = filter(None, given)
    assert sorted([own, *matrix["python"]]) == PYTHONS[1:]
    runners = {job["runs-on"] for job in jobs.values()} | {entry["runner"] for entry in matrix["include"]}
    for system in ("ubuntu-24.04", "ubuntu-24.04-arm", "macos", "windows"):
        assert any(runner.startswith(system) for runner in runners)
