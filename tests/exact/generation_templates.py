"""Templates of published models with `{% generation %}` written by hand into them: edits of the sources.

Marked is what the model is to write: from the end of the header to the end-of-turn token, with it.
"""

from __future__ import annotations

from typing import NamedTuple


class Marked(NamedTuple):
    """Edits of a template, and a vocabulary that it fits."""

    template: str
    vocabulary: str
    edits: tuple[tuple[str, str], ...]
    """Pairs of what stands there, once, and what stands there instead."""
    tokens: tuple[tuple[str, str], ...] = ()
    """Special tokens where the folder of the vocabulary names none: pairs of a variable and a token."""

    def of(self, source: str) -> str:
        """The template with its marks. Raises `ValueError` where an edit does not fit."""
        for old, new in self.edits:
            if source.count(old) != 1:
                raise ValueError(f"{self.template}: {old!r} stands {source.count(old)} times in the source")
            source = source.replace(old, new)
        return source


BEGIN = "{%- generation %}"
END = "{%- endgeneration %}"

MARKED = (
    Marked(
        "Qwen-Qwen2.5-7B-Instruct",
        "qwen2.5",
        (
            (' or (message.role == "assistant" and not message.tool_calls) %}', " %}"),
            (
                """        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}""",
                f"""        {{{{- '<|im_start|>' + message.role + '\\n' }}}}{BEGIN}
        {{%- if message.content %}}
            {{{{- message.content + ('\\n' if message.tool_calls else '') }}}}""",
            ),
            (
                "{%- for tool_call in message.tool_calls %}",
                "{%- for tool_call in message.tool_calls or [] %}",
            ),
            (
                """            {{- '\\n<tool_call>\\n{"name": "' }}""",
                """            {{- ('' if loop.first else '\\n') + '<tool_call>\\n{"name": "' }}""",
            ),
            (
                """            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}""",
                f"""            {{{{- '}}\\n</tool_call>' }}}}
        {{%- endfor %}}
        {{{{- '<|im_end|>' }}}}{END}{{{{- '\\n' }}}}""",
            ),
        ),
    ),
    Marked(
        "cfg-qwen3",
        "qwen3",
        (
            (
                "{{- '<|im_start|>' + message.role + '\\n<think>\\n' +",
                f"{{{{- '<|im_start|>' + message.role + '\\n' }}}}{BEGIN}{{{{- '<think>\\n' +",
            ),
            (
                "+ content.lstrip('\\n') }}\n            {%- else %}\n"
                "                {{- '<|im_start|>' + message.role + '\\n' + content }}",
                f"+ content.lstrip('\\n') }}}}{END}\n            {{%- else %}}\n"
                "                {{- '<|im_start|>' + message.role + '\\n' }}"
                f"{BEGIN}{{{{- content }}}}{END}",
            ),
            (
                "        {%- else %}\n            {{- '<|im_start|>' + message.role + '\\n' + content }}\n",
                "        {%- else %}\n            {{- '<|im_start|>' + message.role + '\\n' }}"
                f"{BEGIN}{{{{- content }}}}{END}\n",
            ),
            ("{%- if message.tool_calls %}", f"{BEGIN}{{%- if message.tool_calls %}}"),
            (
                "        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\" %}",
                f"        {{{{- '<|im_end|>' }}}}{END}{{{{- '\\n' }}}}\n"
                '    {%- elif message.role == "tool" %}',
            ),
        ),
    ),
    Marked(
        "meta-llama-Llama-3.1-8B-Instruct",
        "llama3.1",
        (
            (
                "'<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}",
                "'<|end_header_id|>\\n\\n' }}{%- if message.role == 'assistant' %}"
                f"{BEGIN}{{{{- message['content'] | trim + '<|eot_id|>' }}}}{END}"
                "{%- else %}{{- message['content'] | trim + '<|eot_id|>' }}{%- endif %}",
            ),
            (
                """            {{- '{"name": "' + tool_call.name + '", ' }}""",
                f"""            {BEGIN}{{{{- '{{"name": "' + tool_call.name + '", ' }}}}""",
            ),
            (
                """            {{- tool_call.arguments | tojson }}
            {{- "}" }}
        {%- endif %}
        {%- if builtin_tools is defined %}
            {#- This means we're in ipython mode #}
            {{- "<|eom_id|>" }}
        {%- else %}
            {{- "<|eot_id|>" }}
        {%- endif %}""",
                f"""            {{{{- tool_call.arguments | tojson }}}}
            {{{{- "}}<|eot_id|>" }}}}{END}
        {{%- endif %}}""",
            ),
        ),
        (("bos_token", "<|begin_of_text|>"), ("eos_token", "<|eot_id|>")),
    ),
    Marked(
        "cfg-gemma-3",
        "llama2",
        (
            (
                "{{ message['content'] | trim }}",
                "{%- if role == 'model' -%}"
                "{% generation %}{{ message['content'] | trim + '<end_of_turn>' }}{% endgeneration %}"
                "{%- else -%}{{ message['content'] | trim + '<end_of_turn>' }}{%- endif -%}",
            ),
            (
                "{{ item['text'] | trim }}",
                "{{ item['text'] | trim + ('<end_of_turn>' if loop.last else '') }}",
            ),
            ("{{ '<end_of_turn>\n' }}", "{{ '\n' }}"),
        ),
    ),
    Marked(
        "deepseek-ai-DeepSeek-V3.1",
        "deepseek-v3",
        (
            (
                "{%- for tool in message['tool_calls'] -%}",
                f"{BEGIN}{{%- for tool in message['tool_calls'] -%}}",
            ),
            (
                "{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}",
                f"{{{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}}}{END}",
            ),
            (
                "{%- if ns.is_tool -%}{{message['content'] + '<｜end▁of▁sentence｜>'}}",
                "{%- if ns.is_tool -%}{% generation %}{{message['content'] + '<｜end▁of▁sentence｜>'}}"
                "{% endgeneration %}",
            ),
            (
                "{%- endif -%}{{content + '<｜end▁of▁sentence｜>'}}",
                "{%- endif -%}{% generation %}{{content + '<｜end▁of▁sentence｜>'}}{% endgeneration %}",
            ),
        ),
        (("bos_token", "<｜begin▁of▁sentence｜>"), ("eos_token", "<｜end▁of▁sentence｜>")),
    ),
    Marked(
        "mistralai-Mistral-Nemo-Instruct-2407",
        "mistral-nemo",
        (
            ('{{- "[TOOL_CALLS][" }}', f'{BEGIN}{{{{- "[TOOL_CALLS][" }}}}'),
            (
                '                {{- "]" + eos_token }}\n            {%- endif %}\n        {%- endfor %}',
                '                {{- "]" + eos_token }}\n            {%- endif %}\n        {%- endfor %}'
                + END,
            ),
            (
                '{{- message["content"] + eos_token}}',
                f'{BEGIN}{{{{- message["content"] + eos_token}}}}{END}',
            ),
        ),
        (("bos_token", "<s>"), ("eos_token", "</s>")),
    ),
    Marked(
        "mistral-7b-v0.3",
        "mistral-7b-v0.3",
        (
            ('{{- "[TOOL_CALLS] [" }}', f'{BEGIN}{{{{- "[TOOL_CALLS] [" }}}}'),
            (
                '                {{- "]" + eos_token }}\n            {%- endif %}\n        {%- endfor %}',
                '                {{- "]" + eos_token }}\n            {%- endif %}\n        {%- endfor %}'
                + END,
            ),
            (
                '{{- " " + message["content"]|trim + eos_token}}',
                f'{BEGIN}{{{{- " " + message["content"]|trim + eos_token}}}}{END}',
            ),
        ),
    ),
    Marked(
        "cfg-phi-3-mini",
        "phi-3-mini",
        (
            (
                "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}",
                "{{'<|assistant|>\n'}}{% generation %}{{message['content'] + '<|end|>' }}{% endgeneration %}"
                "{{ '\n' }}",
            ),
        ),
    ),
    Marked(
        "cfg-gpt-oss",
        "gpt-oss",
        (
            (
                '{{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}',
                f'{{{{- "<|start|>assistant" }}}}{BEGIN}'
                '{{- "<|channel|>final<|message|>" + message.content + "<|end|>" }}' + END,
            ),
            (
                '{{- "<|start|>assistant<|message|>" + message.content + "<|end|>" }}',
                f'{{{{- "<|start|>assistant" }}}}{BEGIN}'
                '{{- "<|message|>" + message.content + "<|end|>" }}' + END,
            ),
        ),
    ),
    Marked(
        "cfg-phi-4-base",
        "qwen2.5",
        (
            (
                "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}",
                "{{'<|im_start|>assistant<|im_sep|>'}}"
                "{% generation %}{{ message['content'] + '<|im_end|>'}}{% endgeneration %}",
            ),
        ),
    ),
)
