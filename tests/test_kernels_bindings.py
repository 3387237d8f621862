"""The generated module: what it holds, that it needs nothing, and that editors and mypy understand it."""

from __future__ import annotations

import ast
import builtins
import copy
import importlib.util
import pickle
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setuptools_cuda.errors import Code
from setuptools_cuda.plan.values import KernelFile, KernelModulePlan
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.bindings import check_names, render_bindings, reserved_names, runtime_text
from setuptools_cuda.stage.images import make_images
from setuptools_cuda.stage.kernel_runtime import Kernel, KernelImages, Kernels
from setuptools_cuda.stage.ptx import parse_ptx
from tests.kernels_support import PTX, SOURCE, images_of, plan_image, plan_module, run_nvcc

WORDS = ("sm_80", "sm_90a", "compute_80", "fatbin sm_80 compute_80", "lto_80")


def write_module(plan: KernelModulePlan, *, root: Path) -> Path:
    """Write a package with the module of ``plan`` and its images, and return the module's path."""
    text = render_bindings(plan, images=images_of(plan, root=root))
    path = root / plan.destination
    (path.parent / "__init__.py").touch()
    path.write_text(text, "ascii")
    return path


def load(path: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("demo_kernels_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(tmp_path: Path) -> types.ModuleType:
    return load(write_module(plan_module(*WORDS, sources=("k/a.cu", "k/deep/b.cu")), root=tmp_path))


def test_each_source_is_an_attribute_and_an_entry(module: types.ModuleType) -> None:
    assert list(module.images) == ["k/a.cu", "k/deep/b.cu"]
    assert module.images["k/a.cu"] is module.a
    assert module.images["k/deep/b.cu"] is module.b
    assert module.__all__ == ["NoImageError", "a", "b", "images"]
    assert module.a.source == "k/a.cu"


def test_kernels(module: types.ModuleType) -> None:
    kernels = module.a.kernels
    names = ["saxpy", "_ZN2ns5scaleIfLi3EEEvPT_1P", "_ZN2ns5scaleIdLi3EEEvPT_1P", "_ZN2ns5helloEi"]
    assert list(kernels) == names
    assert [kernel.name for kernel in kernels] == names
    assert len(kernels) == 4
    assert kernels.hello == "_ZN2ns5helloEi"
    assert kernels.hello.demangled == "ns::hello(int)"
    assert [(p.type, p.size, p.alignment) for p in kernels.saxpy.parameters] == [("f32", 4, 4), ("u64", 8, 8)]
    assert type(kernels.saxpy.name) is str
    assert "saxpy" in kernels
    assert not hasattr(kernels, "scale")


@pytest.mark.parametrize(
    "key",
    [
        1,
        -3,
        "_ZN2ns5scaleIfLi3EEEvPT_1P",
        "ns::scale<float, 3>",
        "void ns::scale<float, 3>",
        "void ns::scale<float, 3>(float*, P)",
    ],
)
def test_a_kernel_by_its_names(key: int | str, module: types.ModuleType) -> None:
    assert module.a.kernels[key] == "_ZN2ns5scaleIfLi3EEEvPT_1P"


@pytest.mark.parametrize(
    ("key", "said"),
    [("scale", "no kernel is named 'scale', of: saxpy, void ns::scale<float"), ("", "no kernel is named")],
)
def test_a_name_that_no_kernel_has(key: str, said: str, module: types.ModuleType) -> None:
    with pytest.raises(KeyError, match=said):
        module.a.kernels[key]


def test_images(module: types.ModuleType, tmp_path: Path) -> None:
    cubin, own, ptx, fatbin, ltoir = module.a.images
    assert [image.format for image in module.a.images] == ["cubin", "cubin", "ptx", "fatbin", "ltoir"]
    assert [image.architecture for image in module.a.images] == [
        "sm_80",
        "sm_90a",
        "compute_80",
        "sm_80 compute_80",
        "lto_80",
    ]
    assert [image.isa for image in module.a.images] == [None, None, (9, 0), (9, 0), None]
    assert ptx.file == "kernels_images/k/a.compute_80.ptx"
    assert cubin.path == tmp_path / "demo/kernels_images/k/a.sm_80.cubin"
    assert bytes(own) == own.read_bytes() == b"cubin of k/a.cu"
    assert Path(fatbin).read_bytes() == b"fatbin of k/a.cu"
    assert ptx.size == len(PTX)
    assert module.a.ptx == PTX
    assert module.a.image_for((9, 0), "13.0") is own
    assert ltoir.driver == (13, 0)


def test_values_do_not_change_and_can_be_copied(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (module.a, module.a.images[0], module.a.kernels, module.a.kernels.saxpy.parameters[0]):
        with pytest.raises(AttributeError, match="cannot be changed"):
            value.size = 9
        monkeypatch.setitem(sys.modules, module.__name__, module)
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.deepcopy(value) == value
        assert hash(value) == hash(copy.copy(value))
    assert module.a != module.b
    assert "a.sm_80.cubin" in repr(module.a)


def test_the_text_is_the_same_each_time_and_anywhere(tmp_path: Path) -> None:
    plan = plan_module(*WORDS, sources=("k/a.cu", "k/b.cu"))
    texts = {
        render_bindings(plan, images=images_of(plan, root=tmp_path / name)) for name in ("one", "a longer name", "one")
    }
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


def test_nothing_but_python_is_needed(tmp_path: Path) -> None:
    write_module(plan_module(*WORDS), root=tmp_path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules); import demo.kernels\n"
        "print(sorted(set(sys.modules) - before)); print(demo.kernels.a.image_for(90).read_bytes())"
    )
    command = [sys.executable, "-I", "-S", "-W", "error", "-B", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.stderr == ""
    imported, content = done.stdout.splitlines()
    assert set(ast.literal_eval(imported)) <= {"__future__", "demo", "demo.kernels"}
    assert content == "b'cubin of k/a.cu'"


def test_out_of_a_zip_file(tmp_path: Path) -> None:
    write_module(plan_module(*WORDS), root=tmp_path / "tree")
    archive = tmp_path / "demo.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((tmp_path / "tree").rglob("*.*")):
            file.write(path, path.relative_to(tmp_path / "tree"))
    code = "import demo.kernels as k; print(k.__file__, k.a.ptx.splitlines()[3], bytes(k.a.image_for(90)))"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(archive)})
    assert done.stdout.rstrip() == f"{archive}/demo/kernels.py .version 9.0 b'cubin of k/a.cu'", done.stderr


def test_a_module_without_a_package(tmp_path: Path) -> None:
    plan = plan_module("compute_80")
    (file,) = plan.files
    image = replace(file.images[0], destination="kernels_images/k/a.compute_80.ptx")
    plan = replace(plan, module="kernels", destination="kernels.py", files=(replace(file, images=(image,)),))
    text = render_bindings(plan, images=images_of(plan, root=tmp_path))
    (tmp_path / "kernels.py").write_text(text)
    assert load(tmp_path / "kernels.py").a.ptx == PTX


def test_a_module_without_kernels_and_one_without_sources(tmp_path: Path) -> None:
    empty = ".version 9.0\n.target sm_80\n"
    plan = plan_module("compute_80")
    files = {image.destination: tmp_path / "x.ptx" for file in plan.files for image in file.images}
    (tmp_path / "x.ptx").write_text(empty)
    images = make_images(plan, ptx={plan.files[0].facts: parse_ptx(empty)}, files=files, toolkit=Release(13, 0))
    (tmp_path / "none.py").write_text(render_bindings(plan, images=images))
    assert list(load(tmp_path / "none.py").a.kernels) == []
    (tmp_path / "bare.py").write_text(render_bindings(replace(plan, files=()), images={}))
    assert load(tmp_path / "bare.py").images == {}


def test_ptx_images_tell_their_own_isa(tmp_path: Path) -> None:
    plan = plan_module("compute_75", "compute_100")
    files = {image.destination: tmp_path / "x" for image in plan.files[0].images}
    (tmp_path / "x").touch()
    ptx = {
        plan.files[0].facts: parse_ptx(PTX),
        "b/k/a.compute_75.ptx": parse_ptx(".version 7.0\n.target sm_75\n"),
    }
    images = make_images(plan, ptx=ptx, files=files, toolkit=Release(13, 0))["k/a.cu"].images
    assert [(image.isa, image.driver) for image in images] == [((7, 0), (11, 0)), ((9, 0), (13, 0))]


USE = """\
from demo import kernels
from demo.kernels import Image, Kernel, KernelImages, NoImageError

kernel: Kernel = kernels.a.kernels.saxpy
size: int = kernel.parameters[0].size
image: Image = kernels.images["k/a.cu"].image_for(90)
every: list[KernelImages] = [kernels.a, kernels.max]
reveal_type(kernels.a.kernels.hello)
reveal_type(kernels.a.load())
kernels.a.kernels.helo
"""


def test_mypy_accepts_the_module_and_knows_the_kernels(tmp_path: Path) -> None:
    plan = plan_module(*WORDS, sources=("k/a.cu", "k/max.cu"))
    write_module(plan, root=tmp_path)
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:-1] == [
        'use.py:8: note: Revealed type is "demo.kernels.Kernel"',
        'use.py:9: note: Revealed type is "Any"',
        'use.py:10: error: "_Kernels_a" has no attribute "helo"; maybe "hello"?  [attr-defined]',
    ], done.stderr


