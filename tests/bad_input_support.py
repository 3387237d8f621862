"""Projects that cannot be built, through pip: what is said, and that nothing is left behind."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from setuptools_support import KERNEL_FILES, KERNELS, TABLE, Done, Installation, pyproject, write_project
from toolchain_support import link_tree, write_script

NOT_OF_THE_MACHINE = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "setting compiler-env root-env project wheel conda path pip"}
"""All steps but 'system': what is installed on the machine that runs the tests must not count."""

_PIP_WHEEL = ("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--disable-pip-version-check")


def kernel_project(
    root: Path,
    *,
    project: str = "",
    module: str = "",
    table: str = TABLE + "{project}" + KERNELS + "{module}",
    files: Mapping[str, str] = KERNEL_FILES,
) -> Path:
    """Write a project with one kernel module; ``project`` and ``module`` are further lines of the two tables."""
    text = pyproject(table.replace("{project}", project).replace("{module}", module))
    return write_project(root / "project", {"pyproject.toml": text, **files})


def pip_wheel(
    installation: Installation, project: Path, *, settings: Sequence[str] = (), to: str = "wheels", **variables: str
) -> Done:
    """Run ``pip wheel`` in the environment as it stands."""
    given = [word for setting in settings for word in ("-C", setting)]
    command = (*_PIP_WHEEL, *given, "--wheel-dir", project.parent / to, project)
    return installation.run(*command, cwd=project.parent, **variables)


def pip_wheel_command(installation: Installation, project: Path, *, to: str = "wheels") -> list[str]:
    """Return the command of :func:`pip_wheel`."""
    return [str(installation.python), *_PIP_WHEEL, "--wheel-dir", str(project.parent / to), str(project)]


def start_pip_wheel(
    installation: Installation, project: Path, *, to: str = "wheels", **variables: str
) -> subprocess.Popen[str]:
    """Start ``pip wheel`` as a shell starts a job: in a process group of its own."""
    return subprocess.Popen(
        pip_wheel_command(installation, project, to=to),
        cwd=project.parent,
        env={**installation.variables, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def refuse(
    installation: Installation,
    project: Path,
    *,
    settings: Sequence[str] = (),
    told: Sequence[str] = (),
    **variables: str,
) -> str:
    """Build ``project``, which has to fail with ``told`` in its message; return the message."""
    before = read_tree(project)
    done = pip_wheel(installation, project, settings=settings, **variables)
    return check_refusal(done, project=project, before=before, told=told)


def check_refusal(done: Done, *, project: Path, before: Mapping[str, bytes | None], told: Sequence[str] = ()) -> str:
    """Check that ``done`` failed in a good manner, and return its message.

    That is: a message of ours with all of ``told``, no traceback, no wheel, and a source tree as it was ``before``.
    """
    assert done.status != 0, done.output
    assert "Traceback" not in done.output, done.output
    assert read_tree(project) == before, done.output
    assert not list((project.parent / "wheels").glob("*")), done.output
    message = read_message(done.output)
    for words in told:
        assert words in message, message
    return message


def read_message(output: str) -> str:
    """Return what the build hook said from its first error on, as pip shows it when a hook fails."""
    shown = re.search(r"lines of output\]\n(.*?)\n +\[end of output\]", output, re.DOTALL)
    assert shown, output
    lines = [line[6:] for line in shown[1].splitlines()]
    start = next(
        (at for at, line in enumerate(lines) if line.startswith(("error: ", "error in setup command: "))), None
    )
    assert start is not None, output
    return "\n".join(lines[start:])


def read_tree(project: Path) -> dict[str, bytes | None]:
    """Return the files (with their content) and folders of ``project``, but for what builds may leave there."""
    found: dict[str, bytes | None] = {}
    for path in project.rglob("*"):
        name = path.relative_to(project)
        if name.parts[0] != "build" and not any(part.endswith(".egg-info") for part in name.parts):
            found[str(name)] = path.read_bytes() if path.is_file() else None
    return found


def make_toolkit(toolkit_nvcc: Path, root: Path, *, before_compiling: str) -> Path:
    """Make a toolkit whose nvcc does something of a shell before it compiles a source; return its folder."""
    link_tree(toolkit_nvcc.parent.parent, root)
    (root / "bin/nvcc").rename(root / "bin/nvcc.real")
    (root / "bin/nvcc.real.profile").symlink_to(toolkit_nvcc.with_name("nvcc.profile"))
    write_script(
        root / "bin/nvcc",
        f'case "$*" in *kernels/*) {before_compiling};; esac\nexec "{root}/bin/nvcc.real" "$@"',
    )
    return root
