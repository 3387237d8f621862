"""The artifact cache as one run uses it: outputs out of it before compiles, and into it after them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from setuptools_cuda.execute.artifacts import Artifacts, Hit
from setuptools_cuda.execute.eviction import account
from setuptools_cuda.execute.fingerprint import explain_uncached
from setuptools_cuda.execute.record import Record, write_record
from setuptools_cuda.execute.scratch import remove_tree
from setuptools_cuda.execute.session import Session
from setuptools_cuda.plan.values import Job

Echo = Callable[[str], None]
_BUILT = "{build}/"
_MOST_SAID = 1 << 20
"""Letters of warnings that are kept with what was compiled; who prints more is compiled again."""


class SharedArtifacts:
    """The cache in a folder, or none. Whatever goes wrong with it is said once, and ends its use, never the build."""

    def __init__(self, folder: Path | None, *, session: Session, echo: Echo) -> None:
        """Use the cache in ``folder``."""
        self._folder = folder
        self._cache = Artifacts(folder) if folder else None
        self._session = session
        self._echo = echo
        self._storing = True

    def fetch(self, job: Job) -> bool:
        """Put the outputs of ``job``, which has to run, into their places, if the cache has them."""
        if self._cache is None or explain_uncached(job):
            return False
        session = self._session
        key = session.fingerprint(job).key
        hit = self._cache.find(key, digest_of=session.digest_of, exists=session.exists)
        return hit is not None and self._take(job, hit, key=key)

    def _take(self, job: Job, hit: Hit, *, key: str) -> bool:
        session = self._session
        scratch = session.folder.path / "scratch" / f"fetch-{os.getpid()}"
        scratch.mkdir(parents=True, exist_ok=True)
        into = {output.role: scratch / str(number) for number, output in enumerate(job.outputs)}
        try:
            fetched = self._cache.fetch(hit, into=into) if self._cache else None
            if fetched is None or fetched.digests.keys() != into.keys():
                return False
            for output in job.outputs:
                destination = Path(session.built(output.file))
                destination.parent.mkdir(parents=True, exist_ok=True)
                into[output.role].replace(destination)
        finally:
            remove_tree(str(scratch))
        session.digests.forget(session.built(output.file) for output in job.outputs)
        record = Record(
            key=key,
            inputs=tuple(pair for pair in hit.inputs if not self._is_need(pair[0], job)),
            needs=tuple((need, session.digests.find(session.built(need))) for need in dict.fromkeys(job.needs)),
            outputs=tuple((output.file, fetched.digests[output.role]) for output in job.outputs),
            absent=hit.absent,
        )
        write_record(session.record_path(job), record)
        for line in fetched.said.splitlines():
            self._echo(line)
        return True

    def _is_need(self, name: str, job: Job) -> bool:
        return name.startswith(_BUILT) and name[len(_BUILT) :] in job.needs

    def store(self, job: Job, record: Record, *, said: str) -> None:
        """Keep what ``job`` made just now."""
        if self._cache is None or not self._storing or not record.sure or explain_uncached(job):
            return
        if len(said) > _MOST_SAID or self._tells_time(record):
            return
        session = self._session
        needs = tuple((f"{_BUILT}{need}", digest) for need, digest in record.needs)
        digests = dict(record.outputs)
        try:
            self._cache.store(
                record.key,
                inputs=(*needs, *record.inputs),
                absent=record.absent,
                outputs={o.role: (Path(session.built(o.file)), digests[o.file]) for o in job.outputs},
                about={"what": job.title, "kind": job.kind},
                said=said,
            )
        except OSError as error:
            self._give_up(error)

    def _tells_time(self, record: Record) -> bool:
        """Return whether the outputs may hold the time of the compile."""
        session = self._session
        own = (name for name, _ in record.inputs if not name.startswith(("/", "{")))
        return not session.is_dated and any(session.digests.is_timed(session.path(name)) for name in own)

    def _give_up(self, error: OSError) -> None:
        self._storing = False
        self._echo(f"note: nothing more is stored in the cache {self._folder}: {error.strerror or error}")

    def close(self) -> None:
        """See to it that the cache keeps within its size."""
        if self._cache is None or self._folder is None or not self._cache.stored:
            return
        try:
            account(self._folder, added=self._cache.stored)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._give_up(error)
