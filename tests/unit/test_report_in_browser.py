"""The page of a report in a real browser: Debian's chromium, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tokenmill

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native")]

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<script>document.title = 'forged'</script>\u202e\u200f\x00"
PATIENCE = 300_000
"""Milliseconds that the browser may take for anything: a machine may have much else to do."""

FOLDED = "open => document.querySelectorAll('details').forEach((one) => { one.open = open; })"
SPILLED = """() => [...document.querySelectorAll('section *')]
    .filter((one) => one.checkVisibility() && !one.closest('svg, .scroll'))
    .filter((one) => one.getBoundingClientRect().right > one.closest('section').getBoundingClientRect().right)
    .map((one) => one.outerHTML.slice(0, 200))"""
"""What stands over the right edge of its section, tables that scroll aside."""


@pytest.fixture(scope="module")
def report(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three published tokenizers and one trained here, within its size."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")
    vocab = data / "vocab"
    corpus = [(data / "corpus" / "lang" / f"{name}.txt").read_text("utf-8") for name in ("en", "ru")]
    toks = {
        "cl100k": tokenmill.load(vocab / "cl100k_base" / "cl100k_base.tiktoken", split="cl100k"),
        "o200k": tokenmill.load(vocab / "o200k_base" / "o200k_base.tiktoken", split="o200k"),
        "llama3.1": tokenmill.load(vocab / "llama3.1"),
        HOSTILE: tokenmill.train(texts=[*corpus, HOSTILE * 99], vocab_size=4000),
    }
    path = tmp_path_factory.mktemp("report") / "report.html"
    tokenmill.report(toks).save(path)
    assert path.stat().st_size < 3_000_000
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no chromium is installed: apt-get install chromium")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE)
        yield opened
        opened.close()


@contextmanager
def tab(browser: Any, **options: Any) -> Iterator[Any]:
    """An empty page in a context of its own."""
    with browser.new_context(**options) as context:
        context.set_default_timeout(PATIENCE)
        yield context.new_page()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_sound(browser: Any, report: Path, width: int, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python"
    )
    said: list[str] = []
    asked: list[str] = []
    with tab(browser, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        assert page.title() == "Tokenizer report"
        # However long the name of a tokenizer is, its first figure is seen without scrolling.
        for cell in page.locator("#summary tbody td:nth-child(2)").all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= width
        for unfolded in (False, True):
            page.evaluate(FOLDED, unfolded)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(SPILLED) == []
            found = axe.Axe().run(page).response["violations"]
            assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
        assert said == []
        assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}


def test_the_keyboard_reaches_everything(browser: Any, report: Path) -> None:
    with tab(browser) as page:
        page.goto(report.as_uri())
        reached: set[str] = set()
        count = page.evaluate(
            """() => {
                const all = [...document.querySelectorAll('a, summary, select, input, [tabindex="0"]')];
                const seen = all.filter((one) => one.checkVisibility() && !one.disabled);
                seen.forEach((one, place) => { one.dataset.place = place; });
                return seen.length;
            }"""
        )
        for _ in range(count):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.dataset.place"))
        assert reached == {str(place) for place in range(count)}
        # Tokens of a sample by arrow keys, in a text that runs to the right and in one that runs to the left.
        for direction, forward, back in (
            ("", "ArrowRight", "ArrowLeft"),
            ('[dir="rtl"]', "ArrowLeft", "ArrowRight"),
        ):
            sample = page.locator(f".sample{direction}").first
            said = sample.locator("xpath=following-sibling::p[1]")
            sample.focus()
            assert said.text_content().startswith("1 of ")
            page.keyboard.press(forward)
            assert said.text_content().startswith("2 of ")
            assert " id " in said.text_content()
            page.keyboard.press(back)
            assert said.text_content().startswith("1 of ")
        # Words and their steps.
        page.select_option("#word", "2")
        assert page.locator(".word:visible").count() == 1
        steps = page.locator(".word:visible .steps").first.locator("li:visible")
        every = steps.count()
        assert every > 2
        page.focus("#step")
        page.keyboard.press("Home")
        assert steps.count() == 1
        page.keyboard.press("ArrowRight")
        assert steps.count() == 2
        page.keyboard.press("End")
        assert steps.count() == every


def test_without_scripts_everything_is_shown(browser: Any, report: Path) -> None:
    with tab(browser, java_script_enabled=False) as page:
        page.goto(report.as_uri())
        assert page.locator("details").count() == page.locator("details[open]").count() > 4
        assert page.locator(".word").count() == page.locator(".word:visible").count() > 4
        assert page.locator(".steps li").count() == page.locator(".steps li:visible").count()
        assert page.locator(".chooser:visible").count() == 0
        assert page.locator(".t[title]").count() == page.locator(".t").count() > 100
