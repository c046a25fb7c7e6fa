"""The text that every tokenizer of a table encodes."""

from __future__ import annotations

PLAIN = [
    "Hello world, the quick brown fox jumps over the lazy dog's 1234567 times.",
    "  two  spaces,\ttab\nand\r\n\r\nlines   \n",
    "naïve café Ångström ﬁne ① ｆｕｌｌ e\u0301 İstanbul ß",
    "Привет мир, γειά σου κόσμε, नमस्ते, שלום, مرحبا",
    "你好，世界。東京タワー ｶﾀｶﾅ 한국어",
    "def f(x: int) -> int:\n    return x**2 + 0x1F  # done",
    "👩‍👩‍👧‍👦 🇩🇪 \u200b\u00a0\ufeff\x00",
    ", . ! 1 2 3",
    "unaffable low lower lowest internationalization " * 3,
    "",
]


def texts(special_tokens: list[str]) -> list[tuple[str, bool]]:
    """Each with whether special tokens are recognised in it."""
    around = [f"low{token} low {token}{token}" for token in special_tokens[:8]]
    return [(text, False) for text in PLAIN] + [(text, True) for text in [*PLAIN[:2], *around]]
