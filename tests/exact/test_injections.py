"""The bank of injections x tokenizers: nothing that a message says becomes a control token.

What a conversation may become is taken from its harmless twin: the same conversation with plain words in its
fields, rendered, and encoded as text that is trusted. It knows nothing of who wrote what.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tokenmill.errors import SpecialTokenError, TemplateError

from .chat_templates import NOW, Reference
from .injection_targets import NAMES, Target, target_of, transformers_of
from .injections import OF_ASSISTANTS, PLACES, Case, Json, Words, bank, conversation, harmless, roles

os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"})

CASES = bank()
#: One of so many cases, others for each tokenizer, where not all are tried.
STEP = 40
#: What transformers loads in a moment.
SMALL = frozenset(("llama2", "phi-3-mini", "bert", "t5", "normalizing"))

#: What a template looks for in a text, in its source: it decides what else is written.
SOUGHT = re.compile(
    r"""(?<=split\()(['"])(?P<a>.+?)\1
    | (?<=with\()(['"])(?P<b>.+?)\3
    | (['"])(?P<c>[^'"\n]+)\5(?=\ (?:not\ )?in\ )""",
    re.VERBOSE,
)


@pytest.fixture(scope="module")
def clock() -> Iterator[None]:
    """Stops the clock of transformers."""
    with pytest.MonkeyPatch.context() as patch:
        Reference(patch)
        yield


class Given(NamedTuple):
    """A case for a target, and its twin."""

    case: Case
    template: str
    messages: list[Json]
    options: Json
    twin: list[Json]
    twin_options: Json
    is_marked: bool
    """Whether the twin holds what only its template looks for."""


class Bench:
    """A target, and the checks of one conversation."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.tok, self.folder = target, target.tok, folder
        self.special = set(self.tok.special_tokens.values())
        self.added = dict(self.tok.added_tokens)
        self.counted: Counter[str] = Counter()
        self._guarded: dict[str, set[int]] = {}
        self._of_twins: dict[str, tuple[str, dict[str, str]]] = {}

    @cached_property
    def theirs(self) -> Any:
        return transformers_of(self.target, self.folder)

    @cached_property
    def is_reversible(self) -> bool:
        """Whether plain text comes back as it was."""
        text = "  É o\u0301 ｆ\u200b\u0338\x00\ufe64\n \u00a0<0x0A>Ġ▁ ſ</w>"
        return bool(self.tok.decode(self.tok.encode(text)) == text)

    def source(self, template: str) -> str:
        source: str = self.tok.chat_templates[template]
        return source

    def guarded(self, template: str) -> set[int]:
        """The ids that no field may become: special tokens, and what stands in the source of the template.

        What a vocabulary cannot spell is unknown, whoever wrote it.
        """
        if template not in self._guarded:
            literals = sorted((word for word in self.added if word.strip()), key=len, reverse=True)
            pattern = re.compile("|".join(map(re.escape, literals)))
            written = pattern.findall(self.source(template).replace("\\n", "\n"))
            self._guarded[template] = (self.special | {self.added[word] for word in written}) - {
                self.tok.unk_token_id
            }
        return self._guarded[template]

    def of_twins(self, template: str) -> tuple[str, dict[str, str]]:
        """A template for twins: what it looks for in texts are marks that are no token; and the marks."""
        if template not in self._of_twins:
            marks: dict[str, str] = {}

            def replaced(found: re.Match[str]) -> str:
                sought = found["a"] or found["b"] or found["c"]
                mark = marks.setdefault(sought, f"\ue000{len(marks)}\ue001")
                return found[0].replace(sought, mark)

            source = self.source(template)
            # Keys of messages and options are no texts.
            by_source = SOUGHT.sub(
                lambda found: replaced(found) if found[0][1:2] in "<[" else found[0], source
            )
            self._of_twins[template] = by_source, marks
        return self._of_twins[template]

    def given(self, case: Case, template: str) -> Given:
        if template != "default":
            template = f"every field, {case.cut}"
        texts = case.texts(self.target.words)
        _, marks = self.of_twins(template)
        words = {place: harmless(place, text, marks) for place, text in texts.items()}
        return Given(
            case,
            template,
            *conversation(case.conversation, texts),
            *conversation(case.conversation, words),
            is_marked=any(mark in text for mark in marks.values() for text in words.values()),
        )

    def rendered(self, given: Given) -> tuple[Any, str] | None:
        """The encoding of a case, and the text of its twin; None where the template refuses the case."""
        options = {"template": given.template, "now": NOW}
        try:
            source, _ = self.of_twins(given.template)
            twin = self.tok.render_chat(given.twin, **given.twin_options, template=source, now=NOW).text
        except TemplateError:
            twin = None
        try:
            encoding = self.tok.apply_chat_template(given.messages, **given.options, **options)
        except TemplateError:
            # Some refuse what looks like a control token of theirs.
            self.counted["refused"] += twin is not None
            self.counted["not rendered"] += twin is None
            return None
        assert twin is not None, given.case.name
        return encoding, twin

    # ---- the laws -------------------------------------------------------------------------------

    def forged(self, given: Given, encoding: Any, twin: str) -> str | None:
        """What is wrong with the control tokens of an encoding."""
        guarded = self.guarded(given.template)
        ids, offsets, text = encoding["input_ids"], encoding.offsets.tolist(), encoding.text
        expected = [token for token in self.tok.encode(twin, special="parse") if token in guarded]
        found = [token for token in ids if token in guarded]
        if found != expected:
            names = [[self.tok.id_to_token(token) for token in each] for each in (expected, found)]
            return f"control tokens are {names[1]}, those of the twin {names[0]}"
        trusted = [False] * len(text)
        for segment in encoding.segments:
            trusted[segment.start : segment.stop] = [segment.trusted] * (segment.stop - segment.start)
        for token, (start, stop) in zip(ids, offsets, strict=True):
            if token in guarded:
                # White space beside a literal may be part of a token that takes it.
                own = [at for at in range(start, stop) if not text[at].isspace()]
                if not own or not all(trusted[at] for at in own):
                    return f"{self.tok.id_to_token(token)} at {start} stands for {text[start:stop]!r}"
        return None

    def lost(self, given: Given, encoding: Any) -> str | None:
        """What is lost of the text, but for white space that a token takes."""
        guarded, text = self.guarded(given.template), encoding.text
        rest: list[int] = []
        written: list[str] = []
        without: list[str] = []
        at = 0
        for token, (start, stop) in zip(encoding["input_ids"], encoding.offsets.tolist(), strict=True):
            if token in guarded:
                written += (text[at:start], self.tok.id_to_token(token))
                without += (text[at:start], " ")
                at = max(at, stop)
            elif token != self.tok.unk_token_id:
                rest.append(token)
        written.append(text[at:])
        without.append(text[at:])
        if self.is_reversible:
            decoded = self.tok.decode(encoding["input_ids"])
            return None if decoded == "".join(written) else f"decodes to {decoded!r}"
        plain = self.tok.encode_with_offsets("".join(without))
        decoded, expected = (
            self.tok.decode(rest),
            self.tok.decode([token for token in plain.ids if token != self.tok.unk_token_id]),
        )
        if squashed(decoded) != squashed(expected):
            return f"decodes to {decoded!r}, its text alone to {expected!r}"
        covered = covered_by(encoding.offsets.tolist(), len(text))
        whole = self.tok.encode_with_offsets(text)
        dropped = covered_by(whole.offsets, len(text))
        lost = [char for char, one, two in zip(text, covered, dropped, strict=True) if two and not one]
        lost = [char for char in lost if not char.isspace()]
        return f"no token stands for {lost}" if lost else None

    def trained(self, given: Given) -> str | None:
        """What is wrong with the control tokens that are trained: no message says where a turn ends."""
        options: Json = {"return_labels": True, "allow_empty": True, "now": NOW}
        source, _ = self.of_twins(given.template)
        guarded = self.guarded(given.template)
        found = []
        for messages, more, template in (
            (given.messages, given.options, given.template),
            (given.twin, given.twin_options, source),
        ):
            try:
                row = self.tok.apply_chat_template(messages, template=template, **more, **options)
            except TemplateError:
                self.counted["labels refused"] += 1
                return None
            found.append([label for label in row["labels"] if label in guarded])
        return (
            None if found[0] == found[1] else f"trained control tokens are {found[0]}, of the twin {found[1]}"
        )

    def of_transformers(self, given: Given) -> Iterator[str]:
        """What is not as in transformers, to which all text is trusted."""
        options: Json = {"template": given.template, "now": NOW}
        parsed = self.tok.apply_chat_template(given.messages, literals="parse", **given.options, **options)
        theirs = self.ids_of_transformers(given.messages, given)
        if parsed["input_ids"] != theirs:
            # Where a Unigram vocabulary holds a control token as a piece, the reference spells text with it.
            literals = [token[2] for token in self.tok.find_added(parsed.text)]
            if self.target.name == "t5" and len(literals) < sum(token in self.special for token in theirs):
                self.counted["forged by the reference"] += 1
            else:
                yield "literals='parse' gives other ids than transformers"
        if not given.is_marked:
            self.counted["compared"] += 1
            plain = self.tok.apply_chat_template(given.twin, **given.twin_options, **options)
            if plain["input_ids"] != self.ids_of_transformers(given.twin, given):
                yield "without literals there are other ids than of transformers"

    def ids_of_transformers(self, messages: list[Json], given: Given) -> list[int]:
        options = given.twin_options if messages is given.twin else given.options
        found: list[int] = self.theirs.apply_chat_template(
            messages, chat_template=self.source(given.template), tokenize=True, **options
        )["input_ids"]
        return found

    def policies(self, given: Given, encoding: Any, twin: str) -> Iterator[str]:
        """What is wrong with the other policies for literals."""
        tok, case = self.tok, given.case
        options: Json = {**given.options, "template": given.template, "now": NOW}
        ids = encoding["input_ids"]
        trusting = tok.apply_chat_template(given.messages, literals="parse", **options)
        parsed = trusting["input_ids"]
        self.counted["trusted"] += self.forged(given, trusting, twin) is not None
        mixed = tok.apply_chat_template(given.messages, literals={"assistant": "parse"}, **options)[
            "input_ids"
        ]
        if OF_ASSISTANTS.issuperset(case.fields) and mixed != parsed:
            yield "assistants' literals are not parsed"
        if OF_ASSISTANTS.isdisjoint(case.fields) and mixed != ids:
            yield "others' literals are parsed as an assistant's"
        if tok.count_chat(given.messages, **options) != len(ids):
            yield "count_chat counts otherwise"
        for literal in encoding.literals:
            if encoding.text[literal.start : literal.stop] != literal.literal:
                yield f"{literal} is not there"
        place = next(iter(case.fields))
        for word in case.literals:
            control = getattr(self.target.words, word)
            if encoding.text.count(control) <= twin.count(control) or not self.is_control(
                control, given.template
            ):
                continue
            self.counted["whole"] += 1
            where = PLACES[place][1]
            if not any(found.literal == control for found in encoding.literals):
                yield f"{control} is not listed in {encoding.literals}"
            try:
                tok.apply_chat_template(given.messages, literals="reject", **options)
                yield f"{control} is not rejected"
            except SpecialTokenError as error:
                if not str(error).startswith(where) or error.token not in encoding.text:
                    yield f"{error} names another place than {where}"
            rewritten = tok.apply_chat_template(given.messages, literals=escaped, **options)
            if rewritten.literals:
                yield f"{rewritten.literals} are left of what was rewritten"

    def is_control(self, literal: str, template: str) -> bool:
        """Whether a literal is that of a special token, or written by the template."""
        return self.added.get(literal) in self.guarded(template) or literal in self.source(template)


def escaped(text: str) -> str:
    """Without anything that begins a control token."""
    return re.sub(r"[<\[_]", "(", text)


def covered_by(offsets: Iterable[Iterable[int]], length: int) -> list[bool]:
    covered = [False] * length
    for start, stop in offsets:
        covered[start:stop] = [True] * (stop - start)
    return covered


def squashed(text: str) -> str:
    """Without white space and case, whatever stands for a space."""
    return "".join(text.replace("▁", " ").casefold().split())


def tried(bench: Bench, cases: list[Case], with_theirs: bool) -> list[str]:
    """Checks cases with both templates, and says what is wrong."""
    wrong = []
    for case in cases:
        for template in ("default", "every field"):
            given = bench.given(case, template)
            rendered = bench.rendered(given)
            if rendered is None:
                continue
            encoding, twin = rendered
            bench.counted["encodings"] += 1
            forged = bench.forged(given, encoding, twin)
            bench.counted["forged"] += forged is not None
            reasons = [forged, bench.lost(given, encoding), bench.trained(given)]
            reasons += bench.policies(given, encoding, twin)
            if with_theirs:
                reasons += bench.of_transformers(given)
            wrong += [
                f"{bench.target.name}: {case.name} ({template}): {reason}" for reason in reasons if reason
            ]
    return wrong


def part_of_bank(name: str, slow: bool) -> list[Case]:
    """All cases, or some: others for each tokenizer."""
    return CASES if slow else CASES[NAMES.index(name) :: STEP]


@pytest.fixture(scope="module")
def bench(
    request: pytest.FixtureRequest, native: Any, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    folder = tmp_path_factory.mktemp("injections")
    return Bench(target_of(request.param, native, data, folder), folder)


fast_and_slow = pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
each_target = pytest.mark.parametrize("bench", NAMES, indirect=True)


def test_there_are_cases_enough() -> None:
    words = ("<|im_start|>", "<|im_end|>", "<tool_call>", "<|endoftext|>")
    names = {case.name for case in CASES}
    filled = {(case.conversation, case.cut, *case.texts(Words(*words)).items()) for case in CASES}
    assert len(names) == len(CASES)
    assert len(filled) > 1_000
    assert {place for case in CASES for place in case.fields} == PLACES.keys()
    assert len(NAMES) >= 12


@pytest.mark.table
@fast_and_slow
@each_target
def test_no_message_becomes_a_control_token(bench: Bench, clock: None, slow: bool) -> None:
    name = bench.target.name
    cases = part_of_bank(name, slow)
    bench.counted.clear()
    wrong = tried(bench, cases, with_theirs=slow or name in SMALL)
    counted = bench.counted
    print(
        f"injections: {name}, {len(cases)} cases x 2 templates, {counted['encodings']} encodings: "
        f"{counted['forged']} forged, {counted['trusted']} if all were trusted; "
        f"{counted['whole']} whole literals, "
        f"{counted['compared']} without literals compared with transformers; "
        f"{counted['not rendered']} of conversations that the template does not take"
    )
    assert wrong == []
    assert counted["forged"] == 0
    assert counted["encodings"] > len(cases)
    # The bank has teeth.
    assert counted["trusted"] > counted["encodings"] // 10
    assert counted["whole"] > 0


@each_target
def test_no_role_is_a_control_token(bench: Bench) -> None:
    tok, known = bench.tok, {"tool_call"}
    for role in roles(bench.target.words):
        for at in (0, 1):
            messages = [{"role": "user", "content": "calm"}, {"role": "user", "content": "river"}]
            messages[at]["role"] = role
            for template in tok.chat_templates:
                if role in known and role in bench.source(template):
                    continue
                with pytest.raises(TemplateError, match=rf"messages\[{at}\] has the role"):
                    tok.apply_chat_template(messages, template=template)


@each_target
def test_a_batch_gives_what_each_conversation_gives(bench: Bench) -> None:
    for kind in ("talk", "calls"):
        cases = [case for case in part_of_bank(bench.target.name, False) if case.conversation == kind]
        given = [conversation(kind, case.texts(bench.target.words)) for case in cases]
        messages, options = [row for row, _ in given], given[0][1]
        if kind == "calls":
            options = {}
        options = {**options, "template": "every field, middle"}
        for threads in (1, 2):
            rows = bench.tok.apply_chat_template(messages, num_threads=threads, **options)
            for row, of_row in zip(rows, messages, strict=True):
                assert row["input_ids"] == bench.tok.apply_chat_template(of_row, **options)["input_ids"]
