"""Random chat templates: expressions and statements that real ones are made of, in any combination."""

from __future__ import annotations

import random
from typing import Any

#: Literals are of Hangul where letters are wanted: what data hold is not.
LITERALS = ["가나", " 다 ", "<라>", "마&바", "\n사\n", "아,자", "", " ", "차%카", "ſ", "TaPa ßx"]
FILTERS = ["upper", "lower", "title", "capitalize", "string", "e", "reverse", "first", "last"]
TESTS = ["none", "string", "boolean", "true", "number", "mapping", "sequence", "defined", "integer"]
SEEKING = [",", " ", "\n", "a", "<", "X", "\u3000"]


class Grammar:
    """Writes one random template."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = [
            "m.content",
            "m['content']",
            "m.name",
            "messages[0].content",
            "bos_token",
            "m.role",
            "extra",
        ]
        self.values = [
            "m.number",
            "m.flag",
            "m.nothing",
            "m.share",
            "m.args",
            "m.tags",
            "messages|length",
            "loop.index",
            "7",
            "m",
        ]
        self.count = 0

    def pick(self, options: list[str]) -> str:
        return self.rng.choice(options)

    def literal(self) -> str:
        return repr(self.pick(LITERALS))

    def text(self, depth: int) -> str:
        """An expression that is a string, mostly."""
        if depth <= 0:
            return self.pick([*self.names, self.literal()])
        a, b = self.text(depth - 1), self.text(depth - 2)
        seek = repr(self.pick(SEEKING))
        n = str(self.rng.randint(-4, 6))
        return self.pick(
            [
                f"({a} + {b})",
                f"({a} + {b} + {self.literal()})",
                f"({a} ~ {self.value(depth - 1)} ~ {b})",
                f"({a})|trim",
                f"({a})|{self.pick(FILTERS)}",
                f"({a})|safe",
                f"(({a})|safe + {b})",
                f"({b} + ({a})|safe)",
                f"({a})|replace({seek}, {b})",
                f"({a})|indent({self.pick(['2', '1, true', repr('가 '), '3, true, true'])})",
                f"({a})|center({self.rng.randint(0, 12)})",
                f"({a})|truncate({self.rng.randint(4, 12)}, {self.pick(['true', 'false'])})",
                f"({a})|default({b})",
                f"({a})|list|join({b})",
                f"({a})[{n}:]",
                f"({a})[:{n}]",
                f"({a})[{n}:{self.rng.randint(-4, 6)}]",
                f"({a})[::{self.pick(['-1', '2', '1'])}]",
                f"({a}).{self.pick(['upper', 'lower', 'strip', 'title', 'swapcase', 'casefold'])}()",
                f"({a}).{self.pick(['lstrip', 'rstrip', 'strip', 'removeprefix', 'removesuffix'])}({seek})",
                f"({a}).split({seek})|join({b})",
                f"({a}).{self.pick(['split', 'rsplit'])}({seek}, 1)[{self.pick(['0', '-1'])}]",
                f"({a}).split()|join('·')",
                f"({a}).splitlines({self.pick(['', 'true'])})|join({b})",
                f"({a}).{self.pick(['partition', 'rpartition'])}({seek})[{self.rng.randint(0, 2)}]",
                f"({a}).replace({seek}, {b})",
                f"({a}).replace({seek}, {b}, 1)",
                f"({a}).{self.pick(['center', 'ljust', 'rjust'])}({abs(int(n))}, {self.pick(['가', '.'])!r})",
                f"{self.literal()}.join([{a}, {b}, {self.text(depth - 2)}])",
                f"({a} * {self.rng.randint(0, 3)})",
                f"('%s|%5s|%%' % ({a}, {b}))",
                f"('%(x)s' % dict(x={a}))",
                f"('{{}}/{{:>6}}{{{{가}}}}'.format({a}, {b}))",
                f"('{{0}}{{x}}{{0}}'.format({a}, x={self.value(depth - 1)}))",
                f"('<%s>'|format({a}))",
                f"({self.value(depth - 1)})|string",
                f"({self.value(depth - 1)})|tojson({self.pick(['', 'indent=2', 'ensure_ascii=true'])})",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"({a} or {b})",
                f"wrap({a})",
                f"(messages|map(attribute='content')|join({b}))",
                f"([{a}, {b}]|sort|join)",
            ]
        )

    def value(self, depth: int) -> str:
        """An expression of any type."""
        if depth <= 0:
            return self.pick([*self.values, *self.names])
        return self.pick(
            [
                *self.values,
                self.text(depth),
                f"[{self.text(depth - 1)}, {self.value(depth - 1)}]",
                f"{{{self.literal()}: {self.value(depth - 1)}, 'k': {self.text(depth - 1)}}}",
                f"(m.tags + [{self.text(depth - 1)}])",
                f"({self.value(depth - 1)})|default('가', true)",
                "(m.args.items()|list)",
                "(m.args|dictsort)",
                "(m.number + 1)",
                f"({self.text(depth - 1)})|length",
                f"(m.share)|{self.pick(['int', 'round', 'abs', 'float'])}",
            ]
        )

    def condition(self, depth: int) -> str:
        return self.pick(
            [
                f"({self.text(depth)}) == ({self.text(depth - 1)})",
                f"{self.pick(SEEKING)!r} in ({self.text(depth)})",
                f"{self.pick(self.values)} is {self.pick(TESTS)}",
                "m.flag",
                "not m.nothing",
                "m.nothing == none",
                "loop.first",
                f"({self.text(depth)}).startswith('a')",
            ]
        )

    def statement(self, depth: int) -> str:
        expression = self.text(self.rng.randint(0, 3))
        if depth <= 0:
            return f"{{{{ {expression} }}}}"
        self.count += 1
        fresh = f"v{self.count}"
        body = self.block(depth - 1)
        name_before = list(self.names)
        choice = self.rng.randrange(11)
        if choice == 0:
            self.names.append(fresh)
            return f"{{% set {fresh} = {expression} %}}{self.block(depth - 1)}"
        if choice == 1:
            self.names.append(fresh)
            return f"{{% set {fresh} %}}{body}{{% endset %}}{self.block(depth - 1)}"
        if choice == 2:
            return f"{{% if {self.condition(1)} %}}{body}{{% else %}}{self.block(depth - 1)}{{% endif %}}"
        if choice == 3:
            self.names += ["k", "v|string"]
            inner = self.block(depth - 1)
            self.names = name_before
            return f"{{% for k, v in m.args.items() %}}{inner}{{% endfor %}}"
        if choice == 4:
            self.names.append("t|string")
            inner = self.block(depth - 1)
            self.names = name_before
            return f"{{% for t in m.tags %}}{inner}{{{{ loop.index }}}}{{% endfor %}}"
        if choice == 5:
            return (
                f"{{% filter {self.pick(['upper', 'trim', 'indent(1)', 'title'])} %}}{body}{{% endfilter %}}"
            )
        if choice == 6:
            return f"{{% call around() %}}{body}{{% endcall %}}"
        if choice == 7:
            return f"{{% set ns.text = ns.text + {expression} %}}{{{{ ns.text }}}}"
        if choice == 8:
            return f"{{% generation %}}{body}{{% endgeneration %}}"
        if choice == 9:
            return (
                f"{{% macro {fresh}(x) %}}{{{{ x }}}}가{body}{{% endmacro %}}{{{{ {fresh}({expression}) }}}}"
            )
        return f"{{{{ {self.value(2)} }}}}"

    def block(self, depth: int) -> str:
        parts = []
        for _ in range(self.rng.randint(1, 2)):
            parts.append(self.pick(["", "가", " 나\n", "<다>"]) + self.statement(depth))
        return "".join(parts)

    def template(self) -> str:
        return (
            "{% macro wrap(x) %}[{{ x }}]{% endmacro %}"
            "{% macro around() %}<{{ caller() }}>{% endmacro %}"
            "{% set ns = namespace(text='') %}"
            f"{{% for m in messages %}}{self.block(2)}{{% endfor %}}{{{{ ns.text }}}}"
        )


def conversation(rng: random.Random) -> list[dict[str, Any]]:
    """Two messages with fields of all types, their letters none of the templates'."""
    number = iter(range(0x20000, 0x2A000))

    def text() -> str:
        pieces = [chr(next(number)), " ", ",", "\n", "<", "&", '"', "\\", "\t", "é", "%", "{", "'"]
        return "".join(
            rng.choice(pieces) if rng.random() < 0.5 else chr(next(number)) for _ in range(rng.randint(0, 7))
        )

    def message(role: str) -> dict[str, Any]:
        return {
            "role": role,
            "content": text(),
            "name": text(),
            "number": rng.choice([0, 5, -3, 10**12]),
            "flag": rng.choice([True, False]),
            "nothing": None,
            "share": rng.choice([0.5, -1.25, 3.0]),
            "args": {
                "key" + text(): text(),
                "n": rng.choice([1, None, True, 0.5]),
                "deep": {"x": [text(), 2]},
            },
            "tags": [text(), rng.choice([text(), 3, None, False])],
        }

    return [message("user"), message("assistant")]
