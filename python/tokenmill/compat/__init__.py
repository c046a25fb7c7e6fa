"""The interfaces of other libraries: their names and behaviour, tokenmill underneath.

``from tokenmill.compat import tiktoken`` takes the place of ``import tiktoken``.
``tokenmill.compat.transformers.attach`` puts tokenmill beneath one tokenizer of transformers.
"""
