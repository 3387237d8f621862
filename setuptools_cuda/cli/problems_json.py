"""Problems as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from setuptools_cuda.errors import Problem


def describe_problems(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """Return ``problems`` as JSON's own types."""
    return [
        {
            "code": each.code.slug,
            "status": int(each.code.status),
            "what": each.what,
            "where": each.where or None,
            "details": [{"label": label, "text": text} for label, text in each.details],
            "fix": list(each.fix),
        }
        for each in problems
    ]
