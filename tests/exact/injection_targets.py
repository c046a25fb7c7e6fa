"""The tokenizers that the bank of injections is tried with, each with a template of its own.

A published folder keeps its template; other vocabularies get one whose control tokens they have, or a
built-in one with its markers added. Beside it each has ``every_field``: it writes what conversations hold
without any check, side by side, and halves of control tokens around contents.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from .injections import Words, halves


class Target(NamedTuple):
    """A tokenizer with a template."""

    name: str
    tok: Any
    words: Words
    folder: Path | None
    """Where transformers finds it, with its class; None where a tokenizer.json is saved for it."""


class _Plan(NamedTuple):
    vocabulary: str
    words: Words
    template: str | None = None
    """The name of a built-in template, or of a file; None for the one of the folder."""
    added: tuple[str, ...] = ()
    roles: dict[str, str] = {}  # noqa: RUF012  # never changed


_CHATML = Words("<|im_start|>", "<|im_end|>", "<tool_call>", "<|endoftext|>")

_PLANS: dict[str, _Plan] = {
    "qwen2.5": _Plan("qwen2.5", _CHATML),
    "qwen3": _Plan("qwen3", Words("<|im_start|>", "<|im_end|>", "</think>", "<|endoftext|>")),
    "gpt-oss": _Plan("gpt-oss", Words("<|start|>", "<|end|>", "<|message|>", "<|endoftext|>")),
    "mistral-7b-v0.3": _Plan("mistral-7b-v0.3", Words("[INST]", "</s>", "[TOOL_CALLS]", "[control_8]")),
    "phi-3-mini": _Plan("phi-3-mini", Words("<|user|>", "<|end|>", "</s>", "<|placeholder1|>")),
    "llama3.1": _Plan(
        "llama3.1",
        Words("<|start_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|reserved_special_token_0|>"),
        "meta-llama-Llama-3.1-8B-Instruct.jinja",
        roles={"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    ),
    "mistral-nemo": _Plan(
        "mistral-nemo",
        Words("[INST]", "</s>", "[TOOL_RESULTS]", "[PREFIX]"),
        "mistralai-Mistral-Nemo-Instruct-2407.jinja",
        roles={"bos_token": "<s>", "eos_token": "</s>"},
    ),
    "deepseek-v3": _Plan(
        "deepseek-v3",
        Words("<｜User｜>", "<｜end▁of▁sentence｜>", "</think>", "<｜▁pad▁｜>"),
        "deepseek-ai-DeepSeek-V3.1.jinja",
        ("</think>",),
        roles={"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<｜end▁of▁sentence｜>"},
    ),
    "llama2": _Plan("llama2", Words("<s>", "</s>", "[INST]", "<<SYS>>"), "llama2"),
    "bert": _Plan("bert-base-uncased", Words(*_CHATML[:2], "[MASK]", "[SEP]"), "chatml", _CHATML[:2]),
    "t5": _Plan(
        "t5-small",
        Words("<start_of_turn>", "<end_of_turn>", "<extra_id_0>", "</s>"),
        "gemma",
        ("<start_of_turn>", "<end_of_turn>"),
        {"bos_token": "<bos>"},
    ),
    "gpt2": _Plan("gpt2", _CHATML, "Qwen3-Coder.jinja", _CHATML[:3]),
    "cl100k": _Plan(
        "cl100k_base",
        Words("<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>", "<|fim_prefix|>"),
        "llama3",
        ("<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>"),
        {"bos_token": "<|begin_of_text|>"},
    ),
    "clip": _Plan("clip", Words(*_CHATML[:2], "<|startoftext|>", "<|endoftext|>"), "chatml", _CHATML[:2]),
    "roberta": _Plan(
        "roberta-base",
        Words("<|start_of_role|>", "<|end_of_text|>", "<|end_of_role|>", "<mask>"),
        "ibm-granite-granite-3.3-2B-Instruct.jinja",
        ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
        {"bos_token": "<s>"},
    ),
}
#: Made for what published ones do not have: see `_normalizing`.
MADE = "normalizing"
NAMES = [*_PLANS, MADE]


def target_of(name: str, native: Any, data: Path, folder: Path) -> Target:
    """A tokenizer by name; ``folder`` is a place for what is made."""
    if name == MADE:
        tok = native.load(_normalizing(data, folder)).with_special_tokens(eos_token="<|im_end|>")
        words = Words("<|im_start|>", "<|im_end|>", "<think>", "<|pad|>")
        return Target(name, _with_every_field(tok.with_chat_template(_THINKING), words), words, None)
    plan = _PLANS[name]
    path = data / "vocab" / plan.vocabulary
    tok = native.load(path)
    template = plan.template
    if template is not None:
        added = [literal for literal in plan.added if literal not in tok.added_tokens]
        tok = tok.with_special_tokens(added, **plan.roles)
        if template.endswith(".jinja"):
            template = (data / "templates" / template).read_text(encoding="utf-8")
        tok = tok.with_chat_template(template)
    return Target(name, _with_every_field(tok, plan.words), plan.words, path if template is None else None)


def transformers_of(target: Target, folder: Path) -> Any:
    """The same tokenizer in transformers."""
    transformers: Any = __import__("transformers")

    if target.folder is not None:
        return transformers.AutoTokenizer.from_pretrained(str(target.folder), local_files_only=True)
    target.tok.save(folder / "tokenizer.json", lossy=True)  # roles go beside it
    roles = {role: getattr(target.tok, role) for role in ("bos_token", "eos_token", "unk_token", "pad_token")}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), **{key: token for key, token in roles.items() if token}
    )


# ---- a template that writes every field -----------------------------------------------------------

_EVERY_FIELD = """
{{- bos_token }}
{%- for tool in tools or [] %}
    {%- set f = tool.function %}
    {{- @START@ ~ "tools\\n" ~ f.name }}{{ f.description }}
    {%- for key, value in f.parameters.properties|items %}
        {{- key }}{{ value.description }}{{ value.enum | join }}
    {%- endfor %}
    {{- tool | tojson ~ @END@ }}
{%- endfor %}
{%- for document in documents or [] %}
    {{- document.title + document.text }}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role != "user" or loop.first %}{{- @START@ ~ message.role ~ "\\n" }}{% endif %}
    {{- message.name }}
    {%- if not message.name %}{{ @BEHIND_END@ }}{% endif %}
    {{- message.reasoning_content }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for block in message.content %}{{ block.text }}{% endfor %}
    {%- endif %}
    {%- for call in message.tool_calls or [] %}
        {{- call.id ~ call.function.name }}
        {%- if call.function.arguments is string %}
            {{- call.function.arguments }}
        {%- else %}
            {%- for key, value in call.function.arguments|items %}
                {{- key }}
                {%- if value is string %}{{ value }}{% else %}
                    {%- for inner, list in value|items %}{{ inner ~ (list | join) }}{% endfor %}
                {%- endif %}
            {%- endfor %}
            {{- call.function.arguments | tojson }}
        {%- endif %}
    {%- endfor %}
    {%- if message.role == "tool" %}{{ message.tool_call_id ~ message.name ~ message.content }}{% endif %}
    {{- @BEFORE_START@ }}
    {%- if message.role != "system" %}{{ @PLAIN@ ~ @END_FRONT@ }}{{ @END_BACK@ ~ "\\n" }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ @START@ ~ "assistant\\n" }}{% endif %}"""


def every_field(words: Words, cut: str) -> str:
    """The template for halves that are cut there.

    It builds the end of a turn from two literals, which makes a token; half of one beside a field never does.
    """
    end, start = halves(words.end, cut), halves(words.start, cut)
    literals = {
        "START": words.start,
        "END_FRONT": end[0],
        "END_BACK": end[1],
        "BEHIND_END": end[0],
        "BEFORE_START": start[1],
        "PLAIN": words.plain,
        "END": words.end,
    }
    source = _EVERY_FIELD
    for name, literal in literals.items():
        source = source.replace(f"@{name}@", json.dumps(literal, ensure_ascii=False))
    return source


def _with_every_field(tok: Any, words: Words) -> Any:
    for cut in ("first", "middle", "last"):
        tok = tok.with_chat_template(every_field(words, cut), f"every field, {cut}")
    return tok


# ---- a tokenizer that normalizes its added tokens --------------------------------------------------

_THINKING = """
{%- for message in messages %}
    {{- "<|im_start|>" ~ message.role ~ "\\n" }}
    {%- if message.role == "assistant" %}
        {%- if message.reasoning_content %}
            {{- "<think>\\n" ~ message.reasoning_content ~ "\\n</think>\\n" }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {{- "<tool_call>" ~ call | tojson ~ "</tool_call>" }}
        {%- endfor %}
    {%- endif %}
    {{- message.content ~ "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\\n<think>" }}{% endif %}"""


def _normalizing(data: Path, folder: Path) -> Path:
    """GPT-2 with NFKC and lower case in front, and added tokens that are found in normalized text.

    They take white space or stand alone, and begin, end and hold each other.
    """
    file = json.loads((data / "vocab" / "gpt2" / "tokenizer.json").read_text(encoding="utf-8"))
    file["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}
    flags: list[tuple[str, str]] = [
        ("<|im_start|>", "special normalized rstrip"),
        ("<|im_end|>", "special normalized lstrip"),
        ("<|im_end|>x", "special"),
        ("<|im_", "special normalized"),
        ("im_end", "special single_word normalized"),
        ("<|pad|>", "special normalized lstrip rstrip"),
        ("<think>", "normalized lstrip rstrip"),
        ("</think>", "rstrip"),
        ("<think>\n", ""),
        ("<think", "normalized"),
        ("</tool_call>", "normalized single_word"),
        ("<tool_call>", "normalized"),
        ("  ", ""),
        ("\n\n", "normalized"),
    ]
    names = ("special", "single_word", "lstrip", "rstrip", "normalized")
    for number, (content, given) in enumerate(flags, 50_257):
        file["added_tokens"].append(
            {"id": number, "content": content, **{name: name in given.split() for name in names}}
        )
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    return path
