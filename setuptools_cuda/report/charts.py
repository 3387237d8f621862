"""Bars that are made of parts, as HTML: what the time went to, and what the bytes are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from setuptools_cuda.report.markup import element, text_element

HUES = 8
"""Colours that parts have, in turn: the classes c0 to c7."""
_LEAST_NAMED = 0.055
"""The share of a bar from which on a part has its name in it."""


def assign_colors(names: Iterable[str], *, plain: str = "") -> Mapping[str, str]:
    """Return a class of colour for each name; ``plain`` has the one of what is of no interest."""
    others = [name for name in dict.fromkeys(names) if name != plain]
    colors = {name: f"c{number % HUES}" for number, name in enumerate(others)}
    return {**colors, plain: "plain"} if plain else colors


def render_bar(parts: Sequence[tuple[str, float, str]], *, top: float, colors: Mapping[str, str], named: bool) -> str:
    """Return a bar of (name, amount, what it shows) parts; ``top`` is the amount of a full width."""
    shown = []
    for name, amount, text in parts:
        share = amount / top if top else 0.0
        label = text_element("span", name) if named and share >= _LEAST_NAMED else ""
        style = f"width:{100 * share:.3f}%"
        shown.append(element("div", label, class_=f"part {colors[name]}", style=style, title=f"{name}: {text}"))
    return element("div", *shown, class_="bar")


def render_legend(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return a legend of (class of colour, name, amount) entries."""
    items = (
        element(
            "li",
            element("span", class_=f"key {color}"),
            text_element("span", name),
            text_element("b", amount) if amount else "",
        )
        for color, name, amount in entries
    )
    return element("ul", *items, class_="legend")
