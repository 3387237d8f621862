"""What the tests of architectures share: a toolkit's list, settings, requests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from setuptools_cuda.config.model import Origin, Project, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.architecture_codes import make_codes
from setuptools_cuda.resolution.architecture_words import parse_architectures
from setuptools_cuda.resolution.architectures import resolve_architectures
from setuptools_cuda.resolution.catalogue import find_facts
from setuptools_cuda.resolution.values import Architecture, Architectures, Code, Release

CUDA_13_0 = Release(13, 0)
CUDA_12_4 = Release(12, 4)


def known_by(release: Release) -> tuple[Architecture, ...]:
    facts = find_facts(release)
    assert facts is not None
    return facts.architectures


KNOWN = known_by(CUDA_13_0)


def request(text: str) -> Architectures:
    """Return the request that a list of words makes, whatever the toolkit knows."""
    return Architectures(make_codes(parse_architectures(text, where="t")), Origin("pyproject", "architectures"))


def show(codes: tuple[Code, ...]) -> str:
    """Return codes in short: '80 90a 120+PTX compute_90', and what the user marked."""
    return " ".join(
        (str(code.architecture) + ("+PTX" if code.virtual else "")) if code.real else f"compute_{code.architecture}"
        for code in codes
    )


def resolve(
    key: str | None = None,
    *,
    kind: str = "pyproject",
    variables: Mapping[str, str] | None = None,
    release: Release = CUDA_13_0,
    gpus=None,
    search_path: tuple[str, ...] = (),
    **project,
) -> Architectures:
    """Resolve a project with the key 'architectures', set in the way that ``kind`` says."""
    texts = {"config-setting": "-C cuda.architectures", "environment": "SETUPTOOLS_CUDA_ARCHITECTURES"}
    origins = (
        {} if key is None else {"architectures": Origin(kind, texts.get(kind, "tool.setuptools-cuda.architectures"))}
    )
    words = None if key is None else (key,)
    settings = Settings(root=Path("/p"), project=Project(architectures=words, **project), origins=origins)
    environment = Environment(variables=variables or {}, cwd=Path("/p"), search_path=search_path)
    return resolve_architectures(settings, environment=environment, known=known_by(release), release=release, gpus=gpus)
