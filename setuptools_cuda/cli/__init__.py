"""The ``setuptools-cuda`` command."""
