"""Projects with a setup.py: our classes, other plugins, and commands of the project's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from setuptools_support import (
    ALL_FILES,
    BIND_CPP,
    EXTENSION,
    EXTENSION_FILES,
    SAXPY_CU,
    TABLE,
    Installation,
    full_installation,
    pyproject,
    wheel_names,
    write_project,
)

PLAIN = pyproject("", backend="setuptools.build_meta")
"""No table, and setuptools' own backend."""

ONE = """\
from setuptools import setup
from setuptools_cuda import CudaExtension
extension = CudaExtension("demo._native", ["src/bind.cpp", "src/saxpy.cu"])
"""


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


def make(root: Path, setup: str, *, text: str = PLAIN, **files: str) -> Path:
    return write_project(root, {**EXTENSION_FILES, "pyproject.toml": text, "setup.py": setup, **files})


def answer(installation: Installation, project: Path, *modules: str) -> str:
    """Build in the source tree with one architecture, and return what the extensions answer."""
    installation.succeed("setup.py", "--quiet", "build_ext", "--inplace", "-j2", cwd=project, CUDAARCHS="80")
    code = "import importlib, sys\nprint(*(importlib.import_module(one).answer() for one in sys.argv[1:]))"
    return installation.succeed("-c", code, *(modules or ("demo._native",)), cwd=project).strip()


