"""Styles that drawings of a page share, as classes of its style sheet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .compact_svg import TAG

FEWEST = 3
"""Elements of one style from which a class is shorter than the style told each time."""

STYLE = re.compile(r' style="([^"]*)"')


def shared_styles(drawings: Sequence[str]) -> dict[str, str]:
    """Styles of several elements, the most frequent first, with the class that stands for each.

    Sizes of text stay with their elements: the style sheet of the page has rules of its own for
    them, which would have precedence over a class.

    Examples
    --------
    >>> shared_styles(['<path style="fill:none"/>' * 3 + '<path style="fill:red"/>'])
    {'fill:none': 's0'}
    """
    found = Counter(
        style for one in drawings for tag in TAG.findall(one) for style in STYLE.findall(tag)
    )
    often = [style for style, n in found.most_common() if n >= FEWEST and "font-size" not in style]
    return {style: f"s{number}" for number, style in enumerate(often)}


def with_classes(svg: str, classes: dict[str, str]) -> str:
    """A drawing whose elements name the class of their style, where there is one.

    Examples
    --------
    >>> with_classes('<path style="fill:none"/><path style="fill:red"/>', {"fill:none": "s0"})
    '<path class="s0"/><path style="fill:red"/>'
    """

    def named(at: re.Match[str]) -> str:
        return f' class="{classes[at[1]]}"' if at[1] in classes else at[0]

    return TAG.sub(lambda tag: STYLE.sub(named, tag[0]), svg)


def rules(classes: dict[str, str]) -> str:
    r"""The rules of the classes, for the style sheet of the page.

    Examples
    --------
    >>> rules({"fill:none": "s0", "fill:red": "s1"})
    '.s0{fill:none}\n.s1{fill:red}'
    """
    return "\n".join(f".{name}{{{style}}}" for style, name in classes.items())
