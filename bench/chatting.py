"""Conversations to ids and masks in a process of its own, with tokenmill or with transformers."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data

ROLES = ("system", "user", "assistant", "user", "assistant")
LIBRARIES = ("tokenmill", "transformers")
SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")

Message = dict[str, str]
Call = Callable[[list[list[Message]]], Any]


@dataclass(frozen=True)
class Chat:
    """A template with ``{% generation %}`` blocks, and the tokenizer that it is measured with."""

    name: str
    vocabulary: str
    template: str | None = None
    """Of the shared data, where the tests edit the blocks in; None for the ChatML of tokenmill."""
    bar: float = 3.0
    """How many times as fast as transformers we want to be."""

    @property
    def folder(self) -> Path:
        folder = data.shared()
        assert folder is not None
        return folder / "vocab" / self.vocabulary

    def source(self) -> str:
        """What both libraries are given."""
        if self.template is None:
            from tokenmill.chat import builtin

            return (Path(builtin.__file__).parent / "chatml.jinja").read_text(encoding="utf-8")
        marked = self._marked()
        path = self.folder.parent.parent / "templates" / f"{self.template}.jinja"
        return str(marked.of(path.read_text(encoding="utf-8")))

    def special_tokens(self) -> dict[str, str]:
        """Those that the folder of the tokenizer names, else those that the tests do."""
        settings = self.folder / "tokenizer_config.json"
        named = json.loads(settings.read_text(encoding="utf-8")) if settings.exists() else {}
        found = {role: named[role] for role in SPECIAL if named.get(role) is not None}
        return found if self.template is None else found | dict(self._marked().tokens)

    def _marked(self) -> Any:
        tests = str(Path(__file__).resolve().parent.parent / "tests")
        if tests not in sys.path:
            sys.path.append(tests)
        from exact.generation_templates import MARKED

        (marked,) = [marked for marked in MARKED if marked.template == self.template]
        return marked


CHATS = {
    chat.name: chat
    for chat in (
        Chat("chatml", "qwen2.5"),
        Chat("llama3.1", "llama3.1", "meta-llama-Llama-3.1-8B-Instruct"),
        Chat("qwen3", "qwen3", "cfg-qwen3", bar=2.0),
        Chat("gpt-oss", "gpt-oss", "cfg-gpt-oss", bar=2.0),
    )
}


def conversations(corpora: Sequence[str], count: int, length: int) -> list[list[Message]]:
    """As many from each corpus, of so many bytes of text or some more, in new strings.

    Texts with what looks like a control token are left out: tokenmill takes it for text, transformers for the
    token.
    """
    found = []
    for number, corpus in enumerate(corpora):
        own = len(range(number, count, len(corpora)))
        # More than is needed: the last document is shorter, and some are left out.
        content = data.text(corpus, (own + 1) * (length + 4) + 262_144)
        texts = [text for text in data.documents(content, length)[:-1] if "<|" not in text]
        found += _talks(texts[:own])
    return found


def _talks(texts: Sequence[str]) -> list[list[Message]]:
    """A conversation of each text, a part of it in each turn."""
    talks = []
    for text in texts:
        cuts = [len(text) * turn // len(ROLES) for turn in range(len(ROLES) + 1)]
        talks.append(
            [{"role": role, "content": text[cuts[turn] : cuts[turn + 1]]} for turn, role in enumerate(ROLES)]
        )
    return talks


def chats(
    library: str, name: str, corpora: list[str], count: int, length: int, passes: int, answers: str | None
) -> dict[str, Any]:
    """Seconds of each pass over conversations that this process never saw before the first.

    With ``answers`` nothing is timed: that file gets the ids and masks.
    """
    chat = CHATS[name]
    call, answer = (_tokenmill if library == "tokenmill" else _transformers)(chat)
    if answers is not None:
        Path(answers).write_text(json.dumps(answer(conversations(corpora, count, length))), encoding="ascii")
        return {}
    call(_talks(data.documents(data.warm_up_text(), length)))
    walls, cpus = [], []
    for _ in range(passes):
        talks = conversations(corpora, count, length)
        gc.collect()  # and it stays as Python has it: what a library leaves to collect is its own time
        cpu, wall = time.process_time(), time.perf_counter()
        result = call(talks)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        del result  # what was made is freed after the clock has stopped
    return {"bytes": _size(talks), "wall": walls, "cpu": cpus}


def _size(talks: list[list[Message]]) -> int:
    return sum(len(message["content"].encode()) for talk in talks for message in talk)


Answer = dict[str, list[list[int]]]


def _tokenmill(chat: Chat) -> tuple[Call, Callable[[list[list[Message]]], Answer]]:
    import tokenmill

    tok: Any = tokenmill.load(chat.folder / "tokenizer.json")
    tok = tok.with_special_tokens(**chat.special_tokens()).with_chat_template(chat.source())

    def call(talks: list[list[Message]]) -> Any:
        return tok.apply_chat_template(talks, return_labels=True)

    def answer(talks: list[list[Message]]) -> Answer:
        found = call(talks)
        return {
            "ids": [encoding["input_ids"] for encoding in found],
            "masks": [encoding["loss_mask"] for encoding in found],
        }

    return call, answer


def _transformers(chat: Chat) -> tuple[Call, Callable[[list[list[Message]]], Answer]]:
    import transformers
    from transformers.utils import chat_template_utils

    fast: Any = transformers.PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_file=str(chat.folder / "tokenizer.json"), **chat.special_tokens())
    tokenizer.chat_template = chat.source()

    def call(talks: list[list[Message]]) -> Any:
        return tokenizer.apply_chat_template(
            talks, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )

    def answer(talks: list[list[Message]]) -> Answer:
        found = call(talks)
        render: Any = chat_template_utils.render_jinja_template
        _, blocks = render(
            conversations=talks,
            chat_template=tokenizer.chat_template,
            return_assistant_tokens_mask=True,
            **tokenizer.special_tokens_map,
        )
        rows = zip(found.encodings, blocks, strict=True)
        return {
            "ids": found["input_ids"],
            "masks": found["assistant_masks"],
            "ends": [_ends(encoding.offsets, spans) for encoding, spans in rows],
        }

    return call, answer


def _ends(offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[int]:
    """The tokens of the last characters of blocks.

    Where such a character has several, transformers' mask has the first alone: ``char_to_token`` gives it.
    """
    ends = {stop - 1 for start, stop in spans if start < stop}
    return [at for at, (start, stop) in enumerate(offsets) if any(start <= end < stop for end in ends)]
