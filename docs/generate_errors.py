"""Write docs/reference/errors.md from the closed list of problems. A test compares the two.

Run ``python docs/generate_errors.py`` after a change of ``setuptools_cuda/errors.py``.
"""

from __future__ import annotations

from pathlib import Path

from setuptools_cuda.errors import Code, Exit

PAGE = Path(__file__).parent / "reference" / "errors.md"

# What each problem is, and what to do about it.
TEXTS: dict[Code, tuple[str, str]] = {
    Code.UNKNOWN_KEY: (
        "A key of the table, or a `-C cuda.*` setting, that does not exist.",
        "Correct it; the message suggests a name.",
    ),
    Code.WRONG_TYPE: ("A value of another type than the key takes.", "The message says which type is wanted."),
    Code.BAD_VALUE: ("A value that the key does not take.", "The message lists what it takes."),
    Code.MISSING_KEY: ("A key that is needed is not there, such as the name of a target.", "Add it."),
    Code.MISSING_SOURCE: (
        "A source that is named does not exist.",
        "Correct the path; it starts at the project's folder.",
    ),
    Code.NO_MATCH: (
        "A pattern that fits no file, or an override that fits no source or target.",
        "Correct the pattern, or remove it.",
    ),
    Code.BAD_NAME: ("A name that cannot be a module or a library.", "Use Python identifiers, with dots between."),
    Code.DUPLICATE_OUTPUT: ("Two targets would write the same file.", "Rename one of them."),
    Code.RESERVED_FLAG: (
        "A compiler flag for which there is a key, such as `-arch` or `-std`.",
        "Use the key that the message names.",
    ),
    Code.CONFLICT: ("Two values that cannot both hold.", "Remove one."),
    Code.UNKNOWN_LIBRARY: ("`link` names no library of the table and no CUDA library.", "Correct the name."),
    Code.UNKNOWN_PACKAGE: ("`uses` names a package that is not known.", "Correct the name, or use `include-dirs`."),
    Code.NOT_PACKAGED: (
        "A target lies in a package that the wheel would not hold.",
        "Correct the name, or setuptools' list of packages.",
    ),
    Code.NOT_AVAILABLE: (
        "Something that this release does not do, or a package that is not installed where the build needs it.",
        "The message says what to do instead.",
    ),
    Code.UNSAFE_PATH: (
        "A path that leads out of the project, or one with a letter that nvcc's shell would change.",
        "Move the file into the project, or rename it.",
    ),
    Code.BAD_PYPROJECT: ("`pyproject.toml` is not TOML.", "Correct the line that the message names."),
    Code.BAD_ARCHITECTURE: (
        "A word that is no architecture, or two that cannot be in one file, such as `100` and `100f`.",
        "Correct the variable or key that the message names.",
    ),
    Code.NO_ARCHITECTURE_LEFT: (
        "A source whose bounds leave none of the requested architectures.",
        'Widen the bounds or the request, or set `when-empty = "skip"`.',
    ),
    Code.IMAGES_DO_NOT_SERVE: (
        "A kernel module would not serve a GPU or driver that `serves` or `driver` promises.",
        "Add the architecture or format that the message names.",
    ),
    Code.NO_COMPILER: (
        "No nvcc in any of the places looked at. The message lists them all.",
        "Install one by the line that the message gives, or point `CUDA_HOME` at a toolkit.",
    ),
    Code.UNUSABLE_SETTING: (
        "A setting or variable names an nvcc or a toolkit that cannot be used.",
        "Correct or unset it: an explicit wish is never passed over.",
    ),
    Code.UNFIT_RELEASE: (
        "An nvcc that was named is of a release that `cuda` does not allow, or a package in `uses` is not made for.",
        "Name another nvcc, widen `cuda`, or build with the package for that release.",
    ),
    Code.PARTIAL_TOOLKIT: (
        "A toolkit lacks a part, such as its headers or libNVVM.",
        "Install the wheel that the message names.",
    ),
    Code.MIXED_RELEASES: (
        "Parts of a toolkit are of different releases.",
        "Install `cuda-toolkit[nvcc,cccl]` of one release, which keeps them together.",
    ),
    Code.UNKNOWN_ARCHITECTURE: (
        "The toolkit does not know a requested architecture.",
        'Use another toolkit, leave it out, or set `unsupported-architectures = "drop"`.',
    ),
    Code.NO_GPU: ("`native` was asked for and no GPU answers.", "Name the architectures."),
    Code.NO_HOST_COMPILER: ("nvcc needs a C++ compiler and there is none.", "Install g++, or set `CXX`."),
    Code.UNFIT_HOST_COMPILER: (
        "The C++ compiler is too new for the toolkit, and no older one is installed.",
        "Install the one that the message names.",
    ),
    Code.PLUGIN_FAILED: (
        "A step or package of another distribution raised an error or returned something unusable.",
        "Report it to that distribution, or remove the step.",
    ),
    Code.TOOL_FAILED: ("A program that was asked for facts failed.", "The message shows what it said."),
    Code.MISSING_TOOL: (
        "A program or package that a command reads built files with is not there.",
        "Install what the message names: `pip install 'setuptools-cuda-build[inspect]'`.",
    ),
    Code.COMPILE_FAILED: (
        "A source does not compile.",
        "The message shows the source, its architectures, the first error and the exact command.",
    ),
    Code.LINK_FAILED: (
        "Objects do not link, or the result lacks symbols.",
        "The message shows the linker's first error; often a library is missing from `link`.",
    ),
    Code.OUT_OF_MEMORY: ("A compiler was ended for lack of memory.", "Set `jobs` or `MAX_JOBS` to a smaller number."),
    Code.DISK_FULL: ("No room on the disk.", "Make room; nothing was left half-written."),
    Code.NOT_WRITABLE: ("A folder that must be written to cannot be.", "Change its permissions, or build elsewhere."),
    Code.BAD_INPUT_FILE: (
        "A file that should be PTX or an image is not, or a source of a kernel module has no kernel.",
        "The message names the file and what is wrong.",
    ),
    Code.DRIVER_TOO_OLD: (
        "The driver of this machine is older than the toolkit, so that PTX of the toolkit does not load on it.",
        "Build with a toolkit that is not newer than the driver, or ship machine code for the GPUs that count.",
    ),
    Code.MISSING_ARCHITECTURE: (
        "A wheel or file has no code for an architecture of `inspect --require`.",
        "Build it with that architecture, or do not promise it.",
    ),
    Code.TOO_LARGE: (
        "A wheel or file is larger than `inspect --max-size` allows.",
        "Build for fewer architectures, or look with `inspect` what takes the room.",
    ),
    Code.UNDECLARED_REQUIREMENT: (
        "A wheel loads a library of NVIDIA's wheels that its metadata does not require.",
        "Add the requirement that the message names to the project's dependencies.",
    ),
}

HEADS = {
    Exit.CONFIGURATION: "What the project asks for",
    Exit.TOOLCHAIN: "What the machine has",
    Exit.COMPILE: "Building",
    Exit.FINDING: "What `doctor`, `inspect` and `repair-args` find",
}

INTRODUCTION = """\
# Errors

<!-- Made by docs/generate_errors.py: change that, not this. -->

Every problem that a build can stop for is in this list. A message says what is wrong, where (the key, variable
or file), why, and what to do next. Problems in the table are told all at once.

In Python a problem is an entry of `BuildError.problems`; its `code.slug` is the name below.
"""


def render_page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for status, head in HEADS.items():
        rows = [f"| `{code.slug}` | {TEXTS[code][0]} | {TEXTS[code][1]} |" for code in Code if code.status is status]
        parts.append("\n".join([f"## {head}", "", "| name | what it is | what to do |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
