"""Chat templates: what `AutoTokenizer` of transformers 5.23 finds in a folder; what published ones write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .folders_made import END, byte_level, make
from .test_folders import PUBLISHED, auto

pytest.importorskip("jinja2")

DEFAULT = "chat_template.jinja"
MORE = "additional_chat_templates"


def theirs(folder: Path) -> dict[str, str]:
    """The templates that transformers finds, by name."""
    return named(auto(folder))


def named(tokenizer: Any) -> dict[str, str]:
    template = tokenizer.chat_template
    if template is None:
        return {}
    return dict(template) if isinstance(template, dict) else {"default": template}


def agree(native: Any, folder: Path, saved: Path) -> Any:
    """What is read is equal, also after either library has saved it, and over what the other saved."""
    ours, other = native.load(folder), auto(folder)
    assert ours.chat_templates == named(other)
    ours.save(saved / "ours")
    assert native.load(saved / "ours") == ours
    assert theirs(saved / "ours") == ours.chat_templates
    for place in ("theirs", "ours"):
        try:
            other.save_pretrained(str(saved / place))
        except ValueError:
            assert any("/" in name for name in ours.chat_templates)
            continue
        assert native.load(saved / place).chat_templates == theirs(saved / place)
    ours.save(saved / "theirs")
    assert native.load(saved / "theirs") == ours
    # What only settings can hold does not replace the files of another library.
    if not any("\r" in source for source in ours.chat_templates.values()):
        assert theirs(saved / "theirs") == ours.chat_templates
    return ours


WITH_TEMPLATES = {"gpt-oss", "mistral-7b-v0.3", "phi-3-mini", "qwen2.5", "qwen3"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_folders(name: str, native: Any, data: Path, tmp_path: Path) -> None:
    ours = native.load(data / "vocab" / name)
    assert ours.chat_templates == theirs(data / "vocab" / name)
    assert bool(ours.chat_templates) == (name in WITH_TEMPLATES)
    if ours.chat_templates:
        ours.save(tmp_path / "t")
        assert theirs(tmp_path / "t") == ours.chat_templates
        assert native.load(tmp_path / "t") == ours


def test_every_published_template_in_every_place(native: Any, data: Path, tmp_path: Path) -> None:
    """As a file, as a setting, and under a name."""
    paths = sorted((data / "templates").glob("*.jinja"))
    assert len(paths) > 70
    sources = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    folder = make(tmp_path / "files", byte_level(END), tokenizer_config={"eos_token": END[0]})
    (folder / MORE).mkdir()
    for path in paths:
        (folder / MORE / path.name).write_bytes(path.read_bytes())
    assert agree(native, folder, tmp_path / "a").chat_templates == sources
    listed = [{"name": name, "template": source} for name, source in sources.items()]
    folder = make(tmp_path / "settings", byte_level(END), tokenizer_config={"chat_template": listed})
    assert agree(native, folder, tmp_path / "b").chat_templates == sources
    for number, path in enumerate(paths[::9]):
        settings = {"chat_template": sources[path.stem]}
        folder = make(tmp_path / str(number), byte_level(END), tokenizer_config=settings)
        assert native.load(folder).chat_templates == theirs(folder) == {"default": sources[path.stem]}
        (folder / DEFAULT).write_bytes(b"{{ 'file' }}")
        assert native.load(folder).chat_templates == theirs(folder) == {"default": "{{ 'file' }}"}


BOTH = [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]
FOLDERS: dict[str, tuple[object, dict[str, bytes]]] = {
    "a setting": ("S", {}),
    "an empty setting": ("", {}),
    "null": (None, {}),
    "named ones": (BOTH, {}),
    "named ones in an object": ({"a": "A", "default": "D"}, {}),
    "no default": (BOTH[:1], {}),
    "a name twice": ([*BOTH, {"name": "tool_use", "template": "again"}], {}),
    "names that are no file names": ([{"name": "a/b", "template": "1"}, {"name": "", "template": "2"}], {}),
    "none of them": ([], {}),
    "a file": (None, {DEFAULT: b"F"}),
    "an empty file": ("S", {DEFAULT: b""}),
    "a file and a setting": ("S", {DEFAULT: b"F"}),
    "a file and named settings": (BOTH, {DEFAULT: b"F"}),
    "another file and a setting": ("S", {f"{MORE}/a.jinja": b"A"}),
    "several files": (None, {DEFAULT: b"F", f"{MORE}/a.jinja": b"A", f"{MORE}/b.jinja": b"B"}),
    "default among the others": (None, {DEFAULT: b"F", f"{MORE}/default.jinja": b"D"}),
    "only default among the others": (None, {f"{MORE}/default.jinja": b"D"}),
    "one called file": (None, {DEFAULT: b"F", f"{MORE}/file.jinja": b"N", f"{MORE}/a.jinja": b"A"}),
    "only one called file": (None, {f"{MORE}/file.jinja": b"N"}),
    "file and default among the others": (
        None,
        {f"{MORE}/file.jinja": b"N", f"{MORE}/default.jinja": b"D", DEFAULT: b"F"},
    ),
    "no name": (None, {f"{MORE}/.jinja": b"E"}),
    "other files": ("S", {f"{MORE}/a.txt": b"A", f"{MORE}/deeper/b.jinja": b"B", "c.jinja": b"C"}),
    "a folder called like one": ("S", {f"{MORE}/a.jinja/b.jinja": b"A"}),
    "line ends": (None, {DEFAULT: b"a\r\nb\rc\n\r\n", f"{MORE}/a.jinja": b"\r"}),
    "line ends in a setting": ("a\r\nb\rc\n", {}),
    "a mark of the byte order": (None, {DEFAULT: b"\xef\xbb\xbfF"}),
    "Unicode": ("é \u2028 \U0001f600 \x00", {}),
    "a processor's": (None, {"chat_template.json": b'{"chat_template": "P"}'}),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_where_templates_are(name: str, native: Any, tmp_path: Path) -> None:
    setting, files = FOLDERS[name]
    settings = {"eos_token": END[0], "chat_template": setting}
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config=settings)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    agree(native, folder, tmp_path)


@pytest.mark.parametrize("setting", [[3], ["a"], [{"name": "a"}], [{"template": "a"}]])
def test_what_transformers_refuses_is_refused(setting: object, native: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "t", byte_level(END), tokenizer_config={"chat_template": setting})
    with pytest.raises((TypeError, KeyError)):
        auto(folder)
    with pytest.raises(native.FormatError):
        native.load(folder)
    # A file takes the place of the setting, whatever that is.
    (folder / DEFAULT).write_text("F")
    assert native.load(folder).chat_templates == theirs(folder) == {"default": "F"}


def test_templates_that_are_given_are_those_that_transformers_finds(native: Any, tmp_path: Path) -> None:
    tok = native.train(texts=["low lower"] * 2, num_merges=2)
    for number, made in enumerate(
        [
            tok.with_chat_template("llama3"),
            tok.with_chat_template("chatml", "tool_use"),
            tok.with_chat_template("chatml").with_chat_template("{{ 1 }}", "tool_use"),
            tok.with_chat_template("{{ 1 }}", "file").with_chat_template("{{ 2 }}"),
            tok.with_chat_template("{\r\n"),
        ]
    ):
        made.save(tmp_path / str(number))
        assert theirs(tmp_path / str(number)) == made.chat_templates
        # One after the other into one folder.
        made.save(tmp_path / "t")
        if number < 3:
            assert theirs(tmp_path / "t") == made.chat_templates
    tok.with_chat_template("llama3").save(tmp_path / "u")
    tok.save(tmp_path / "u")
    assert theirs(tmp_path / "u") == {}


# ---- templates that come with the package ----------------------------------------------------------------

Message = dict[str, str]


def conversations(*, with_system: bool) -> Iterator[list[Message]]:
    texts = ["hi", " two words ", "a\n", "\n\nb", "é 😀", "<|im_end|></s>[/INST]", "{{ x }}", ""]
    for length in range(1, 6):
        for start in range(0, len(texts), 3):
            roles = ["user", "assistant"] * 3
            turns = [
                {"role": roles[turn], "content": texts[(start + turn) % len(texts)]} for turn in range(length)
            ]
            if not with_system:
                yield turns
            else:
                for text in ["be kind", " x \n", ""]:
                    yield [{"role": "system", "content": text}, *turns]


def render(source: str, messages: list[Message], **options: Any) -> str:
    from transformers.utils.chat_template_utils import render_jinja_template

    done: Any = render_jinja_template(
        conversations=[messages], chat_template=source, bos_token="<s>", eos_token="</s>", **options
    )
    return str(done[0][0])


@cache
def plain(source: str) -> Any:
    """A template for Jinja alone, without the tags that mark what the assistant says."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(message: str) -> None:
        raise ValueError(message)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = raise_exception
    for tag in ["{%- generation %}", "{%- endgeneration %}"]:
        assert source.count(tag) == 1
        source = source.replace(tag, "{%- if true %}" if "end" not in tag else "{%- endif %}")
    return environment.from_string(source)


LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
    "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
    "{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
"""That of Llama 2 Chat, which is not among the published templates of the test data."""

DATE = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
NO_SYSTEM = "<|start_header_id|>system<|end_header_id|>\n\n<|eot_id|>"
HELPFUL = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
)


def same(text: str) -> str:
    return text


WITNESSES: list[tuple[str, str, str, Callable[[str], str]]] = [
    # The name, the published template, the conversations that it takes, and what it adds to them.
    ("chatml", "Qwen-Qwen2.5-7B-Instruct", "both", lambda text: text.replace(HELPFUL, "")),
    ("gemma", "cfg-gemma", "without", same),
    ("gemma", "cfg-gemma-3", "both", same),
    ("llama2", "", "both", same),
    ("llama3", "meta-llama-Llama-3.1-8B-Instruct", "with", lambda text: text.replace(DATE, "")),
    (
        "llama3",
        "meta-llama-Llama-3.1-8B-Instruct",
        "without",
        lambda text: text.replace(DATE, "").replace(NO_SYSTEM, ""),
    ),
    ("mistral", "mistral-common-v3_spm", "both", same),
]


@pytest.mark.parametrize(("name", "witness", "which", "cut"), WITNESSES)
def test_a_template_of_the_package_writes_what_the_published_one_writes(
    name: str, witness: str, which: str, cut: Callable[[str], str], data: Path, native: Any
) -> None:
    from tokenmill.chat.builtin import source_of

    source = source_of(name)
    published = (data / "templates" / f"{witness}.jinja").read_text(encoding="utf-8") if witness else LLAMA_2
    compared = 0
    for with_system in {"both": (False, True), "with": (True,), "without": (False,)}[which]:
        for messages in conversations(with_system=with_system):
            for prompt in (False, True):
                try:
                    want = cut(render(published, messages, add_generation_prompt=prompt))
                except Exception:  # mistral-common takes no empty turns
                    assert any(not message["content"] for message in messages)
                    continue
                assert render(source, messages, add_generation_prompt=prompt) == want, messages
                options = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": prompt}
                assert plain(source).render(messages=messages, **options) == want, messages
                compared += 1
    assert compared >= 15


