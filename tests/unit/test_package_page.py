"""What a package index shows: the metadata of pyproject.toml, and README.md without the repository."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from conftest import ROOT

URL = "https://github.com/tokenmill/tokenmill"

#: The target of a link or picture: inline, by reference, or as HTML.
TARGETS = re.compile(r"\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=[\"']([^\"']+)", re.MULTILINE)


def targets(page: str) -> list[str]:
    """Every link of a page, code blocks left out."""
    prose = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return ["".join(groups) for groups in TARGETS.findall(prose)]


def broken(target: str) -> bool:
    """Whether a link leads nowhere from a package page, or to a file of ours that is not there."""
    if target.startswith("#"):
        return False
    if not target.startswith("https://"):
        return True
    ours = re.fullmatch(rf"{re.escape(URL)}/(?:blob|tree)/main/([^#]+)(?:#.*)?", target)
    return ours is not None and not (ROOT / ours[1]).exists()


def test_links_are_found() -> None:
    page = "[a](b.md) ![c](d.png \"e\") [f][g]\n\n[g]: h.md\n\n<img src='i.svg'>\n```text\n[j](k)\n```\n"
    assert targets(page) == ["b.md", "d.png", "h.md", "i.svg"]
    assert [broken(f"{URL}/blob/main/{name}") for name in ("README.md", "README.md#start", "none.md")] == [
        False,
        False,
        True,
    ]
    assert [broken(target) for target in ("docs/loading.md", "#start", URL)] == [True, False, False]


def test_no_link_of_the_readme_breaks_on_a_package_page() -> None:
    found = targets((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(found) > 10
    assert [target for target in found if broken(target)] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_to_files_of_the_repository_lead_to_files(name: str) -> None:
    path = ROOT / name
    gone = []
    for target in targets(path.read_text(encoding="utf-8")):
        file = target.removeprefix(f"{URL}/blob/main/").removeprefix(f"{URL}/tree/main/").partition("#")[0]
        if file and "://" not in file and not (path.parent / file).exists():
            gone.append(target)
    assert gone == []


# ---- metadata ---------------------------------------------------------------------------------


def project() -> str:
    """The table `project` of pyproject.toml, as text: Python 3.10 cannot read TOML."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return text.partition("[project]\n")[2].partition("[project.scripts]")[0]


def test_the_metadata_has_what_a_package_page_shows() -> None:
    text = project()
    for key in [
        "authors = [",
        "keywords = [",
        "license = ",
        "readme = ",
        "classifiers = [",
        "description = ",
    ]:
        assert f"\n{key}" in f"\n{text}", key
    urls = dict(re.findall(r'^(\w+) = "(https://[^"]+)"$', text, flags=re.MULTILINE))
    assert {*urls} >= {"Homepage", "Source", "Issues", "Changelog", "Documentation"}
    assert [url for url in urls.values() if url != URL and not url.startswith(f"{URL}/")] == []
    assert [url for url in urls.values() if broken(url)] == []


def test_classifiers_say_no_earlier_python_than_is_required() -> None:
    text = project()
    required = re.search(r'requires-python = ">=3\.(\d+)"', text)
    assert required is not None
    listed = [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)]
    assert listed == list(range(int(required[1]), listed[-1] + 1))
    # A license is an SPDX expression; a classifier beside it is refused by package indexes.
    assert "License ::" not in text
    assert text.count('"Topic :: ') >= 2


def test_the_extra_for_transformers_brings_what_its_chat_templates_need() -> None:
    extra = re.search(r"^transformers = \[(.*)\]$", project(), flags=re.MULTILINE)
    assert extra is not None
    assert '"jinja2' in extra[1]
    # It is no dependency of transformers itself: else there would be nothing to add.
    try:
        needs = importlib.metadata.requires("transformers") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("transformers is not installed")
    assert [need for need in needs if need.lower().startswith("jinja2") and "extra ==" not in need] == []


def test_every_extra_that_an_error_or_a_page_names_exists() -> None:
    extras = set(
        re.findall(r"^(\w+) = \[", project().partition("[project.optional-dependencies]")[2], re.MULTILINE)
    )
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "python").rglob("*.py")]
    named = {
        (extra, path.name)
        for path in pages
        for group in re.findall(r"(?:tokenmill|\.)\[([\w,]+)\]\"", Path(path).read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert {extra for extra, _ in named} >= {"hub", "cli", "arrow"}
    assert {(extra, name) for extra, name in named if extra not in extras | {"extra"}} == set()
