"""What the modules for engines share: a tokenizer on its way to workers, options, and what tasks do there.

``tokenmill.ray``, ``.spark``, ``.datasets``, ``.polars`` and ``.duckdb`` stand on it. A worker imports from
here what its task needs, never the engine.
"""
