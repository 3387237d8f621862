"""Extensions of the table as setuptools sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools_cuda.config.model import Extension, Settings
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.frontends.declare import declare
from setuptools_cuda.frontends.extension import CudaExtension
from setuptools_cuda.plan.extensions import limited_api_holds
from setuptools_cuda.plan.values import PythonFacts


class TableExtension(CudaExtension):
    """An extension of the table. It stands in ``ext_modules`` for setuptools and for other plugins."""

    where: str = ""
    as_made: Any = None


def make_extension(extension: Extension, *, root: Path, python: PythonFacts) -> TableExtension:
    """Return the setuptools extension that stands for ``extension``."""
    made = TableExtension(
        extension.name,
        list(extension.sources),
        depends=list(extension.depends),
        include_dirs=list(extension.include_dirs),
        define_macros=[_macro(define) for define in extension.defines],
        libraries=list(extension.libraries),
        library_dirs=list(extension.library_dirs),
        runtime_library_dirs=list(extension.runtime_library_dirs),
        extra_objects=list(extension.extra_objects),
        export_symbols=list(extension.export_symbols),
        language=extension.language,
        optional=extension.optional,
        limited_api=extension.limited_api,
        py_limited_api=limited_api_holds(extension.limited_api, python=python),
    )
    made.where = extension.where
    made.as_made = declare(made, index=0, root=root)
    return made


def make_extensions(
    settings: Settings, *, names_taken: frozenset[str], python: PythonFacts
) -> tuple[TableExtension, ...]:
    """Return the table's extensions among ``settings``: those that ``ext_modules`` does not hold yet."""
    fresh = (extension for extension in settings.extensions if extension.name not in names_taken)
    return tuple(make_extension(extension, root=settings.root, python=python) for extension in fresh)


def check_unchanged(extension: TableExtension, *, root: Path) -> None:
    """Raise BuildError where a command of setup.py changed ``extension``: the table would not know of it."""
    before, now = extension.as_made.words, declare(extension, index=0, root=root).words
    changed = sorted(word for word in {*before, *now} if before.get(word) != now.get(word))
    if not changed:
        return
    raise BuildError(
        Problem(
            Code.CONFLICT,
            f"a command of setup.py changed {', '.join(changed)} of {extension.name!r}, which the table declares",
            where=extension.where,
            details=(("why", "the table is what is built, so that the change would be lost"),),
            fix=(
                "write the change into the table, or",
                f"declare {extension.name!r} in setup.py, as CudaExtension in ext_modules",
            ),
        )
    )


def _macro(define: str) -> tuple[str, str | None]:
    name, equals, value = define.partition("=")
    return (name, value if equals else None)
