"""Which toolkit releases will do for a project: by its key ``cuda``, and by packages made for one major release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

from setuptools_cuda.config.model import KernelModule, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.packages import find_cuda_majors
from setuptools_cuda.resolution.values import Release


@dataclass(frozen=True)
class Acceptance:
    """What a project asks of the release of its toolkit."""

    cuda: str | None = None
    majors: Mapping[str, int] = field(default_factory=dict)
    """The major release that each package is made for, by its name in ``uses``."""

    def explain_refusal(self, release: Release) -> str:
        """Return why a release will not do, as "13.0 is not within <13", or '' where it will."""
        if not fits(release, cuda=self.cuda):
            return f"{release} is not within {self.cuda}"
        for name, major in self.majors.items():
            if major != release.major:
                return f"{release} is not of CUDA {major}, which {name} is made for"
        return ""


def fits(release: Release, *, cuda: str | None) -> bool:
    """Return whether a release is within the specifier ``cuda``; major and minor are compared."""
    return cuda is None or SpecifierSet(cuda).contains(str(release))


def find_acceptance(settings: Settings, *, environment: Environment) -> Acceptance:
    """Return what the project asks for; installed packages are looked at, and none is imported.

    PyTorch refuses to build extensions with a toolkit of another major release than its own
    (torch.utils.cpp_extension): what they link with is not there.
    """
    linked = [target for target in settings.targets if not isinstance(target, KernelModule)]
    used = [*(settings.project.uses if linked else ()), *(name for target in linked for name in target.uses)]
    return Acceptance(settings.project.cuda, find_cuda_majors(tuple(dict.fromkeys(used)), environment=environment))
