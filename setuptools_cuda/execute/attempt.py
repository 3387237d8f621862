"""One job from its start to its end: the compiler in a scratch folder, its outputs to their places."""

from __future__ import annotations

import os
import sys
import time

from setuptools_cuda.execute import images
from setuptools_cuda.execute.child import Ended, run_child
from setuptools_cuda.execute.depfile import parse_depfile
from setuptools_cuda.execute.fields import Fields, read_fields, render_fields, without_separators
from setuptools_cuda.execute.ledger import SHARING, Ledger, Turn
from setuptools_cuda.execute.memory import was_out_of_memory
from setuptools_cuda.execute.scratch import remove_tree, write_beside
from setuptools_cuda.execute.step_times import OPTION, read_step_times
from setuptools_cuda.resolution.headroom import read_headroom

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMPILES = ("cuda", "device", "host", "cython")
"""Kinds of jobs that take turns over cores and memory; links are quick."""


_SELDOM, _OFTEN = 0.25, 0.05
"""Seconds between two looks at the memory that is left: where it is plenty, and where it may soon be gone."""
_NEAR = 4


_ODD = frozenset(" \t\n'\"\\$`&;|<>()*?[]{}#~!")
"""Characters that a shell takes for more than themselves."""

_HERE = "/proc/self/cwd"
"""The working folder under a name that is the same in any: cicc writes $PWD into LTO-IR, where it leads there."""


class JobError(Exception):
    """A job that failed for a reason of its own, rather than the compiler's."""


