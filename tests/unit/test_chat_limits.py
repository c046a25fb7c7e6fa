"""Templates that would never end, or fill all memory, are refused; the sandbox holds."""

# ruff: noqa: E501 (templates are easier to read on one line)
from __future__ import annotations

from typing import Any

import pytest
from tokenmill.chat import render
from tokenmill.errors import TemplateError

MESSAGES = [{"role": "user", "content": "x" * 100}]

DOUBLED = "{%% set ns = namespace(v=%s) %%}{%% for i in range(60) %%}{%% set ns.v = %s %%}{%% endfor %%}%s"

TOO_MUCH = {
    "nested loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "characters of a text": "{% for a in range(9999) %}{% for c in 'a' * 9999 %}{% endfor %}{% endfor %}",
    "a text many times": "{{ 'a' * 10**9 }}",
    "a list many times": "{% set x = [0] * 10**9 %}",
    "center": "{{ 'a'|center(10**10) }}",
    "center, a method": "{{ messages[0].content.center(10**10) }}",
    "zfill": "{{ 'a'.zfill(10**10) }}",
    "expandtabs": "{{ 'a\tb'.expandtabs(10**10) }}",
    "indent": "{{ 'a\nb'|indent(10**10) }}",
    "indent of many lines": "{{ ('\n' * 10000)|indent(1000) }}",
    "% with a width": "{{ '%1000000000d' % 5 }}",
    "% with a width that is given": "{{ '%*d' % (10**9, 5) }}",
    "% with a precision": "{{ '%.1000000000f' % 5.0 }}",
    "format": "{{ '{:1000000000}'.format('a') }}",
    "format with a width that is given": "{{ '{:{w}}'.format('a', w=10**9) }}",
    "the filter format": "{{ '%1000000000s'|format('a') }}",
    "text doubled by +": DOUBLED % ("'ab'", "ns.v + ns.v", ""),
    "text doubled by ~": DOUBLED % ("'ab'", "ns.v ~ ns.v", ""),
    "text doubled by join": DOUBLED % ("'ab'", "[ns.v, ns.v]|join", ""),
    "text doubled by a set block": DOUBLED % ("'ab'", "ns.v", "")
    + "{% for i in range(60) %}{% set x %}{{ ns.v }}{{ ns.v }}{% endset %}{% set ns.v = x %}{% endfor %}",
    "text doubled by %": DOUBLED % ("'ab'", "'%s%s' % (ns.v, ns.v)", ""),
    "text doubled by format": DOUBLED % ("'ab'", "'{0}{0}'.format(ns.v)", ""),
    "text squared by replace": DOUBLED % ("'ab'", "ns.v|replace('a', ns.v)", ""),
    "text squared by the method replace": DOUBLED % ("'ab'", "ns.v.replace('a', ns.v)", ""),
    "markup doubled": DOUBLED % ("'ab'|safe", "ns.v + ns.v", ""),
    "a list doubled": DOUBLED % ("[1]", "ns.v + ns.v", ""),
    "a tree of lists, printed": DOUBLED % ("[1]", "[ns.v, ns.v]", "{{ ns.v }}"),
    "a tree of tuples, as JSON": DOUBLED % ("(1,)", "(ns.v, ns.v)", "{{ ns.v|tojson }}"),
    "a tree of dicts, compared": DOUBLED % ("{}", "dict(a=ns.v, b=ns.v)", "{{ ns.v == dict(a=ns.v) }}"),
    "a tree of a cycler's, as a key": DOUBLED % ("(1,)", "cycler(ns.v, ns.v).items", "{{ {}[ns.v] }}"),
    "a tree of namespaces": DOUBLED % ("1", "namespace(a=ns.v, b=ns.v)", "{{ ns.v }}"),
    "a tree of lists, in an error": DOUBLED % ("[1]", "[ns.v, ns.v]", "{{ raise_exception(ns.v) }}"),
    "an integer": "{{ 10 ** 10 ** 5 * 10 ** 9999 }}",
    "an integer squared": DOUBLED % ("9", "ns.v * ns.v", ""),
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    ),
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a caller that calls twice": (
        "{% macro f(n) %}{{ caller(n) }}{{ caller(n) }}{% endmacro %}"
        "{% macro g(n) %}{% if n %}{% call(m) f(n) %}{{ g(m - 1) }}{% endcall %}{% endif %}{% endmacro %}{{ g(50) }}"
    ),
    "a recursive loop": "{% for x in [1] recursive %}{{ loop([x, x]) }}{% endfor %}",
    "a block that contains itself": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "lipsum": "{{ lipsum(10**9) }}",
    "batch": "{{ [1]|batch(10**9, 0)|list }}",
    "slice": "{{ [1]|slice(10**9)|list }}",
    "the same text printed": "{% set x = 'a' * 90000 %}{% for i in range(999) %}{{ x }}{% endfor %}",
    "a search in a long text": "{% set x = 'a' * 90000 %}{% for i in range(9999) %}{{ 'b' in x }}{% endfor %}",
    "a comparison of long texts": (
        "{% set x = 'a' * 90000 %}{% set y = x ~ '' %}{% for i in range(9999) %}{{ x == y }}{% endfor %}"
    ),
    "a method on a long text": "{% set x = 'a' * 90000 %}{% for i in range(9999) %}{{ x.count('b') }}{% endfor %}",
    "sorting": "{% set x = range(9999)|list %}{% for i in range(9999) %}{% set y = x|sort %}{% endfor %}",
    "slices of a list": "{% set x = range(9999)|list %}{% for i in range(9999) %}{% set y = x[1:] %}{% endfor %}",
    "tojson with an indent": "{{ [1]|tojson(indent=10**9) }}",
    "tojson with separators": "{{ range(99)|list|tojson(separators=('a' * 90000, ':')) }}",
    "join with a long separator": "{{ range(999)|join('a' * 90000) }}",
    "striptags": "{{ ('<!--' * 9000)|striptags }}",
    "urlize": "{{ ('www.a.com ' * 9000)|urlize }}",
    "translate": "{{ ('a' * 9000).translate({97: 'b' * 9000}) }}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "ifs": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
    "lists in lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}",
    "attributes": "{{ a" + ".b" * 50000 + " }}",
    "a long sum": "{{ 1" + "+1" * 50000 + " }}",
    "filters on filters": "{{ 1" + "|int" * 5000 + " }}",
    "loops in loops": "{% for a in b %}" * 30 + "{% endfor %}" * 30,
    "a long source": "a" * 1_000_001,
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_would_be_too_much_is_refused(name: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(TOO_MUCH[name], MESSAGES, special_tokens={}, max_steps=1_000_000, name="big")
    assert caught.value.template == "big"
    words = (
        "steps",
        "bits",
        "deeply",
        "nests deeper",
        "range",
        "characters",
        "nested blocks",
        "Invalid format",
    )
    assert any(word in caught.value.message for word in words), caught.value.message


def test_a_long_conversation_is_not_too_much() -> None:
    messages = [{"role": ["user", "assistant"][i % 2], "content": "word " * 1000} for i in range(400)]
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}{% endfor %}"
    gathering = "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + m.role %}{% endfor %}{{ ns.t }}"
    assert len(render(source, messages, special_tokens={}).text) > 1_900_000
    assert len(render(gathering, messages, special_tokens={}).text) == 2600


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.append(1) }}",
        "{{ messages[0].update(a=1) }}",
        "{{ messages[0].content.__class__.__mro__ }}",
        "{{ ''.__class__ }}{{ (messages[0]|attr('__class__')).x }}",
        "{{ '{0.__class__.__mro__}'.format(messages[0].content) }}",
        "{{ messages[0].content.strip.__globals__['x'] }}",
        "{{ namespace(_a=1) }}",
        "{% set ns = namespace() %}{% set ns._a = 1 %}",
        "{{ raise_exception.__globals__.x }}",
        "{{ cycler.__init__.__globals__.x }}",
        "{{ self.__init__.__globals__.x }}",
        "{% include 'a' %}",
        "{% import 'a' as b %}",
    ],
)
def test_the_sandbox_lets_nothing_out(source: str) -> None:
    with pytest.raises(TemplateError):
        render(source, MESSAGES, special_tokens={})


@pytest.mark.parametrize(
    "value", ["messages[0].content", "messages[0]", "messages", "n", "f", "b", "d", "d.x", "s"]
)
@pytest.mark.parametrize(
    "name", ["runs", "source", "plain_value", "carries_source", "index0", "extend_text", "_keys", "state"]
)
def test_what_the_tracker_adds_is_not_seen(value: str, name: str) -> None:
    given: dict[str, Any] = {"n": 1, "f": 0.5, "b": {"x": [1]}, "d": {"x": (1, 2)}, "s": "a"}
    reads = f"{{{{ {value}.{name} is defined }}}}{{{{ {value}['{name}'] is defined }}}}"
    reads += f"{{{{ {value}|attr('{name}') is defined }}}}"
    assert "True" not in render(reads, MESSAGES, special_tokens={}, **given).text
    nested = f"{{{{ [{value}]|map(attribute='{name}')|first is defined }}}}"
    assert render(nested, MESSAGES, special_tokens={}, **given).text == "False"
