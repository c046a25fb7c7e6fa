"""The texts that are tried on every tokenizer."""

from __future__ import annotations

__all__ = ["CONTEXTS", "FERTILITY", "HARD", "INVISIBLE", "SAMPLE"]

HARD: dict[str, str] = {
    "words": "hello world",
    "indented code": "  indented code\n    x = 1",
    "two scripts": "中文和English混合",
    "emoji": "emoji: 🧠🚀",
    "literals": "<|user|> hi </think>",
    "capitals": "The NATO summit; McDonald's iPhone, ÄÖÜ",
    "accents": "naïve café, Ångström, żółć",
    "combining marks": "cafe\u0301 A\u030angstro\u0308m",
    "joined emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽",
    "full width": "Ｆｕｌｌ　ｗｉｄｔｈ ﬁ ² ½ ℃",
    "spaces": "a  b   c    d\tend \t mixed",
    "space at both ends": " padded ",
    "lines": "one\ntwo\n\nthree\r\nfour\rfive\n",
    "digits": "3.14159 2024-02-29 1234567890 ١٢٣ १२३",
    "contractions": "I'm, you'll, THEY'VE, it’s",
    "punctuation": "?!... -- ---- ==> <!-- --> {{x}} [[y]] $_ @#%^&*",
    "code": 'def f(x: int) -> str:\n\treturn f"{x!r:>8}"  # done\n',
    "markup": '<a href="https://example.org/?q=1&amp;r=2">link</a>',
    "right to left": "שלום עולם مرحبا بالعالم",
    "southern scripts": "नमस्ते दुनिया สวัสดีชาวโลก",
    "kana and hangul": "こんにちは世界 カタカナ 안녕하세요",
    "mathematics": "∀x∈ℝ: ∑ᵢ xᵢ² ≥ 0, ∫₀^∞ e⁻ˣ dx = 1",
    "rare planes": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𒀀 \U000e0041",
    "written form": "Ġword ▁word ##ing <0x41> </w>",
}
"""What a round trip is tried on, by what is hard about it. The first five are the least that any tokenizer
should keep."""

INVISIBLE: dict[str, str] = {
    "U+00AD soft hyphen": "\u00ad",
    "U+200B zero-width space": "\u200b",
    "U+200C zero-width non-joiner": "\u200c",
    "U+200D zero-width joiner": "\u200d",
    "U+200E left-to-right mark": "\u200e",
    "U+202E right-to-left override": "\u202e",
    "U+2060 word joiner": "\u2060",
    "U+FEFF byte order mark": "\ufeff",
    "U+FE0F variation selector": "\ufe0f",
    "U+0000 NUL": "\0",
    "U+00A0 no-break space": "\u00a0",
    "U+2028 line separator": "\u2028",
}
"""Characters that nobody sees, by name."""

CONTEXTS: tuple[tuple[str, str], ...] = (
    ("", ""),
    (" ", ""),
    ("a", ""),
    ("", " "),
    (".", ""),
    ("\n", ""),
    ("", "a"),
    ("a", "a"),
    ("1", ""),
    (" a", ""),
    ("", "\n"),
    ("", "."),
    ("é", ""),
    ("中", ""),
    ("(", ")"),
    ("''", ""),
    ("A", ""),
    ("", "x"),
    ("  ", ""),
    ("\t", ""),
    ("", "1"),
    (", ", ","),
    ("", "!"),
    ("", ")"),
    ("s", ""),
    ("e", ""),
    ("n", ""),
    ("o", ""),
)
"""What a token is put between to see whether a text can hold it."""

FERTILITY: dict[str, tuple[str, str, float]] = {
    "English": (
        "The river rose slowly during the night, and by morning the lower fields were under water. "
        "Nobody in the village had seen it so high since the winter their grandparents talked about.",
        "word",
        2.0,
    ),
    "German": (
        "In der Nacht stieg der Fluss langsam an, und am Morgen standen die unteren Felder unter Wasser. "
        "Niemand im Dorf hatte ihn je so hoch gesehen.",
        "word",
        4.0,
    ),
    "French": (
        "La rivière monta lentement pendant la nuit, et au matin les champs du bas étaient sous l'eau. "
        "Personne au village ne l'avait jamais vue si haute.",
        "word",
        4.0,
    ),
    "Russian": (
        "Ночью река медленно поднялась, и к утру нижние поля оказались под водой. "
        "Никто в деревне не видел её такой высокой.",
        "word",
        8.0,
    ),
    "Arabic": (
        "ارتفع النهر ببطء أثناء الليل، وفي الصباح كانت الحقول السفلى تحت الماء.",
        "word",
        8.0,
    ),
    "Hindi": (
        "रात में नदी धीरे-धीरे बढ़ी और सुबह तक निचले खेत पानी में डूब गए थे।",
        "word",
        14.0,
    ),
    "Chinese": (
        "河水在夜里慢慢上涨，到了早晨，低处的田地都被水淹没了。村里没有人见过它这么高。",
        "character",
        2.5,
    ),
    "Japanese": ("夜のあいだに川はゆっくりと増水し、朝には低い畑が水に沈んでいた。", "character", 2.5),
    "Korean": ("밤사이 강물이 천천히 불어나 아침에는 아래쪽 밭이 물에 잠겼다.", "character", 3.0),
    "code": (
        "for index, value in enumerate(values):\n    if value > limit:\n        return index\n    total += "
        "value\n",
        "word",
        4.0,
    ),
    "mathematics": ("f(x) = 3x^2 + 2x - 1, so f'(x) = 6x + 2 and f(10) = 319.", "word", 4.0),
}
"""Texts by language, what their tokens are counted by, and the most tokens of one before the check warns."""

SAMPLE = "\n".join([*HARD.values(), *(text for text, _, _ in FERTILITY.values())])
"""All of them, as one text."""