class Attempt:
    """One job with its scratch folder."""

    def __init__(self, build: str, *, name: str, started: int) -> None:
        """Read what there is to do. ``build`` is the build folder, relative to the project or absolute."""
        self.build = build
        self.name = name
        self.spec: Fields = read_fields(f"{build}/jobs/{name}.spec")
        self.run: Fields = read_fields(f"{build}/run.fields")
        self.kind = self.spec["kind"][0]
        self.codes = self.spec["codes"]
        self.outputs = list(zip(self.spec["roles"], self.spec["files"], strict=True))
        self._folder = f"{name}-{os.getpid()}"
        self.scratch = os.path.abspath(f"{build}/scratch/{self._folder}")  # noqa: PTH100 - pathlib is slow to import
        suffix = os.path.splitext(self.spec["files"][0])[1]  # noqa: PTH122 - the same
        self.made = f"{self.scratch}/out{suffix}"
        self.keep = f"{self.scratch}/keep"
        self.is_launched = "launched" in self.spec
        self.temporary = ""
        self.started = started
        self.mark = 0

    def let_go_of_lock(self) -> None:
        """Keep the build's lock, which we were started with, from what we start."""
        for number in self.run["lock"]:
            try:
                os.set_inheritable(int(number), False)  # noqa: FBT003 - os has it so
            except OSError:
                return

    def work(self) -> int:
        """Do the job; return the exit status that ninja is to see."""
        try:
            if self._is_unchanged():
                return 0
            self._start_afresh()
            # A launcher may start a server that outlives this job, and its scratch folder.
            if not self.is_launched:
                self.temporary = self.scratch if _is_plain(self.scratch) else f"{self.build}/scratch/{self._folder}"
                os.putenv("TMPDIR", self.temporary)
            if any(role == "ltoir" for role, _ in self.outputs) and os.path.isdir(_HERE):  # noqa: PTH112 - pathlib is slow to import
                os.putenv("PWD", _HERE)
            return self._work()
        except (OSError, JobError) as error:
            self._fail(self._argv(1), status=1, output=f"{error}", attempts=1)
            return 1
        finally:
            remove_tree(self.scratch)

    def _is_unchanged(self) -> bool:
        """Return whether what other jobs made just now is what it was when this one last ran."""
        known = self.run.get(f"known {self.name}")
        if not known:
            return False
        from hashlib import sha256  # noqa: PLC0415 - few jobs need it, and it is slow to import

        for need, digest in zip(known[::2], known[1::2], strict=True):
            with open(f"{self.build}/{need}", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
                if sha256(file.read()).hexdigest() != digest:
                    return False
        self._write_result({"kept": ["yes"]})
        return True

    def _start_afresh(self) -> None:
        """Make an empty scratch folder, and note when what is read from now on is read."""
        remove_tree(self.scratch)
        os.makedirs(self.keep)  # noqa: PTH103 - pathlib is slow to import
        self.started = time.monotonic_ns()
        # The file system's own clock, which may be another than ours.
        self.mark = os.stat(self.keep).st_ctime_ns  # noqa: PTH116 - the same

    def _work(self) -> int:
        done, threads, attempts = self._compile()
        output = check_link(done) if self.kind == "link" and done.status == 0 else done.output
        if output:
            sys.stdout.write(output)
        if done.status != 0:
            output = without_reports(output) if self.kind == "link" else output
            self._fail(self._argv(threads), status=done.status, output=output, attempts=attempts)
            return 1
        made = images.collect(self.outputs, kind=self.kind, codes=self.codes, keep=self.keep, made=self.made)
        for source in made.values():
            if not os.path.isfile(source):  # noqa: PTH113 - pathlib is slow to import
                raise JobError(f"{self._argv(threads)[0]} ended as if all were well, and made no file")
        read = self._list_read()
        for file, source in made.items():
            self._place(source, file=file)
        numbers = (done.seconds, done.cpu, done.memory, threads, attempts)
        steps = read_step_times(self._times) if self.run["timed"] else []
        result = {"output": [without_separators(output)], "read": read, "steps": steps}
        self._write_result({"took": map(str, numbers), **result})
        return 0

    def _place(self, source: str, *, file: str) -> None:
        destination = f"{self.build}/{file}"
        try:
            os.replace(source, destination)  # noqa: PTH105 - pathlib is slow to import
        except FileNotFoundError:
            os.makedirs(os.path.dirname(destination), exist_ok=True)  # noqa: PTH103, PTH120 - the same
            os.replace(source, destination)  # noqa: PTH105 - the same

    def _compile(self) -> tuple[Ended, int, int]:
        """Run the command, once more and alone where there was no memory for it; with its threads and attempts."""
        if self.kind not in COMPILES:
            return self._run(1, ledger=None), 1, 1
        turn = Turn(f"{self.build}/turn")
        turn.share()
        done, threads = self._run_beside_others()
        if not (done.gave_way or was_out_of_memory(done.status, output=done.output)):
            return done, threads, 1
        turn.take_alone()
        self._start_afresh()
        return self._run(1, ledger=None), 1, 2

    def _run_beside_others(self) -> tuple[Ended, int]:
        parallel, memory, asked, last = (int(number) for number in self.run["bounds"])
        ledger = Ledger(f"{self.build}/ledger", parallel=parallel, memory=memory, last_threads=last)
        # With several threads nvcc does not find its own temporary files in a folder with a space in its name.
        most = len(self.codes) if self.kind == "cuda" and _is_plain(self.temporary) else 1
        need, together = (int(number) for number in self.run.get(f"need {self.name}", ["0", "0"]))
        threads = ledger.enter(
            need=need,
            together=together,
            most_threads=min(most, asked) if asked else most,
            shares=self.kind in SHARING,
        )
        if asked:
            threads = min(most, asked)
        taken = 0
        try:
            done = self._run(threads, ledger=ledger)
            taken = done.memory
            return done, threads
        finally:
            ledger.leave(memory=taken)

    def _run(self, threads: int, *, ledger: Ledger | None) -> Ended:
        reserve = int(self.run["reserve"][0])
        files = self.run["groups"]
        groups = tuple(zip(files[::3], files[1::3], files[2::3], strict=True))

        def stays() -> float:
            room = read_headroom(groups) if ledger is not None and reserve else 0
            if not room or room > _NEAR * reserve:
                return _SELDOM
            return 0 if room < reserve and ledger is not None and not ledger.is_oldest() else _OFTEN

        return run_child(self._timed(self._argv(threads)), stays=stays)

    def _timed(self, argv: list[str]) -> list[str]:
        """Return the command that also tells how long nvcc's programs took; caches of launchers cannot hold that."""
        if self.kind != "cuda" or not self.run["timed"] or self.is_launched:
            return argv
        return [*argv[:-3], OPTION, self._times, *argv[-3:]]

    @property
    def _times(self) -> str:
        return f"{self.scratch}/times.csv"

    def _argv(self, threads: int) -> list[str]:
        whole = {"{out}": self.made, "{keep}": self.keep, "{depfile}": f"{self.scratch}/out.d"}
        parts = dict(zip(self.run["places"][::2], self.run["places"][1::2], strict=True))
        parts |= {"{build}": self.build, "{root}": self.run["root"][0]}
        if self.kind == "device":
            parts |= {"{python}": sys.executable, "{programs}": os.path.dirname(__file__)}  # noqa: PTH120 - as above
        argv = [whole.get(word) or _replaced(word, parts=parts) for word in self.spec["argv"]]
        if self.kind == "cuda" and threads > 1:
            argv[-3:-3] = ["--threads", str(threads)]
        return argv

    def _list_read(self) -> list[str]:
        """Return the files of the depfile, each with its size, times and inode as they are now."""
        if not self.spec["depfile"]:
            return []
        written = f"{self.made}.dep" if self.kind == "cython" else f"{self.scratch}/out.d"
        try:
            with open(written, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - as above
                read = parse_depfile(file.read())
        except FileNotFoundError as error:
            raise JobError(f"{self._argv(1)[0]} does not tell which files it has read") from error
        found: list[str] = []
        for path in read:
            try:
                state = os.stat(path)  # noqa: PTH116 - of hundreds of files in each job
            except OSError as error:
                raise JobError(f"{path} was read, and is gone: {error.strerror}") from error
            numbers = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
            found += [path, *map(str, numbers)]
        return found

    def _write_result(self, fields: Mapping[str, Iterable[str]]) -> None:
        times = [str(self.started), str(time.monotonic_ns()), str(self.mark)]
        key = self.run[f"key {self.name}"]
        write_beside(f"{self.build}/results/{self.name}", render_fields({"key": key, "times": times, **fields}))

    def _fail(self, argv: list[str], *, status: int, output: str, attempts: int) -> None:
        is_cuda = self.kind == "cuda" and os.path.isdir(self.keep)  # noqa: PTH112 - pathlib is slow to import
        failing = images.find_failing(self.keep, codes=self.codes) if is_cuda else ""
        said = {"argv": argv, "output": [without_separators(output)], "architecture": [failing]}
        said |= {"status": [str(status)], "attempts": [str(attempts)]}
        spec = {name: self.spec[name] for name in ("kind", "title", "source", "used_by", "codes")}
        try:
            times = [str(self.started), str(time.monotonic_ns())]
            data = render_fields({**spec, **said, "started": times[:1], "time": times[1:]})
            write_beside(f"{self.build}/failures/{self.name}", data)
        except OSError as error:
            sys.stdout.write(f"{output}\n{self.spec['title'][0]}: {error}\n")


def _is_plain(path: str) -> bool:
    return _ODD.isdisjoint(path)


def check_link(done: Ended) -> str:
    """Return what the linker said, without its reports of undefined symbols. Raises JobError for one that matters."""
    from setuptools_cuda.execute import linked  # noqa: PLC0415 - compiles do not need it, and it is slow to import

    undefined = linked.find_undefined(done.output)
    if undefined:
        sys.stdout.write(linked.without_reports(done.output))
        raise JobError(linked.describe_undefined(undefined))
    return linked.without_reports(done.output)


def without_reports(output: str) -> str:
    """Return what the linker said of other things than undefined symbols, Python's own among them."""
    from setuptools_cuda.execute import linked  # noqa: PLC0415 - compiles do not need it, and it is slow to import

    return linked.without_reports(output)


def _replaced(word: str, *, parts: Mapping[str, str]) -> str:
    if "{" in word:
        for name, text in parts.items():
            word = word.replace(name, text)
    return word