@pytest.fixture(scope="module")
def real(toolkit_nvcc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[types.ModuleType]:
    """A module over images that nvcc made."""
    root = tmp_path_factory.mktemp("real")
    plan = plan_module("sm_90a", "compute_80", "fatbin sm_80 sm_90 compute_90")
    (root / "a.cu").write_text(SOURCE)
    (root / "demo/kernels_images/k").mkdir(parents=True)
    files, ptx = {}, {}
    options = {
        "cubin": ["-cubin", "-arch=sm_90a"],
        "ptx": ["-ptx", "-arch=compute_80"],
        "fatbin": [
            "-fatbin",
            *(f"-gencode=arch=compute_{n},code=[sm_{n}{',compute_90' * (n == 90)}]" for n in (80, 90)),
        ],
    }
    for image in plan.files[0].images:
        run_nvcc(toolkit_nvcc, *options[image.format], "a.cu", "-o", image.destination, cwd=root)
        files[image.destination] = root / image.destination
        if image.format == "ptx":
            ptx[plan.files[0].facts] = ptx[image.file] = parse_ptx(files[image.destination].read_text())
    images = make_images(plan, ptx=ptx, files=files, toolkit=Release(ptx[plan.files[0].facts].isa[0] + 4, 0))
    (root / "demo/kernels.py").write_text(render_bindings(plan, images=images))
    return load(root / "demo/kernels.py")


def test_images_that_nvcc_made(real: types.ModuleType) -> None:
    assert real.a.kernels.mixed.demangled == "mixed(Q, bool, short, P, long long*)"
    assert [p.size for p in real.a.kernels.mixed.parameters] == [32, 1, 2, 24, 8]
    assert real.a.kernels["ns::scale<double, -4>"].name == "_ZN2ns5scaleIdLin4EEEvPT_1P"
    cubin = real.a.image_for((9, 0))
    assert (cubin.format, bytes(cubin)[:4]) == ("cubin", b"\x7fELF")
    assert all(kernel.name.encode() in bytes(cubin) for kernel in real.a.kernels)
    assert real.a.image_for((8, 0)).format == "fatbin"
    assert bytes(real.a.image_for((8, 0)))[:4] == bytes.fromhex("50ed55ba")
    assert [image.size for image in real.a.images] == [len(bytes(image)) for image in real.a.images]
    assert parse_ptx(real.a.ptx).target == "sm_80"


# what could break a string, a docstring or a class body
AWKWARD = [
    'k/"quoted".cu',
    "k/it's.cu",
    "k/back\\slash.cu",
    'k/""".cu',
    "k/caf\u00e9 \U0001f600.cu",
    "k/new\nline.cu",
    "k/\udce9.cu",
]


@pytest.mark.parametrize("source", AWKWARD)
def test_awkward_names(source: str, tmp_path: Path) -> None:
    plan = plan_module("compute_80")
    file = replace(plan.files[0], source=source)
    (tmp_path / "m.py").write_text(
        render_bindings(replace(plan, files=(file,)), images=images_of(replace(plan, files=(file,)), root=tmp_path)),
        "ascii",
    )
    assert list(load(tmp_path / "m.py").images) == [source]


kernel_names = st.one_of(
    st.sampled_from(
        ["class", "None", "__init__", "__kernels", "_set", "Kernel", "saxpy", "_Kernels__kernels", "print", "self"]
    ),
    st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_$]{0,20}\Z"),
)


