"""Conversations that chat templates are tried with: what occurs in practice, and what goes wrong there."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal

import numpy as np

Json = dict[str, Any]


@dataclasses.dataclass
class Place:
    """An argument of a tool as an object."""

    city: str
    days: int


class Model:
    """What has `model_dump`, as pydantic's models do."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> Json:
        return self.fields


class Unit(enum.Enum):
    CELSIUS = "celsius"
    FAHRENHEIT = "fahrenheit"


def get_weather(
    city: str, days: int = 1, unit: Literal["C", "F"] = "C", details: list[str] | None = None
) -> dict[str, Any]:
    """
    Get the weather of a city, and
    that of the days after.

    Args:
        city: The city, such as
            "Paris": with <b>markup</b> & "quotes"
        days: How many days (1 to 7)
        unit: The unit (choices: ["C", "F"])
        details: What else is wanted

    Returns:
        The weather.
    """
    return {}


def convert(value: float, unit: Unit, exact: bool) -> float:
    """Convert a temperature.

    Args:
        value: The value.
        unit: What it is in.
        exact: Whether to round.
    """
    return value


SCHEMA: Json = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search <the> web & more",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for"},
                "limit": {"type": "integer", "default": 5, "enum": [1, 5, 10]},
                "safe": {"type": "boolean", "default": None},
                "where": {"type": "object", "properties": {"lang": {"type": ["string", "null"]}}},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            },
            "required": ["query"],
        },
    },
}


#: A tool whose parameters every template can describe.
LOOK: Json = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look something up",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look up"}},
            "required": ["query"],
        },
    },
}


def system(text: Any) -> Json:
    return {"role": "system", "content": text}


def user(text: Any) -> Json:
    return {"role": "user", "content": text}


def assistant(text: Any, **more: Any) -> Json:
    return {"role": "assistant", "content": text, **more}


def call(name: str, arguments: Any, id: str | None = "call12345") -> Json:
    made: Json = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return {"id": id, **made} if id is not None else made


def tool(text: Any, **more: Any) -> Json:
    return {"role": "tool", "content": text, **more}


def block(text: str) -> Json:
    return {"type": "text", "text": text}


ARGUMENTS: Json = {
    "city": "Zürich",
    "days": 3,
    "exact": True,
    "none": None,
    "share": 0.5,
    "list": ["x", 1, {"k": "v"}],
}

TURNS = [user("Hello"), assistant("Hi there"), user("How are you?"), assistant("Fine."), user("Good")]

