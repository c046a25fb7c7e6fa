"""Chat templates of published models, and transformers to render them with."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

#: The moment that both libraries take for now.
NOW = datetime.datetime(2025, 3, 4, 5, 6, 7)

SPECIAL_TOKENS = {"bos_token": "<BOS>", "eos_token": "<EOS>", "unk_token": "<UNK>", "pad_token": "<PAD>"}


def template_sources(data: Path) -> dict[str, str]:
    """The templates by name: the collection, and those of the folders of vocabularies."""
    found = {
        path.stem: path.read_text(encoding="utf-8") for path in sorted((data / "templates").glob("*.jinja"))
    }
    for path in sorted((data / "vocab").glob("*/tokenizer_config.json")):
        template = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
        if template is not None:
            found[f"vocab/{path.parent.name}"] = template
    for path in sorted((data / "vocab").glob("*/chat_template.jinja")):
        found[f"vocab/{path.parent.name}"] = path.read_text(encoding="utf-8")
    return found


class Reference:
    """transformers' `apply_chat_template(tokenize=False)` with its clock stopped."""

    def __init__(self, patch: Any) -> None:
        import transformers
        from tokenizers import Tokenizer, models
        from transformers.utils import chat_template_utils

        class Stopped(datetime.datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return NOW

        patch.setattr(chat_template_utils, "datetime", Stopped)
        fast: Any = transformers.PreTrainedTokenizerFast
        backend = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
        self._tokenizer = fast(tokenizer_object=backend, **SPECIAL_TOKENS)

    def render(self, source: str, messages: list[Any], **options: Any) -> str | Exception:
        """The text, or what was raised."""
        try:
            text: Any = self._tokenizer.apply_chat_template(
                messages, chat_template=source, tokenize=False, **options
            )
        except Exception as error:
            return error
        return str(text)


def generation_blocks(
    source: str, messages: list[Any], special_tokens: dict[str, str], **options: Any
) -> list[tuple[int, int]]:
    """Where the `{% generation %}` blocks of a template wrote, as transformers' mask takes it."""
    from transformers.utils import chat_template_utils

    render: Any = chat_template_utils.render_jinja_template
    # As `apply_chat_template` does first.
    chat = [{key: value for key, value in message.items() if value is not None} for message in messages]
    texts, spans = render(
        conversations=[chat],
        chat_template=source,
        return_assistant_tokens_mask=True,
        **{**special_tokens, **options},
    )
    return [(start, min(stop, len(texts[0]))) for start, stop in spans[0]]
