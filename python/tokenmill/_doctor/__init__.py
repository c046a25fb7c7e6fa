"""The checks of ``tokenmill.doctor``, a file for each family of them.

``examined.py`` is what they look at, ``diagnose.py`` runs them in order. Texts that are tried are in
``texts.py``.
"""