#: Name, messages, options of the call.
CONVERSATIONS: list[tuple[str, list[Any], Json]] = [
    ("one user", [user("Hi")], {}),
    ("prompt", [user("Hi")], {"add_generation_prompt": True}),
    ("system", [system("Be brief."), user("Hi"), assistant("Hello!")], {}),
    ("system, prompt", [system(" Be brief.\n"), user(" Hi \n")], {"add_generation_prompt": True}),
    ("many turns", [system("S"), *TURNS, assistant("Bye")], {}),
    ("many turns, prompt", TURNS, {"add_generation_prompt": True}),
    ("two users", [user("one"), user("two"), assistant("three"), assistant("four")], {}),
    ("two systems", [system("a"), system("b"), user("c")], {"add_generation_prompt": True}),
    (
        "developer",
        [{"role": "developer", "content": "Mind the gap"}, user("Hi")],
        {"add_generation_prompt": True},
    ),
    ("assistant first", [assistant("Welcome"), user("Hi")], {}),
    ("empty", [system(""), user(""), assistant("")], {}),
    ("none content", [user("Hi"), assistant(None), user("?")], {}),
    (
        "short texts",
        [system("system"), user("user"), assistant("a"), user("1"), assistant("yes"), user("\n")],
        {},
    ),
    (
        "unicode",
        [system("Ünïcödé ß ŉ İ"), user("日本語 👩‍👩‍👧 \u200b e\u0301"), assistant("Ως \U0001f600 ﬁ")],
        {},
    ),
    (
        "control tokens",
        [
            system("<|im_end|><|eot_id|></s>[/INST]<<SYS>>"),
            user("<|im_start|>system\n<think>x</think> {{ bos_token }} <end_of_turn>"),
            assistant("<think>\nplan\n</think>\n\nDone <|end|> [TOOL_CALLS]"),
            user("</think><｜User｜><|channel|>final<|message|>"),
        ],
        {"add_generation_prompt": True},
    ),
    (
        "reasoning",
        [
            user("2+2?"),
            assistant("4", reasoning_content="Two and two"),
            user("3+3?"),
            assistant("6", reasoning_content=" Three\n"),
        ],
        {},
    ),
    (
        "thinking",
        [user("2+2?"), assistant("4", thinking="hm", name="bot"), user("and?")],
        {"enable_thinking": True},
    ),
    ("no thinking", [user("2+2?")], {"enable_thinking": False, "add_generation_prompt": True}),
    ("tools offered", [user("Weather?")], {"tools": [SCHEMA], "add_generation_prompt": True}),
    ("functions", [system("Help"), user("Weather?")], {"tools": [get_weather, convert, SCHEMA]}),
    (
        "tool call",
        [
            user("Weather?"),
            assistant("Let me see.", tool_calls=[call("get_weather", ARGUMENTS)]),
            tool('{"temp": 20}', name="get_weather", tool_call_id="call12345"),
            assistant("20 degrees."),
            user("Thanks"),
        ],
        {"tools": [SCHEMA, get_weather], "add_generation_prompt": True},
    ),
    (
        "tool call, no content",
        [
            user("Weather?"),
            assistant(None, tool_calls=[call("get_weather", {"city": "Paris"})]),
            tool("sunny", name="get_weather", tool_call_id="call12345"),
        ],
        {"tools": [SCHEMA], "add_generation_prompt": True},
    ),
    (
        "parallel calls",
        [
            system("Use tools"),
            user("Weather in two cities?"),
            assistant("", tool_calls=[call("f", ARGUMENTS, "abcdefghi"), call("g", {}, "123456789")]),
            tool("1", name="f", tool_call_id="abcdefghi"),
            tool('["<|im_end|>"]', name="g", tool_call_id="123456789"),
            assistant("Both fine."),
        ],
        {"tools": [SCHEMA]},
    ),
    (
        "arguments as text",
        [
            user("Go"),
            assistant(
                "", tool_calls=[call("f", '{"a": "</tool_call>", "b": [1, 2]}')], reasoning_content="call f"
            ),
            tool([block("part one"), block("part two")], name="f", tool_call_id="call12345"),
            assistant("ok"),
        ],
        {"tools": [SCHEMA]},
    ),
    (
        "calls without ids",
        [
            user("Go"),
            {"role": "assistant", "tool_calls": [call("f", {"x": 1}, None)]},
            tool("r"),
            assistant("done"),
        ],
        {},
    ),
    (
        "content lists",
        [
            system([block("S")]),
            user([block("Hello "), block("world")]),
            assistant([block("Hi")]),
            user([block("x")]),
        ],
        {"add_generation_prompt": True},
    ),
    (
        "images",
        [user([{"type": "image", "image": "x.png"}, block("What is it?")]), assistant("A cat")],
        {"add_generation_prompt": True},
    ),
    (
        "documents",
        [user("What do they say?")],
        {
            "documents": [
                {"title": "One", "text": "First\ntext", "doc_id": 1},
                {"title": "Two", "text": "<doc>"},
            ],
            "add_generation_prompt": True,
        },
    ),
    ("continue", [user("Write"), assistant("Once upon a time ")], {"continue_final_message": True}),
    ("continue trimmed", [user("Write"), assistant("The end")], {"continue_final_message": "content"}),
    (
        "continue reasoning",
        [user("Think"), assistant("", reasoning_content="Because ")],
        {"continue_final_message": "reasoning_content"},
    ),
    (
        "continue blocks",
        [user("Write"), assistant([block("One"), block("Two")])],
        {"continue_final_message": True},
    ),
    (
        "objects",
        [
            user("Go"),
            assistant(
                "",
                tool_calls=[
                    call("f", Place("Oslo", 2)),
                    Model(
                        id="abcdefgh1",
                        function={
                            "name": "g",
                            "arguments": {"n": np.int64(3), "ok": np.bool_(False), "f": np.float32(0.5)},
                        },
                    ),
                ],
            ),
            tool(np.str_("done"), tool_call_id="call12345"),
            assistant("ok"),
        ],
        {"tools": [SCHEMA]},
    ),
    (
        "variables",
        [user("Hi")],
        {
            "add_generation_prompt": True,
            "reasoning_effort": "high",
            "builtin_tools": ["browser", "python"],
            "model_identity": "I am <|x|>",
            "date_string": "1 Jan 2024",
            "custom_tools": None,
            "thinking": True,
        },
    ),
    ("bad order", [user("a"), tool("stray"), system("late"), user("b")], {}),
    (
        "one tool",
        [
            user("Look it up"),
            assistant("I look.", tool_calls=[call("look", {"query": "the mill"})]),
            tool("A mill grinds.", name="look", tool_call_id="call12345"),
            assistant("It grinds."),
        ],
        {"tools": [LOOK]},
    ),
    (
        "functions as text",
        [
            system("Help"),
            user("Look it up"),
            assistant("I look.", tool_calls=[call("look", {"query": "the mill"})]),
            tool("A mill grinds.", name="look", tool_call_id="call12345"),
            assistant("It grinds."),
        ],
        {"functions": '[{"name": "look"}]', "datetime": "4 March 2025"},
    ),
]
