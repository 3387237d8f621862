"""Loads the settings of a project: its table, what Python declared, settings and variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from setuptools_cuda.config.consistency import (
    find_contradictions,
    find_override_contradictions,
    find_target_contradictions,
)
from setuptools_cuda.config.external import Given, read_external
from setuptools_cuda.config.findings import Report
from setuptools_cuda.config.globs import FileTree
from setuptools_cuda.config.keys import (
    ARRAYS,
    CMAKE,
    EXTENSION,
    KERNEL_MODULE,
    LIBRARY,
    OVERRIDE,
    PROJECT,
    TABLES,
    Scope,
    ScopeName,
)
from setuptools_cuda.config.model import (
    CMake,
    Extension,
    Flags,
    KernelModule,
    Library,
    Origin,
    Override,
    Project,
    Settings,
    Target,
)
from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.config.sources import expand_override, expand_target, relative_words
from setuptools_cuda.config.tables import (
    PROJECT_PLACE,
    Place,
    TableValues,
    name_targets,
    read_array,
    read_single,
    read_table,
)
from setuptools_cuda.config.values import parse_value
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import raise_if_any
from setuptools_cuda.targets import Declared

AnyTarget = TypeVar("AnyTarget", bound=Target)


def load_settings(
    root: Path,
    *,
    environment: Environment,
    config_settings: Mapping[str, str | Sequence[str]] | None = None,
    declared: Sequence[Declared] = (),
) -> Settings:
    """Return the checked settings of the project in ``root``.

    A value comes from, in this order: the config setting ``cuda.KEY``, the variable
    ``SETUPTOOLS_CUDA_KEY``, the table in ``pyproject.toml``, the default.

    Raises:
        BuildError: everything that is wrong, at once.
    """
    return parse_settings(
        find_table(root) or {},
        root=root,
        environment=environment,
        config_settings=config_settings,
        declared=declared,
    )


def parse_settings(
    table: Mapping[str, object],
    *,
    root: Path,
    environment: Environment,
    config_settings: Mapping[str, str | Sequence[str]] | None = None,
    declared: Sequence[Declared] = (),
) -> Settings:
    """Return the settings that ``table`` means in the project ``root``; see :func:`load_settings`."""
    report = Report()
    given = read_external(config_settings, environment=environment, report=report)
    project, origins = _read_project(table, given=given, report=report)
    reader = _Reader(table, declared, FileTree(root), report)
    reader.name_compiler(project.device_compiler)
    settings = Settings(
        root=root,
        project=project,
        libraries=reader.targets(LIBRARY, Library),
        extensions=reader.targets(EXTENSION, Extension),
        kernel_modules=reader.targets(KERNEL_MODULE, KernelModule),
        cmake=CMake(**_model_words(read_single(table, scope=CMAKE, report=report).values)),
        origins=origins,
    )
    settings = dataclasses.replace(settings, overrides=reader.overrides(settings))
    report.problems.extend(find_contradictions(settings, nameless=reader.nameless, sources_known=reader.sources_known))
    raise_if_any(name_targets(report.problems, table=table))
    missing = (
        f"{where}.include-dirs: there is no folder {folder!r}"
        for where, folder in _list_folders(settings)
        if not (root / folder).is_dir()
    )
    unreadable = (f"the folder {text}; globs do not see into it" for text in reader.tree.unreadable)
    return dataclasses.replace(settings, warnings=(*report.warnings, *missing, *unreadable))


def _list_folders(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from ((PROJECT_PLACE.text, folder) for folder in settings.project.include_dirs)
    for target in settings.targets:
        yield from ((target.where, folder) for folder in target.include_dirs)
    for override in settings.overrides:
        yield from ((override.where, folder) for folder in override.include_dirs)


def _read_project(
    table: Mapping[str, object], *, given: Mapping[str, Given], report: Report
) -> tuple[Project, dict[str, Origin]]:
    others = {scope.name for scope in (*ARRAYS, *TABLES)}
    own = {name: value for name, value in table.items() if name not in others}
    values = dict(read_table(own, scope=PROJECT, place=PROJECT_PLACE, report=report).values)
    origins = {name: Origin("pyproject", PROJECT_PLACE.at(name)) for name in own if name in PROJECT.keys}
    for name, one in given.items():
        key = PROJECT.keys[name]
        parsed = parse_value(one.raw, key=key)
        report.add(parsed, where=one.origin.text)
        if not parsed.findings:
            values[key.attribute] = _over(values.get(key.attribute), parsed.value)
            origins[name] = one.origin
    return Project(**_model_words(values)), origins


def _over(below: object, value: object) -> object:
    # A setting gives flags to nvcc alone; those of the other tools stay the project's.
    if isinstance(below, Flags) and isinstance(value, Flags):
        return dataclasses.replace(below, cuda=value.cuda)
    return value


def _model_words(values: Mapping[str, object]) -> dict[str, Any]:
    return dict(values)


def _list_compilers(overrides: object) -> Iterator[str]:
    for one in overrides if isinstance(overrides, (list, tuple)) else ():
        name = one.get("device-compiler") if isinstance(one, Mapping) else None
        if isinstance(name, str):
            yield name


class _Reader:
    """Reads the arrays of tables, and keeps count of what later checks can rely on."""

    def __init__(
        self, table: Mapping[str, object], declared: Sequence[Declared], tree: FileTree, report: Report
    ) -> None:
        self._table = table
        self._declared = declared
        self._report = report
        self.tree = tree
        # Those of overrides are wanted before their tables are read, which speak of targets.
        self._compilers = set(_list_compilers(table.get(OVERRIDE.name)))
        self.nameless: set[ScopeName] = set()
        self.sources_known = True

    def name_compiler(self, name: str | None) -> None:
        """Note that the project names a device compiler."""
        self._compilers |= {name} if name else set()

    def targets(self, scope: Scope, model: type[AnyTarget]) -> tuple[AnyTarget, ...]:
        """Return the targets of one kind: those of the table, then those of Python."""
        tables = [*self._array(scope), *self._declared_tables(scope)]
        made = tuple(self._target(one, model=model) for one in tables)
        if not all(target.title for target in made):
            self.nameless.add(scope.name)
        return made

    def _array(self, scope: Scope) -> list[TableValues]:
        if not isinstance(self._table.get(scope.name, []), (list, tuple)):
            self.nameless.add(scope.name)
            self.sources_known = False
        return read_array(self._table, scope=scope, report=self._report)

    def _declared_tables(self, scope: Scope) -> list[TableValues]:
        ours = [one for one in self._declared if one.kind == scope.name]
        self._report.problems.extend(problem for one in ours for problem in one.problems)
        return [
            read_table(
                relative_words(one.words, root=self.tree.root),
                scope=scope,
                place=Place(one.where, python=True),
                report=self._report,
            )
            for one in ours
        ]

    def _target(self, table: TableValues, *, model: type[AnyTarget]) -> AnyTarget:
        target = model(**_model_words(table.values), where=table.place.text)
        before = len(self._report.problems)
        expanded = expand_target(
            target, place=table.place, tree=self.tree, report=self._report, compilers=self._compilers
        )
        self._count(table, before=before)
        if table.whole:
            self._report.problems.extend(find_target_contradictions(expanded))
        return expanded

    def _count(self, table: TableValues, *, before: int) -> None:
        lost = table.lost("sources") or table.lost("exclude")
        self.sources_known &= not lost and len(self._report.problems) == before

    def overrides(self, settings: Settings) -> tuple[Override, ...]:
        """Return the overrides of the table, with their globs expanded."""
        by_title = {target.title: target for target in settings.targets}
        made: list[Override] = []
        for table in self._array(OVERRIDE):
            override = Override(**_model_words(table.values), where=table.place.text)
            before = len(self._report.problems)
            target = by_title.get(override.target or "")
            expanded = expand_override(
                override,
                target=target,
                place=table.place,
                tree=self.tree,
                report=self._report,
                compilers=self._compilers,
            )
            made.append(expanded)
            self._count(table, before=before)
            if table.whole:
                self._report.problems.extend(find_override_contradictions(override))
        return tuple(made)
