"""Wheels, sdists and editable installs of real projects, through setuptools' own hooks."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from setuptools_support import (
    ALL,
    ALL_FILES,
    EXTENSION,
    EXTENSION_FILES,
    KERNEL_FILES,
    KERNELS,
    LIBRARY,
    LIBRARY_FILES,
    SAXPY_CU,
    TABLE,
    TOOLKIT,
    Installation,
    full_installation,
    pyproject,
    shared_installation,
    wheel_names,
    wheel_text,
    write_project,
)

SKIPPED = 'min-architecture = "120"\nwhen-empty = "skip"\n'


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


INFO = [
    f"demo-1.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "setuptools_cuda.json", "top_level.txt")
]


@pytest.fixture
def suffix(installation: Installation, tmp_path: Path) -> str:
    """Return the suffix of extension modules."""
    code = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'), end='')"
    return installation.succeed("-c", code, cwd=tmp_path)


@pytest.fixture
def python_tag(installation: Installation, tmp_path: Path) -> str:
    """Return the tag of the interpreter, as cp311."""
    return installation.succeed("-c", "import sys; print('cp%d%d' % sys.version_info[:2], end='')", cwd=tmp_path)


def run_wheel(installation: Installation, wheel: Path, code: str) -> str:
    """Run ``code`` with the content of ``wheel`` on the path, and return its output."""
    folder = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return installation.succeed("-c", code, cwd=folder)


class TestWheel:
    def test_all_kinds_of_targets_out_of_one_graph(
        self, installation: Installation, tmp_path: Path, suffix: str, python_tag: str
    ) -> None:
        # Trap 3: saxpy.cpp and saxpy.cu would both be saxpy.o.
        project = write_project(tmp_path, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
        name, said = installation.made("build_wheel", project)
        wheel = project / "dist" / str(name)
        assert wheel.name == f"demo-1.0-{python_tag}-{python_tag}-linux_x86_64.whl"
        images = [f"demo/kernels_images/src/saxpy.{one}" for one in ("compute_80.ptx", "sm_80.cubin")]
        found_by = ["demo/lib/cmake/saxpy/saxpyConfig.cmake", "demo/lib/pkgconfig/saxpy.pc"]
        library = ["demo/include/saxpy.h", "demo/lib/libsaxpy.a", *found_by]
        assert wheel_names(wheel) == sorted(
            [*INFO, "demo/__init__.py", f"demo/_native{suffix}", "demo/kernels.py", *images, *library]
        )
        assert said.count("compile src/saxpy.cu") == 1
        code = (
            "import demo._native as n, demo.kernels as k\n"
            "print(n.answer(), n.count(), len(k.images['src/saxpy.cu'].images))"
        )
        assert run_wheel(installation, wheel, code) == "42 0 2\n"

    def test_the_oldest_setuptools(self, shared_folder: Path, our_wheel: Path, tmp_path: Path) -> None:
        oldest = shared_installation(shared_folder / "oldest", [our_wheel, TOOLKIT, "setuptools==77.0.3"])
        text = pyproject(ALL + 'type = "static"\n').replace('"demo._native"', '"demo._native"\nlimited-api = "cp311"')
        project = write_project(tmp_path, {**ALL_FILES, "pyproject.toml": text})
        wheel = oldest.wheel(project, settings={"--build-option": ["build_ext", "-j2"]})
        assert wheel.name == "demo-1.0-cp311-abi3-linux_x86_64.whl"
        assert "demo/_native.abi3.so" in wheel_names(wheel)
        oldest.made("build_editable", project)
        assert (project / "demo/_native.abi3.so").exists()

    def test_a_setuptools_that_is_too_old(self, shared_folder: Path, our_wheel: Path, tmp_path: Path) -> None:
        # What a new virtual environment of Python 3.11 has.
        older = shared_installation(shared_folder / "older", [our_wheel, "setuptools==65.5.0", "wheel"])
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        done = older.run("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", ".", cwd=project)
        assert done.status == 1
        assert "setuptools 65.5.0 is too old for setuptools_cuda, which needs 77 or newer" in done.output
        assert "Traceback" not in done.output

    def test_a_project_that_asks_for_nothing(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {"demo/__init__.py": "", "pyproject.toml": pyproject("")})
        _, said = installation.made("build_wheel", project)
        assert "has no [tool.setuptools-cuda]" in said

    def test_manifest(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        manifest = json.loads(wheel_text(installation.wheel(project), "dist-info/setuptools_cuda.json"))
        assert manifest["toolkit"]["release"] == "13.0"
        assert {one["kind"] for one in manifest["artifacts"]} == {"image"}
        assert str(tmp_path) not in json.dumps(manifest)

    @pytest.mark.parametrize(
        ("files", "table", "tag", "pure"),
        [
            (KERNEL_FILES, KERNELS, "py3-none-any", "true"),
            (LIBRARY_FILES, LIBRARY, "py3-none-linux_x86_64", "false"),
            (LIBRARY_FILES, LIBRARY + SKIPPED, "py3-none-any", "true"),
        ],
    )
    def test_tags_without_extensions(
        self, installation: Installation, tmp_path: Path, files: dict[str, str], table: str, tag: str, pure: str
    ) -> None:
        project = write_project(tmp_path, {**files, "pyproject.toml": pyproject(TABLE + table)})
        wheel = installation.wheel(project)
        assert wheel.name == f"demo-1.0-{tag}.whl"
        # Trap 12: without extensions setuptools would put the files into demo-1.0.data/purelib.
        assert not [name for name in wheel_names(wheel) if ".data/" in name]
        assert f"Root-Is-Purelib: {pure}\n" in wheel_text(wheel, "WHEEL")
        assert f"Tag: {tag}\n" in wheel_text(wheel, "WHEEL")

    def test_a_library_and_a_top_level_module_without_any_package(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        table = (TABLE + KERNELS + LIBRARY).replace("demo.kernels", "top").replace('"demo/lib"', '"lib"')
        text = pyproject(table, packages="[]").replace("headers", "depends")
        files = {name: text for name, text in {**KERNEL_FILES, **LIBRARY_FILES}.items() if "__init__" not in name}
        project = write_project(tmp_path, {**files, "pyproject.toml": text})
        names = wheel_names(installation.wheel(project))
        assert {"top.py", "lib/libsaxpy.a"} <= set(names)

    def test_the_bytes_do_not_depend_on_folder_and_builder(self, installation: Installation, tmp_path: Path) -> None:
        script = (
            "import os, sys; from setuptools_cuda import build_meta\n"
            "os.umask(int(sys.argv[1], 8)); sys.argv = ['']; print(build_meta.build_wheel('dist'))"
        )
        wheels = []
        for umask, folder in (("022", "one"), ("077", "a longer folder")):
            project = write_project(tmp_path / folder, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
            (project / "demo/__init__.py").chmod(0o777 & ~int(umask, 8) & ~0o111)
            installation.succeed("-c", script, umask, cwd=project, SOURCE_DATE_EPOCH="1700000000")
            wheels.extend((project / "dist").glob("*.whl"))
        first, second = (wheel.read_bytes() for wheel in wheels)
        assert first == second
        with zipfile.ZipFile(wheels[1]) as archive:
            modes = {one.filename: one.external_attr >> 16 & 0o777 for one in archive.infolist()}
        assert {mode for name, mode in modes.items() if name.endswith(".so")} == {0o755}
        assert {mode for name, mode in modes.items() if not name.endswith((".so", "RECORD"))} == {0o644}

    def test_what_is_no_longer_planned_leaves_the_next_wheel(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        installation.made("build_editable", project)
        installation.wheel(project)
        assert (project / "demo/kernels.py").exists()
        write_project(project, {"pyproject.toml": pyproject(TABLE + KERNELS.replace("demo.kernels", "demo.other"))})
        names = wheel_names(installation.wheel(project))
        assert [name for name in names if name.startswith("demo/") and "images" not in name] == [
            "demo/__init__.py",
            "demo/other.py",
        ]
        assert {name.split("/")[1] for name in names if "images" in name} == {"other_images"}

    def test_a_module_that_somebody_wrote_is_not_replaced(self, installation: Installation, tmp_path: Path) -> None:
        files = {**KERNEL_FILES, "demo/kernels.py": "mine = True\n", "pyproject.toml": pyproject(TABLE + KERNELS)}
        project = write_project(tmp_path, files)
        for hook in ("build_wheel", "build_editable"):
            done = installation.hook(hook, project)
            assert done.status == 1
            assert "demo.kernels would replace demo/kernels.py, which was not generated" in done.output
            assert "compile kernels" not in done.output
            assert "Traceback" not in done.output
        assert (project / "demo/kernels.py").read_text() == "mine = True\n"

    def test_a_module_that_is_named_like_a_package(self, installation: Installation, tmp_path: Path) -> None:
        text = pyproject(TABLE + KERNELS.replace("demo.kernels", "demo"))
        done = installation.hook("build_wheel", write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": text}))
        assert done.status == 1
        assert "kernel-module[0].module: demo is a package already" in done.output
        assert "give the module a name in the package, as 'demo.kernels'" in done.output

    def test_a_generated_module_whose_record_is_lost_is_not_in_the_wheel(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        installation.made("build_editable", project)
        shutil.rmtree(project / "build")
        write_project(project, {"pyproject.toml": pyproject(TABLE + KERNELS.replace("demo.kernels", "demo.other"))})
        name, said = installation.made("build_wheel", project)
        assert "warning: demo/kernels.py is left out of the wheel" in said
        assert "demo/kernels.py" not in wheel_names(project / "dist" / str(name))
        assert (project / "demo/kernels.py").exists()

    def test_a_second_build_compiles_nothing(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": pyproject(EXTENSION)})
        said = installation.made("build_wheel", project)[1]
        assert "compile src/saxpy.cu" in said
        for hook in ("build_wheel", "build_editable"):
            assert "compile src" not in installation.made(hook, project)[1]


class TestSdist:
    def test_sources_headers_and_depends(self, installation: Installation, tmp_path: Path) -> None:
        extension = EXTENSION + 'depends = ["data/*.bin"]\ninclude-dirs = ["include"]\n'
        files = {
            **EXTENSION_FILES,
            **LIBRARY_FILES,
            "src/saxpy.cu": '#include "detail/impl.cuh"\n#include <shared.h>\n' + SAXPY_CU,
            "src/detail/impl.cuh": '#include "more.cuh"\n',
            "src/detail/more.cuh": "",
            "include/shared.h": "",
            "include/unused.h": "",
            "data/x.bin": "",
            "pyproject.toml": pyproject(extension + LIBRARY),
        }
        names = installation.sdist_names(write_project(tmp_path, files))
        assert set(files) - {"include/unused.h"} <= names
        assert "include/unused.h" not in names

    def test_a_header_behind_a_macro_is_told_of(self, installation: Installation, tmp_path: Path) -> None:
        text = '#define HEADER "hidden.h"\n#include HEADER\n'
        files = {**KERNEL_FILES, "kernels/saxpy.cu": text + SAXPY_CU, "pyproject.toml": pyproject(TABLE + KERNELS)}
        _, said = installation.made("build_sdist", write_project(tmp_path, files))
        assert "warning: kernels/saxpy.cu includes a header by a macro, which is not followed" in said

    def test_a_wheel_can_be_built_from_it(self, installation: Installation, tmp_path: Path) -> None:
        files = {**LIBRARY_FILES, "pyproject.toml": pyproject(TABLE + LIBRARY)}
        project = write_project(tmp_path / "project", files)
        name, _ = installation.made("build_sdist", project)
        installation.succeed(
            "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path / "out",
            project / "dist" / str(name), cwd=tmp_path,
        )  # fmt: skip
        (wheel,) = (tmp_path / "out").glob("*.whl")
        assert "demo/lib/libsaxpy.a" in wheel_names(wheel)

    def test_what_an_editable_build_made_is_not_in_it(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        before = installation.sdist_names(project)
        installation.made("build_editable", project)
        assert installation.sdist_names(project) == before

    def test_no_toolkit_is_looked_for(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": pyproject(EXTENSION)})
        for hook in ("build_sdist", "prepare_metadata_for_build_wheel", "get_requires_for_build_sdist"):
            installation.made(hook, project, CUDA_HOME="/nowhere")


def commanded_files(project: Path) -> set[str]:
    """Return the sources that editors are told how to read."""
    entries = json.loads((project / "build/setuptools-cuda/compile_commands.json").read_text("utf-8"))
    return {entry["file"] for entry in entries}


class TestSourceTree:
    @pytest.mark.parametrize(("mode", "layout"), [("lenient", "flat"), ("strict", "flat"), ("compat", "src")])
    def test_editable(self, installation: Installation, tmp_path: Path, mode: str, layout: str) -> None:
        text, files = pyproject(ALL.replace('"src/', '"c/')), {}
        for name, content in ALL_FILES.items():
            files[name.replace("src/", "c/")] = content
        if layout == "src":
            text = text.replace("[tool.setuptools]\n", '[tool.setuptools]\npackage-dir = { "" = "src" }\n')
            files["src/demo/__init__.py"] = files.pop("demo/__init__.py")
        project = write_project(tmp_path / "project", {**files, "pyproject.toml": text})
        settings = {} if mode == "lenient" else {"editable-mode": mode}
        name, _ = installation.made("build_editable", project, settings=settings)
        target = tmp_path / "site"
        pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", target, project / "dist" / str(name)]
        installation.succeed(*pip, cwd=tmp_path)
        code = (
            "import site, sys, pathlib; site.addsitedir(sys.argv[1])\n"
            "import demo._native as n, demo.kernels as k\n"
            "library = pathlib.Path(n.__file__).parent / 'lib/libsaxpy.a'\n"
            "print(n.answer(), len(k.images), library.exists())"
        )
        assert installation.succeed("-c", code, target, cwd=tmp_path) == "42 1 True\n"
        manifest = project / "build/setuptools-cuda/setuptools_cuda.json"
        assert {one["target"] for one in json.loads(manifest.read_text())["artifacts"]} == {
            "demo._native",
            "demo.kernels",
            "saxpy",
        }
        assert {"c/saxpy.cpp", "c/saxpy.cu"} <= commanded_files(project)

    def test_what_is_no_longer_planned_is_removed_and_nothing_else(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        files = {**KERNEL_FILES, "demo/mine.py": "", "pyproject.toml": pyproject(TABLE + KERNELS)}
        project = write_project(tmp_path, files)
        installation.made("build_editable", project)
        (project / "demo/kernels_images/notes.txt").touch()
        write_project(project, {"pyproject.toml": pyproject(TABLE + KERNELS.replace("demo.kernels", "demo.other"))})
        installation.made("build_editable", project)
        assert not (project / "demo/kernels.py").exists()
        assert (project / "demo/other.py").exists()
        assert [path.name for path in (project / "demo/kernels_images").rglob("*")] == ["notes.txt"]
        assert (project / "demo/mine.py").exists()

    def test_a_header_that_already_lies_where_it_is_shipped_stays_the_projects(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        table = LIBRARY.replace('"include/demo/*.h"', '"demo/include/demo/*.h"').replace(
            '["include"]', '["demo/include"]'
        )
        files = {**LIBRARY_FILES, "demo/include/demo/saxpy.h": "// mine\n", "pyproject.toml": pyproject(TABLE + table)}
        project = write_project(tmp_path, files)
        installation.made("build_editable", project)
        kept = "\n".join(line for line in table.splitlines() if "headers" not in line)
        write_project(project, {"pyproject.toml": pyproject(TABLE + kept)})
        installation.made("build_editable", project)
        assert (project / "demo/include/demo/saxpy.h").read_text() == "// mine\n"

    @pytest.mark.parametrize("layout", ["flat", "src"])
    def test_what_is_made_there_is_no_package_to_setuptools(
        self, installation: Installation, tmp_path: Path, layout: str
    ) -> None:
        package = "src/demo/__init__.py" if layout == "src" else "demo/__init__.py"
        text = pyproject(TABLE + KERNELS.replace("kernels/", "build-it/")).replace(
            '[tool.setuptools]\npackages = ["demo"]\n', ""
        )
        project = write_project(tmp_path, {package: "", "build-it/saxpy.cu": SAXPY_CU, "pyproject.toml": text})
        installation.made("build_editable", project)
        before = wheel_names(installation.wheel(project))
        assert "demo/kernels.py" in before
        write_project(project, {"pyproject.toml": text.replace("demo.kernels", "demo.other")})
        installation.made("build_editable", project)
        after = wheel_names(installation.wheel(project))
        assert after == [name.replace("demo/kernels", "demo/other") for name in before]

    def test_a_top_level_module_does_not_stop_discovery(self, installation: Installation, tmp_path: Path) -> None:
        text = pyproject(TABLE + KERNELS.replace('"demo.kernels"', '"kernels"'))
        automatic = text.replace('[tool.setuptools]\npackages = ["demo"]\n', "")
        files = {"demo/__init__.py": "", "demo/cu/saxpy.cu": SAXPY_CU}
        project = write_project(tmp_path, {**files, "pyproject.toml": automatic.replace('"kernels/', '"demo/cu/')})
        done = installation.hook("build_editable", project)
        assert done.status == 1
        assert "the folder kernels_images would lie beside demo in the source tree" in done.output
        assert 'name them in [tool.setuptools]: packages = ["demo"]' in done.output
        assert not (project / "kernels.py").exists()
        write_project(project, {"pyproject.toml": text.replace('"kernels/', '"demo/cu/')})
        for _ in range(2):
            installation.made("build_editable", project)
        assert (project / "kernels.py").exists()

    def test_inplace_brings_all_targets(self, installation: Installation, tmp_path: Path, suffix: str) -> None:
        setup = "import setuptools\nsetuptools.setup()\n"
        project = write_project(tmp_path, {**ALL_FILES, "pyproject.toml": pyproject(ALL), "setup.py": setup})
        installation.succeed("setup.py", "--quiet", "build_ext", "--inplace", cwd=project)
        for name in (f"demo/_native{suffix}", "demo/kernels.py", "demo/lib/libsaxpy.a", "demo/include/saxpy.h"):
            assert (project / name).exists()
        assert not (project / "build/lib/demo/lib/libsaxpy.a").exists()
        assert {"src/saxpy.cpp", "src/saxpy.cu"} <= commanded_files(project)

    def test_inplace_without_extensions(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)})
        installation.succeed("-c", "import setuptools; setuptools.setup()", "-q", "build_ext", "-i", cwd=project)
        assert (project / "demo/kernels.py").exists()

    def test_interpreters_share_a_source_tree(self, installation: Installation, tmp_path: Path, suffix: str) -> None:
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": pyproject(EXTENSION)})
        other, ours = project / "demo/_native.cpython-39-other.so", project / f"demo/_native{suffix}"
        other.write_bytes(b"of another interpreter")
        digest = hashlib.sha256(other.read_bytes()).hexdigest()
        record = {"version": 1, "files": {"demo/_native.cpython-39-other.so": digest}}
        write_project(project, {"build/setuptools-cuda/source-tree-cpython-39.json": json.dumps(record)})
        installation.made("build_editable", project)
        assert other.exists()
        assert ours.exists()
        assert not [name for name in installation.sdist_names(project) if name.endswith(".so")]
