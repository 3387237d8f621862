"""One job of a build, run as a program of its own by ninja.

It starts the compiler in a scratch folder, moves what came out to its place only after the
compiler has succeeded, and leaves a record when it has not. Nothing is ever half-written.

Run as ``python -I -S job.py SPEC``: it is started once for each compile, so it imports little.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute import depfile, images
from setuptools_cuda.process import run_inheriting

RECORD_SUFFIX = ".json"


class JobError(Exception):
    """A job that failed for a reason of its own, rather than the compiler's."""


def run_job(spec_file: Path) -> int:
    """Run the job in ``spec_file``; return the exit status that ninja is to see."""
    spec = json.loads(spec_file.read_text("utf-8"))
    build = spec_file.parents[1]
    record = build / "failures" / spec_file.name
    record.unlink(missing_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{spec['key']}-", dir=build / "scratch"))
    try:
        return _run_in(scratch, spec=spec, build=build, record=record)
    except (OSError, JobError) as error:
        _write_record(record, spec=spec, argv=spec["argv"], status=1, output=f"{error}", architecture="")
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_in(scratch: Path, *, spec: dict[str, Any], build: Path, record: Path) -> int:
    (scratch / "keep").mkdir()
    made = scratch / ("out" + Path(spec["outputs"][0][1]).suffix)
    argv = _argv(spec, scratch=scratch, made=made, build=build)
    done = run_inheriting(argv)
    if done.output:
        sys.stdout.write(done.output)
    if done.status != 0:
        architecture = images.find_failing(scratch / "keep", codes=spec["codes"]) if spec["kind"] == "cuda" else ""
        _write_record(record, spec=spec, argv=argv, status=done.status, output=done.output, architecture=architecture)
        return 1
    sources = images.collect(spec, keep=scratch / "keep", made=made)
    if spec["kind"] == "link":
        _check_linked(made)
    if spec["depfile"]:
        target = f"{spec['build']}/{spec['outputs'][0][1]}"
        _place(_rewritten_depfile(spec, scratch=scratch, made=made, target=target), build / spec["depfile"])
    for file, source in sources.items():
        _place(source, build / file)
    return 0


def _argv(spec: dict[str, Any], *, scratch: Path, made: Path, build: Path) -> list[str]:
    run = json.loads((build / "run.json").read_text("utf-8"))
    places = {"{out}": str(made), "{keep}": str(scratch / "keep"), "{depfile}": str(scratch / "out.d")}
    argv = [
        places.get(word, word.replace("{build}", spec["build"]).replace("{root}", run["root"])) for word in spec["argv"]
    ]
    if spec["kind"] == "cuda":
        threads = run["threads"]
        if threads > 1 and len(spec["codes"]) > 1:
            argv[-3:-3] = ["--threads", str(threads)]
    return argv


def _rewritten_depfile(spec: dict[str, Any], *, scratch: Path, made: Path, target: str) -> Path:
    """Return a depfile that ninja reads right: compilers disagree about '#', '$' and targets with spaces."""
    written = scratch / "out.d"
    if spec["kind"] == "cython":
        written = Path(f"{made}.dep")
    inputs = depfile.parse_depfile(written.read_text("utf-8", "surrogateescape"))
    # ninja knows the source already, whatever it is called.
    inputs = tuple(path for path in inputs if path != spec["source"])
    unreadable = depfile.find_unreadable(inputs)
    if unreadable:
        raise JobError(f"changes to {unreadable[0]!r} could not be seen by later builds: rename the file")
    rewritten = scratch / "ninja.d"
    rewritten.write_text(depfile.render_depfile(target, inputs), "utf-8", "surrogateescape")
    return rewritten


def _check_linked(made: Path) -> None:
    """Refuse a library that would fail at import for want of a device link (no linker says so)."""
    listed = run_inheriting(["nm", "-D", "--undefined-only", str(made)])
    if listed.status != 0:
        raise JobError(f"nm cannot read what was linked: {listed.output.strip()}")
    missing = [
        word for word in listed.output.split() if word.startswith(("__cudaRegisterLinkedBinary", "__fatbinwrap_"))
    ]
    if missing:
        raise JobError(
            f"relocatable device code was linked without a device link (undefined {missing[0]}): "
            "set rdc = true for the target that compiles it"
        )


def _place(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    source.replace(destination)


def _write_record(
    record: Path, *, spec: dict[str, Any], argv: list[str], status: int, output: str, architecture: str
) -> None:
    facts = {
        "kind": spec["kind"],
        "title": spec["title"],
        "source": spec["source"],
        "used_by": spec["used_by"],
        "codes": spec["codes"],
        "architecture": architecture,
        "argv": argv,
        "status": status,
        "output": output,
        "time": time.time_ns(),
    }
    try:
        record.write_text(json.dumps(facts), "utf-8")
    except OSError as error:
        sys.stdout.write(f"{output}\n{spec['title']}: {error}\n")


def main(argv: list[str]) -> int:
    """Run the job that the first argument names."""
    return run_job(Path(os.fsdecode(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