@settings(max_examples=40)
@given(st.lists(kernel_names, unique=True, max_size=5), st.text(max_size=20))
def test_any_kernel_names(names: list[str], source: str) -> None:
    ptx = ".version 9.0\n.target sm_80\n" + "".join(f".entry {name}(.param .u32 a) {{ }}\n" for name in names)
    facts = parse_ptx(ptx) if all(len(name) > 1 or name.isalpha() for name in names) else None
    plan = replace(plan_module("compute_80"), files=(KernelFile(source, "a", "facts", ()),))
    if facts is not None:
        images = make_images(plan, ptx={"facts": facts}, files={}, toolkit=Release(13, 0))
        namespace: dict[str, object] = {"__name__": "m"}
        exec(compile(render_bindings(plan, images=images), "m.py", "exec"), namespace)
        made = namespace["a"]
        assert list(made.kernels) == names  # type: ignore[attr-defined]
        assert all(getattr(made.kernels, k.attribute) == k for k in made.kernels if k.attribute)  # type: ignore[attr-defined]


def test_names_that_a_module_cannot_have() -> None:
    files = [("class", "it is no name in Python"), ("images", "the module uses that name itself")]
    files += [("Kernel", "the module uses that name itself"), ("tuple", "the module uses that name itself")]
    files += [("a-b", "it is no name in Python"), ("__x", "the module uses that name itself")]
    files += [("twice", "another source of the module has that name too")] * 2
    plan = plan_module()
    plan = replace(plan, files=tuple(KernelFile(f"k/{n}.cu", name, "", ()) for n, (name, _) in enumerate(files)))
    problems = check_names(plan)
    assert [problem.details for problem in problems] == [(("because", reason),) for _, reason in files]
    assert {problem.code for problem in problems} == {Code.BAD_NAME}
    assert (
        check_names(plan_module("sm_80", sources=("max.cu", "sum.cu", "sort.cu", "reduce.cu", "load.cu", "kernels.cu")))
        == []
    )


