from __future__ import annotations

from dataclasses import replace

import pytest

from setuptools_cuda.config.conditions import Facts, holds, parse_condition
from setuptools_cuda.config.model import Condition
from setuptools_cuda.errors import Code

FACTS = Facts(
    platform_system="Linux",
    platform_machine="x86_64",
    python_version=(3, 12),
    variables={"YES": "1", "NO": "off", "TEXT": "abc", "EMPTY": ""},
    cuda="12.8",
    architectures=("75", "90a"),
)


def condition(table: dict[str, object]) -> Condition:
    parsed = parse_condition(table)
    assert parsed.findings == ()
    assert isinstance(parsed.value, Condition)
    return parsed.value


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"platform-system": "Linux"},
        {"platform-system": "linux"},
        {"platform-machine": "x86_64", "platform-system": "Linux"},
        {"python-version": ">=3.12"},
        {"python-version": "==3.12.*"},
        {"python-version": "<3.13,>3.9"},
        {"cuda": True},
        {"cuda": ">=12.4"},
        {"cuda": "==12.8"},
        {"architectures": "90a"},
        {"architectures": "sm_75"},
        {"architectures": "7.5"},
        {"architectures": "<80"},
        {"architectures": ">= 90"},
        {"architectures": "==90"},
        {"env.YES": True},
        {"env.NO": False},
        {"env.EMPTY": False},
        {"env.UNSET": False},
        {"env.TEXT": True},
        {"env.TEXT": "abc"},
        {"env": {"TEXT": "abc", "UNSET": False}},
        {"env.UNSET": ""},
    ],
)
def test_what_holds(table: dict[str, object]) -> None:
    assert holds(condition(table), facts=FACTS)


@pytest.mark.parametrize(
    "table",
    [
        {"platform-system": "Windows"},
        {"platform-system": "Lin"},
        {"platform-machine": "aarch64"},
        {"platform-system": "Linux", "platform-machine": "aarch64"},
        {"python-version": "<3.12"},
        {"cuda": False},
        {"cuda": ">=13"},
        {"architectures": "90"},
        {"architectures": "80"},
        {"architectures": ">90"},
        {"architectures": "<75"},
        {"env.YES": False},
        {"env.NO": True},
        {"env.UNSET": True},
        {"env.TEXT": "ab"},
        {"env": {"TEXT": "abc", "YES": False}},
    ],
)
def test_what_does_not_hold(table: dict[str, object]) -> None:
    assert not holds(condition(table), facts=FACTS)


def test_without_a_toolkit() -> None:
    facts = replace(FACTS, cuda=None, architectures=())
    assert holds(Condition(cuda=False), facts=facts)
    assert not holds(Condition(cuda=True), facts=facts)
    assert not holds(Condition(cuda=">=12"), facts=facts)
    assert not holds(Condition(architectures="<80"), facts=facts)


@pytest.mark.parametrize(
    ("raw", "code", "at"),
    [
        ("Linux", Code.WRONG_TYPE, ""),
        ([], Code.WRONG_TYPE, ""),
        ({"platform": "x"}, Code.UNKNOWN_KEY, ".platform"),
        ({"platform_system": "x"}, Code.UNKNOWN_KEY, ".platform_system"),
        ({"platform-system": 3}, Code.WRONG_TYPE, ".platform-system"),
        ({"platform-system": "win32"}, Code.BAD_VALUE, ".platform-system"),
        ({"platform-machine": ""}, Code.BAD_VALUE, ".platform-machine"),
        ({"python-version": "3.12"}, Code.BAD_VALUE, ".python-version"),
        ({"python-version": True}, Code.WRONG_TYPE, ".python-version"),
        ({"cuda": "12"}, Code.BAD_VALUE, ".cuda"),
        ({"cuda": 12}, Code.WRONG_TYPE, ".cuda"),
        ({"architectures": "new"}, Code.BAD_ARCHITECTURE, ".architectures"),
        ({"architectures": ["80"]}, Code.WRONG_TYPE, ".architectures"),
        ({"env": True}, Code.WRONG_TYPE, ".env"),
        ({"env": {"A": 1}}, Code.WRONG_TYPE, ".env.A"),
        ({"env.A": 1}, Code.WRONG_TYPE, ".env.A"),
        ({"env.": True}, Code.BAD_VALUE, ".env"),
    ],
)
def test_bad_conditions_are_told(raw: object, code: Code, at: str) -> None:
    (finding,) = parse_condition(raw).findings
    assert (finding.code, finding.at) == (code, at)


def test_all_of_a_condition_is_told_at_once() -> None:
    findings = parse_condition({"cuda": 1, "x": 2, "env": {"A": 1, "B": 2}}).findings
    assert len(findings) == 4
