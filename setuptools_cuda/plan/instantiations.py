"""Which template instantiations belong to which source of a kernel module. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setuptools_cuda.config.model import KernelModule
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.effective import SourceOptions, is_cuda
from setuptools_cuda.plan.facts import Facts


def give_instantiations(
    module: KernelModule, *, sources: Sequence[SourceOptions], facts: Facts
) -> tuple[tuple[SourceOptions, ...], list[Problem]]:
    """Return the sources with their instantiations, and a problem for each expression that none takes.

    An expression goes to each source that has a kernel of the template's name; where none has, to
    each in whose text the name is a word, since a macro may make the kernel; to the one CUDA source
    where there is no other, whose headers may have the template.
    """
    given: dict[str, list[str]] = {one.source: [] for one in sources}
    cuda = [one.source for one in sources if is_cuda(one.source)]
    problems = []
    for expression in dict.fromkeys(module.instantiate):
        name = template_name(expression)
        takers = _find_takers(name, cuda=cuda, facts=facts)
        if not name or not takers:
            problems.append(_describe(module, expression=expression, name=name, cuda=cuda))
        for source in takers:
            given[source].append(expression)
    kept = (replace(one, instantiate=tuple(given[one.source])) if given[one.source] else one for one in sources)
    return tuple(kept), problems


def _find_takers(name: str, *, cuda: Sequence[str], facts: Facts) -> Sequence[str]:
    about = {source: facts.sources[source] for source in cuda if source in facts.sources}
    having = [source for source, fact in about.items() if name in fact.kernels]
    naming = [source for source, fact in about.items() if name in fact.words]
    return having or naming or (cuda if len(cuda) == 1 else [])


def template_name(expression: str) -> str:
    """Return the name of the template in an expression: 'scale' of 'ns::scale<float, 3>'; '' where it is none."""
    head, bracket, _ = expression.partition("<")
    name = head.rpartition("::")[2].strip()
    return name if bracket and name.isidentifier() and expression.rstrip().endswith(">") else ""


def _describe(module: KernelModule, *, expression: str, name: str, cuda: Sequence[str]) -> Problem:
    if not name:
        return Problem(
            ErrorCode.BAD_VALUE,
            f"{expression!r} is no instantiation of a template",
            where=f"{module.where}.instantiate",
            fix=("write it as 'scale<float>' or 'ns::scale<float, 3>'",),
        )
    return Problem(
        ErrorCode.NO_MATCH,
        f"no CUDA source of {module.module} has the template {name!r}",
        where=f"{module.where}.instantiate",
        details=(("sources", ", ".join(cuda) or "none is CUDA C++"),),
        fix=("name the template as its source does, with its namespace, and list that source",),
    )