def test_every_name_that_the_module_binds_or_calls_is_reserved() -> None:
    namespace: dict[str, object] = {"__name__": "m"}
    exec(compile(runtime_text(), "m.py", "exec"), namespace)
    bound = set(namespace) - {"__name__", "__builtins__", "__annotations__"}
    assert bound <= reserved_names()
    likely = {
        "max",
        "min",
        "sum",
        "sorted",
        "filter",
        "map",
        "hash",
        "pow",
        "abs",
        "round",
        "all",
        "any",
        "zip",
        "print",
    }
    assert not likely & reserved_names()
    assert {"str", "int", "isinstance"} <= reserved_names() & set(dir(builtins))


def test_a_kernel_is_its_name() -> None:
    kernel = Kernel("k")
    assert kernel == "k"
    assert {kernel: 1}["k"] == 1
    assert f"{kernel}" == "k"
    assert (kernel.demangled, kernel.attribute, kernel.parameters) == ("k", "", ())
    assert repr(Kernels(kernel)) == "Kernels(k)"
    assert isinstance(KernelImages("k.cu", kernels=Kernels(kernel)), KernelImages)


def test_the_plan_of_an_image_names_its_file() -> None:
    assert plan_image("sm_90a").destination == "demo/kernels_images/k/a.sm_90a.cubin"