@pytest.mark.parametrize("name", ["gemma", "llama2", "mistral"])
def test_turns_that_these_models_do_not_know_are_refused(name: str, native: Any) -> None:
    from tokenmill.chat.builtin import source_of

    user, assistant = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    system, tool = {"role": "system", "content": "c"}, {"role": "tool", "content": "d"}
    for messages in [[assistant], [user, user], [user, assistant, assistant], [user, system], [user, tool]]:
        with pytest.raises(Exception, match="must take turns"):
            render(source_of(name), messages)


ENDS = {
    "chatml": "<|im_end|>",
    "gemma": "<end_of_turn>",
    "llama2": " </s>",
    "llama3": "<|eot_id|>",
    "mistral": "</s>",
}


@pytest.mark.parametrize("name", ENDS)
def test_what_the_assistant_says_is_marked_to_the_end_of_its_turn(name: str, native: Any) -> None:
    from tokenmill.chat.builtin import source_of
    from transformers.utils.chat_template_utils import render_jinja_template

    texts = ["ask", "Say it.", "ask again", "It is said."]
    roles = ["user", "assistant", "user", "assistant"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    done: Any = render_jinja_template(
        conversations=[messages],
        chat_template=source_of(name),
        return_assistant_tokens_mask=True,
        bos_token="<s>",
        eos_token="</s>",
    )
    rendered, spans = done[0][0], done[1][0]
    marked = [rendered[start:stop] for start, stop in spans]
    space = " " if name in {"llama2", "mistral"} else ""
    assert marked == [f"{space}{text}{ENDS[name]}" for text in texts[1::2]]