class TestClasses:
    def test_all_classes_under_setuptools_own_backend(self, installation: Installation, tmp_path: Path) -> None:
        setup = (
            "from setuptools import setup\n"
            "from setuptools_cuda import CudaExtension, CudaLibrary, KernelModule\n"
            "setup(ext_modules=[CudaExtension('demo._native', ['src/saxpy.cpp', 'src/saxpy.cu'])],\n"
            "      kernel_modules=[KernelModule('demo.kernels', ['src/saxpy.cu'], formats=['ptx'])],\n"
            "      cuda_libraries=[CudaLibrary('saxpy', ['src/saxpy.cu'], install='demo/lib')])\n"
        )
        project = write_project(tmp_path, {**ALL_FILES, "pyproject.toml": PLAIN, "setup.py": setup})
        names = wheel_names(installation.wheel(project, CUDAARCHS="80"))
        made = [name for name in names if name.startswith("demo/") and not name.endswith(".so")]
        assert made == [
            "demo/__init__.py",
            "demo/kernels.py",
            "demo/kernels_images/src/saxpy.compute_80.ptx",
            "demo/lib/cmake/saxpy/saxpyConfig.cmake",
            "demo/lib/libsaxpy.a",
            "demo/lib/pkgconfig/saxpy.pc",
        ]
        assert "demo-1.0.dist-info/setuptools_cuda.json" in names

    @pytest.mark.parametrize("keyword", ["kernel_modules", "cuda_libraries"])
    def test_a_keyword_with_something_else_in_it(
        self, installation: Installation, tmp_path: Path, keyword: str
    ) -> None:
        project = make(tmp_path, f"from setuptools import setup\nsetup({keyword}=['src/saxpy.cu'])\n")
        done = installation.run("setup.py", "--version", cwd=project)
        assert done.status == 1
        assert f"{keyword!r} has to be a list of setuptools_cuda." in done.output
        assert "Traceback" not in done.output

    def test_a_plain_extension_with_a_cuda_source(self, installation: Installation, tmp_path: Path) -> None:
        setup = (
            "from setuptools import Extension, setup\n"
            "setup(ext_modules=[Extension('demo._native', ['src/bind.cpp', 'src/saxpy.cu'],\n"
            "      define_macros=[('ANSWER', '7')], extra_compile_args=['-O1'])])\n"
        )
        assert answer(installation, make(tmp_path, setup)) == "7"

    def test_an_extension_of_pyproject(self, installation: Installation, tmp_path: Path) -> None:
        entry = '\n[[tool.setuptools.ext-modules]]\nname = "demo._native"\nsources = ["src/bind.cpp", "src/saxpy.cu"]\n'
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": PLAIN + entry})
        names = wheel_names(installation.wheel(project, CUDAARCHS="80"))
        assert [name for name in names if name.startswith("demo/_native")]

    def test_table_and_setup_py_side_by_side(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE + "setup(ext_modules=[extension])\n"
        table = EXTENSION.replace("demo._native", "demo._table").replace("src/*", "table/*")
        files = {"table/bind.cpp": BIND_CPP.replace("_native", "_table"), "table/saxpy.cu": SAXPY_CU}
        project = make(tmp_path, setup, text=pyproject(table), **files)
        names = wheel_names(installation.wheel(project))
        assert len([name for name in names if name.startswith(("demo/_native", "demo/_table"))]) == 2

    def test_ext_package_is_put_before_the_name(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE.replace("demo._native", "_native") + "setup(ext_package='demo', ext_modules=[extension])\n"
        assert answer(installation, make(tmp_path, setup)) == "42"


class TestCommands:
    """A command class of the project keeps the last word."""

    def test_edits_before_super_are_seen(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE + (
            "from setuptools.command.build_ext import build_ext\n"
            "class mine(build_ext):\n"
            "    def build_extensions(self):\n"
            "        self.compiler.compiler_so_cxx.append('-DFROM_COMPILER')\n"
            "        for ext in self.extensions:\n"
            "            ext.define_macros.append(('ANSWER', '8'))\n"
            "        super().build_extensions()\n"
            "setup(ext_modules=[extension], cmdclass={'build_ext': mine})\n"
        )
        bind = "#ifndef FROM_COMPILER\n#error\n#endif\n" + BIND_CPP
        assert answer(installation, make(tmp_path, setup, **{"src/bind.cpp": bind})) == "8"

    def test_edits_of_one_extension_at_a_time_are_seen(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE + (
            "from setuptools.command.build_ext import build_ext\n"
            "other = CudaExtension('demo._other', ['other/bind.cpp', 'src/saxpy.cu'])\n"
            "class mine(build_ext):\n"
            "    def build_extension(self, ext):\n"
            "        ext.define_macros.append(('ANSWER', '9'))\n"
            "        super().build_extension(ext)\n"
            "setup(ext_modules=[extension, other], cmdclass={'build_ext': mine})\n"
        )
        project = make(tmp_path, setup, **{"other/bind.cpp": BIND_CPP.replace("_native", "_other")})
        assert answer(installation, project, "demo._native", "demo._other") == "9 9"

    def test_a_class_named_in_pyproject(self, installation: Installation, tmp_path: Path) -> None:
        # setuptools replaces dist.cmdclass when it reads this, which is after our hook.
        text = pyproject(EXTENSION).replace(
            "[tool.setuptools]\n", '[tool.setuptools]\ncmdclass = { build_ext = "mine.build_ext" }\n'
        )
        mine = (
            "from setuptools.command import build_ext as original\n"
            "class build_ext(original.build_ext):\n"
            "    def run(self):\n"
            "        print('mine runs', self.get_command_name(), self.parallel)\n"
            "        super().run()\n"
        )
        bind = "#ifndef FROM_OPTION\n#error no FROM_OPTION\n#endif\n" + BIND_CPP
        files = {**EXTENSION_FILES, "pyproject.toml": text, "mine.py": mine, "src/bind.cpp": bind}
        project = write_project(tmp_path, files)
        settings = {"--build-option": ["build_ext", "-j4", "--define=FROM_OPTION"]}
        _, said = installation.made("build_wheel", project, settings=settings, PYTHONPATH=str(project))
        assert "mine runs build_ext 4" in said
        assert [name for name in wheel_names(next((project / "dist").glob("*.whl"))) if name.endswith(".so")]

    def test_cythons_command_class(self, installation: Installation, tmp_path: Path) -> None:
        setup = (
            "from Cython.Build import build_ext\n"
            + ONE
            + "setup(ext_modules=[extension], cmdclass={'build_ext': build_ext})\n"
        )
        assert answer(installation, make(tmp_path, setup)) == "42"

    def test_options_of_the_command_reach_the_compiler(self, installation: Installation, tmp_path: Path) -> None:
        text = pyproject(EXTENSION + '\n[tool.distutils.build_ext]\ndefine = "FROM_TABLE"\nparallel = 2\n')
        bind = "#ifndef FROM_TABLE\n#error no FROM_TABLE\n#endif\n" + BIND_CPP
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": text, "src/bind.cpp": bind})
        assert installation.wheel(project).exists()

    def test_a_library_of_setuptools_is_linked(self, installation: Installation, tmp_path: Path) -> None:
        setup = "from setuptools import setup\nsetup(libraries=[('helper', {'sources': ['helper/helper.c']})])\n"
        bind = BIND_CPP.replace(
            "#ifndef ANSWER\n#define ANSWER 42\n#endif", 'extern "C" int helper(void);\n#define ANSWER helper()'
        )
        files = {"src/bind.cpp": bind, "helper/helper.c": "int helper(void) { return 11; }\n"}
        project = make(tmp_path, setup, text=pyproject(EXTENSION), **files)
        installation.succeed("setup.py", "--quiet", "build_clib", "build_ext", "--inplace", cwd=project)
        assert installation.succeed("-c", "import demo._native as n; print(n.answer())", cwd=project) == "11\n"

    def test_a_changed_extension_of_the_table_is_an_error(self, installation: Installation, tmp_path: Path) -> None:
        setup = (
            "from setuptools import setup\n"
            "from setuptools.command.build_ext import build_ext\n"
            "class mine(build_ext):\n"
            "    def build_extensions(self):\n"
            "        self.extensions[0].extra_link_args.append('-s')\n"
            "        super().build_extensions()\n"
            "setup(cmdclass={'build_ext': mine})\n"
        )
        done = installation.hook("build_wheel", make(tmp_path, setup, text=pyproject(EXTENSION)))
        assert done.status == 1
        assert "a command of setup.py changed flags of 'demo._native', which the table declares" in done.output

    def test_a_command_that_leaves_ours_out_is_an_error(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE + (
            "from setuptools.command.build_ext import build_ext\n"
            "class mine(build_ext):\n"
            "    def build_extension(self, ext):\n"
            "        pass\n"
            "setup(ext_modules=[extension], cmdclass={'build_ext': mine})\n"
        )
        done = installation.run("setup.py", "build", cwd=make(tmp_path, setup))
        assert done.status == 1
        assert "error: the command build_ext of setup.py did not build demo._native" in done.output


class TestNeighbours:
    def test_cython_by_the_table_and_by_cythonize(self, installation: Installation, tmp_path: Path) -> None:
        pyx = 'cdef extern from *:\n    """\n    extern "C" int launch_count(void);\n    """\n    int launch_count()\n'
        pyx += "def answer(): return 5 + launch_count()\n"
        setup = (
            "from Cython.Build import cythonize\n"
            + ONE.split("extension =", maxsplit=1)[0]
            + "one = CudaExtension('demo.one', ['one.pyx', 'src/saxpy.cu'], language='c++', std='c++17')\n"
            "setup(ext_modules=cythonize([one], language_level=3))\n"
        )
        table = (
            TABLE
            + '\n[[tool.setuptools-cuda.extension]]\nname = "demo.two"\nsources = ["two.pyx", "src/saxpy.cu"]\n'
            + 'std = "c++17"\n'
        )
        project = make(tmp_path, setup, text=pyproject(table), **{"one.pyx": pyx, "two.pyx": pyx})
        assert answer(installation, project, "demo.one", "demo.two") == "5 5"

    def test_cffi(self, installation: Installation, tmp_path: Path) -> None:
        build = (
            "import cffi\nffi = cffi.FFI()\nffi.cdef('int six(void);')\n"
            "ffi.set_source('demo._cffi', 'int six(void) { return 6; }')\n"
        )
        setup = "from setuptools import setup\nsetup(cffi_modules=['build_cffi.py:ffi'])\n"
        project = make(tmp_path, setup, text=pyproject(EXTENSION), **{"build_cffi.py": build})
        assert answer(installation, project) == "42"
        assert installation.succeed("-c", "from demo._cffi import lib; print(lib.six())", cwd=project) == "6\n"

    def test_extensions_that_are_not_ours(self, installation: Installation, tmp_path: Path) -> None:
        plain = (
            BIND_CPP.replace("_native", "_plain")
            .replace('extern "C" int', "static int")
            .replace("launch_count(void);", "launch_count(void) { return 3; }")
        )
        setup = (
            "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('demo._plain', ['plain.cpp'])])\n"
        )
        project = make(tmp_path, setup, text=pyproject(EXTENSION), **{"plain.cpp": plain})
        assert answer(installation, project) == "42"
        assert installation.succeed("-c", "import demo._plain as n; print(n.count())", cwd=project) == "3\n"


class TestFailures:
    BROKEN = "__global__ void broken() { undeclared(); }\n"

    def test_an_optional_extension_is_a_warning(self, installation: Installation, tmp_path: Path) -> None:
        table = (EXTENSION + EXTENSION.removeprefix(TABLE)).replace(
            '"demo._native"', '"demo._broken"\noptional = true', 1
        )
        text = pyproject(table.replace('"src/*.cu"', '"broken.cu"', 1))
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": text, "broken.cu": self.BROKEN})
        name, said = installation.made("build_wheel", project)
        assert 'building extension "demo._broken" failed' in said
        assert "undeclared" in said
        modules = [one for one in wheel_names(project / "dist" / str(name)) if one.endswith(".so")]
        assert [one.split(".")[0] for one in modules] == ["demo/_native"]

    @pytest.mark.parametrize("backend", ["setuptools_cuda.build_meta", "setuptools.build_meta"])
    def test_any_other_ends_the_build(self, installation: Installation, tmp_path: Path, backend: str) -> None:
        text = pyproject(EXTENSION, backend=backend)
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": text, "src/saxpy.cu": self.BROKEN})
        done = installation.hook("build_wheel", project)
        assert done.status == 1
        assert "src/saxpy.cu" in done.output.rpartition("error: ")[0]
        assert "Traceback" not in done.output
        assert "error: error:" not in done.output

    def test_a_missing_toolkit_is_no_failure_of_an_optional_extension(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        text = pyproject(EXTENSION + "optional = true\n")
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": text})
        done = installation.hook("build_wheel", project, CUDA_HOME="/nowhere")
        assert done.status == 1
        assert "/nowhere" in done.output
        assert "Traceback" not in done.output

    @pytest.mark.parametrize("command", ["--version", "sdist", "egg_info"])
    def test_a_wrong_table_is_told_at_once(self, installation: Installation, tmp_path: Path, command: str) -> None:
        text = pyproject(EXTENSION.replace("architectures", "architecture") + 'librarys = ["m"]\n')
        project = make(tmp_path, "import setuptools\nsetuptools.setup()\n", text=text)
        done = installation.run("setup.py", command, cwd=project)
        assert done.status == 1
        assert "did you mean 'architectures'?" in done.output
        assert "did you mean 'libraries'?" in done.output
        assert "Traceback" not in done.output


class TestLimitedApi:
    CHECK = "#if !defined(Py_LIMITED_API) || Py_LIMITED_API != 0x030b0000\n#error no limited API\n#endif\n"

    def build(self, installation: Installation, root: Path, *, setup: str, text: str = PLAIN) -> Path:
        files = {"src/bind.cpp": self.CHECK + BIND_CPP}
        return installation.wheel(make(root, setup, text=text, **files), CUDAARCHS="80")

    def check(self, wheel: Path) -> None:
        assert wheel.name == "demo-1.0-cp311-abi3-linux_x86_64.whl"
        assert [name for name in wheel_names(wheel) if name.endswith(".so")] == ["demo/_native.abi3.so"]

    def test_the_table_decides_suffix_macro_and_tag(self, installation: Installation, tmp_path: Path) -> None:
        setup = "import setuptools\nsetuptools.setup()\n"
        self.check(
            self.build(installation, tmp_path, setup=setup, text=pyproject(EXTENSION + 'limited-api = "cp311"\n'))
        )

    def test_a_word_of_setup_py(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE.replace('.cu"])', '.cu"], limited_api="cp311")') + "setup(ext_modules=[extension])\n"
        self.check(self.build(installation, tmp_path, setup=setup))

    def test_setuptools_own_words(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE.replace('.cu"])', '.cu"], py_limited_api=True)') + (
            "setup(ext_modules=[extension], options={'bdist_wheel': {'py_limited_api': 'cp311'}})\n"
        )
        self.check(self.build(installation, tmp_path, setup=setup))

    def test_setuptools_own_word_without_a_tag(self, installation: Installation, tmp_path: Path) -> None:
        setup = ONE.replace('.cu"])', '.cu"], py_limited_api=True)') + "setup(ext_modules=[extension])\n"
        done = installation.hook("build_wheel", make(tmp_path, setup))
        assert done.status == 1
        assert "demo._native has py_limited_api=True, and nothing says which version's" in done.output

    def test_a_newer_tag_than_the_interpreter(self, installation: Installation, tmp_path: Path) -> None:
        text = pyproject(EXTENSION + 'limited-api = "cp399"\n')
        project = write_project(tmp_path, {**EXTENSION_FILES, "pyproject.toml": text})
        name, said = installation.made("build_wheel", project)
        assert "abi3" not in str(name)
        assert "limited-api = 'cp399' does not hold for Python 3." in said

    def test_contradictions(self, installation: Installation, tmp_path: Path) -> None:
        setup = (
            "from setuptools import Extension, setup\n"
            "from setuptools_cuda import CudaExtension\n"
            "setup(ext_modules=[CudaExtension('demo.a', ['src/saxpy.cu'], limited_api='cp310'),\n"
            "  CudaExtension('demo.b', ['src/saxpy.cu'], limited_api='cp311'),\n"
            "  Extension('demo.c', ['src/bind.cpp'])],\n"
            "  options={'bdist_wheel': {'py_limited_api': 'cp312'}})\n"
        )
        done = installation.hook("prepare_metadata_for_build_wheel", make(tmp_path, setup))
        assert done.status == 1
        assert "extensions of one wheel ask for different versions of the limited API" in done.output
        assert "the extensions ask for cp310, and the option py-limited-api of bdist_wheel for cp312" in done.output
        assert "demo.c does not keep to the limited API" in done.output
        assert "Traceback" not in done.output
