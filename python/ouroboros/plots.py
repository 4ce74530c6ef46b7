"""The figures of a report: SVG that stands in the page and takes its colours and font from it.

Every function returns the SVG's text, or an empty string where the record has nothing to draw.
Names in a record are hostile: they are shown as they are, never read as mathematics or markup.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullLocator

from ouroboros.verdict import (
    BaselineTiming,
    Calibration,
    Interval,
    TimedCell,
    cell_name,
    harmless,
    timed_baselines,
)

__all__ = ["blocks", "calibration", "forest", "measured", "roofline"]

# Each stands for a colour of the page, so that figures follow its light and dark schemes. The
# page's are those of Okabe and Ito, which people with any colour vision tell apart.
_INK, _MUTED, _RULE = "#010101", "#020202", "#030303"
_DECISIONS = {
    "slower": ("#040404", "<"),
    "ambiguous": ("#050505", "o"),
    "same": ("#010101", "s"),
    "faster": ("#060606", ">"),
}
_VARIABLES = {
    _INK: "var(--ink)",
    _MUTED: "var(--muted)",
    _RULE: "var(--rule)",
    "#040404": "var(--slower)",
    "#050505": "var(--ambiguous)",
    "#060606": "var(--faster)",
    "#ffffff": "var(--paper)",
}
_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_HOLLOW = ("s", "D", "^", "v", "p", "h")

_WIDTH = 7.4
"""Inches, as all figures: the page scales them."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.color": _INK,
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": _MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _RULE,
    "grid.linewidth": 0.5,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.1,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def measured(interval: Interval | None) -> bool:
    """Whether an interval has an estimate that can be drawn, on a logarithmic axis as well."""
    return interval is not None and 1e-9 < interval.estimate < 1e12


def forest(cells: Sequence[TimedCell], *, label: str, name: str) -> str:
    """Draws the ratio against each baseline, a panel for each, with its interval and a line at 1.

    Args:
        cells: In the order of the report's table.
        label: What the figure says, for those who do not see it.
        name: A name that no other figure of the page has.
    """
    names = timed_baselines(cells)
    if not names:
        return ""
    columns = min(3, len(names))
    rows = math.ceil(len(names) / columns)
    with _style(name):
        figure = _figure(rows * (0.75 + 0.24 * len(cells)) + 0.3)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        flat = list(grid.flat)
        for axes, baseline in zip(flat, names, strict=False):
            _forest_panel(axes, cells, baseline)
        for axes in flat[len(names) :]:
            axes.set_visible(False)
        for line in grid:
            line[0].set_yticks(range(len(cells)))
            line[0].set_yticklabels(
                [_cut(f"{n}  {cell_name(cell)}", 36) for n, cell in enumerate(cells, 1)]
            )
        flat[0].set_ylim(len(cells) - 0.4, -0.6)
        figure.legend(
            handles=[_marker(*_DECISIONS[one], hollow=one == "ambiguous") for one in _DECISIONS],
            labels=list(_DECISIONS),
            loc="outside lower center",
            ncols=len(_DECISIONS),
        )
        return _inline(figure, label, name)


def _forest_panel(axes: Axes, cells: Sequence[TimedCell], baseline: str) -> None:
    ends = [1.0]
    for row, cell in enumerate(cells):
        one = _timed(cell, baseline)
        if one is None or not measured(one.speedup):
            axes.text(1.0, row, " not timed", va="center", fontsize=7, color=_MUTED)
            continue
        low, estimate, high = _drawn(one.speedup)
        ends += [low, high]
        colour, shape = _DECISIONS.get(one.decision, _DECISIONS["ambiguous"])
        axes.plot([low, high], [row, row], color=colour, linewidth=1.4, solid_capstyle="butt")
        hollow = one.decision not in ("slower", "same", "faster")
        axes.plot([estimate], [row], **_face(colour, shape, hollow, 5.5))
    axes.axvline(1.0, color=_INK, linewidth=0.9)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.spines["left"].set_visible(False)
    axes.set_title(_cut(f"against {baseline}", 34))
    _ratio_axis(axes, "x", ends)


def roofline(
    cells: Sequence[TimedCell], calibration: Calibration | None, *, label: str, name: str
) -> str:
    """Draws achieved rates against bytes, with the measured copies and the rate of the pins.

    Args:
        cells: In the order of the report's table, whose numbers the points have.
        calibration: Where the curves come from; None draws the points alone.
        label: What the figure says, for those who do not see it.
        name: A name that no other figure of the page has.
    """
    points = [
        (number, cell)
        for number, cell in enumerate(cells, 1)
        if cell.bytes_min > 0 and measured(cell.latency_us)
    ]
    if not points:
        return ""
    with _style(name):
        figure = _figure(3.7)
        axes = figure.subplots()
        sizes = [float(cell.bytes_min) for _, cell in points]
        handles: list[tuple[Line2D, str]] = []
        if calibration is not None:
            drawn = _copy_curve(axes, calibration)
            sizes += drawn.sizes
            handles += drawn.handles
            if 0 < calibration.peak_gbps < 1e9:
                axes.annotate(
                    f"peak of the memory, {calibration.peak_gbps:,.0f} GB/s",
                    (0.01, calibration.peak_gbps),
                    xycoords=("axes fraction", "data"),
                    xytext=(0, 3),
                    textcoords="offset points",
                    fontsize=7.5,
                )
        for shape, baseline in zip(_HOLLOW, timed_baselines(cells), strict=False):
            found = False
            for _, cell in points:
                one = _timed(cell, baseline)
                if one is not None and measured(one.latency_us):
                    rate = cell.bytes_min / one.latency_us.estimate / 1e3
                    axes.plot([cell.bytes_min], [rate], **_face(_MUTED, shape, True, 5.0))
                    found = True
            if found:
                handles.append((_marker(_MUTED, shape, hollow=True), f"baseline {baseline}"))
        for number, cell in points:
            rate = cell.bytes_min / cell.latency_us.estimate / 1e3
            colour, shape = _DECISIONS.get(cell.standing, (_INK, "o"))
            axes.plot(
                [cell.bytes_min],
                [rate],
                **_face(colour, shape, cell.standing == "ambiguous", 6.0),
            )
            axes.annotate(
                str(number),
                (cell.bytes_min, rate),
                xytext=(5, 4),
                textcoords="offset points",
                fontsize=7.5,
            )
        for standing in dict.fromkeys(cell.standing for _, cell in points):
            colour, shape = _DECISIONS.get(standing, (_INK, "o"))
            hollow = standing == "ambiguous"
            handles.append((_marker(colour, shape, hollow=hollow), f"candidate, {standing}"))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("GB/s (compulsory bytes over time)")
        axes.set_xlabel("compulsory bytes")
        _bytes_axis(axes, sizes)
        figure.legend(
            handles=[handle for handle, _ in handles],
            labels=[_cut(text, 34) for _, text in handles],
            loc="outside lower center",
            ncols=4,
        )
        return _inline(figure, label, name)


class _Curves(NamedTuple):
    """What `_copy_curve` drew."""

    sizes: list[float]
    handles: list[tuple[Line2D, str]]


def _copy_curve(axes: Axes, calibration: Calibration) -> _Curves:
    """Draws a line for each mix and one for the memory's peak."""
    mixes: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for point in calibration.copy_curve:
        if point.bytes > 0 and measured(point.gbps):
            mix = mixes.setdefault((point.reads, point.writes), [])
            mix.append((float(point.bytes), point.gbps.estimate))
    drawn = _Curves([], [])
    for number, ((reads, writes), curve) in enumerate(sorted(mixes.items())):
        curve.sort()
        (line,) = axes.plot(
            [size for size, _ in curve],
            [rate for _, rate in curve],
            color=_MUTED,
            linestyle=_DASHES[number % len(_DASHES)],
            marker=".",
            markersize=3.5,
        )
        drawn.sizes.extend(size for size, _ in curve)
        drawn.handles.append((line, f"copy, {reads}:{writes}"))
    if 0 < calibration.peak_gbps < 1e9:
        axes.axhline(calibration.peak_gbps, color=_INK, linewidth=0.9)
        axes.set_ylim(0, calibration.peak_gbps * 1.1)
    return drawn


def blocks(cell: TimedCell, *, label: str, name: str) -> str:
    """Draws the ratio of every block, in order and as a histogram, for each baseline of a cell.

    Args:
        cell: The cell.
        label: What the figure says, for those who do not see it.
        name: A name that no other figure of the page has.
    """
    drawn = [
        (one, ratios)
        for one in cell.baselines
        if one.status == "timed" and len(ratios := _block_ratios(one)) > 1
    ]
    if not drawn:
        return ""
    columns, height = 3, 1.75
    full = height * math.ceil(len(drawn) / columns)
    with _style(name):
        # Places in inches, the same for all cells: a layout for each would take most of the time.
        figure = Figure(figsize=(_WIDTH, full))

        def place(left: float, bottom: float, width: float) -> Axes:
            inside = (left / _WIDTH, bottom / full, width / _WIDTH, 1.06 / full)
            return figure.add_axes(inside)

        for number, (one, ratios) in enumerate(drawn):
            row, column = divmod(number, columns)
            left, bottom = 0.5 + 2.46 * column, full - height * (row + 1) + 0.45
            panels = place(left, bottom, 1.4), place(left + 1.47, bottom, 0.42)
            _block_panel(*panels, one, ratios)
        return _inline(figure, label, name)


def _block_panel(
    order: Axes, histogram: Axes, one: BaselineTiming, ratios: Sequence[float]
) -> None:
    colour, _ = _DECISIONS.get(one.decision, _DECISIONS["ambiguous"])
    ends = list(ratios)
    raw = one.speedup_raw.estimate if measured(one.speedup_raw) else None
    if measured(one.speedup):
        low, estimate, high = _drawn(one.speedup)
        ends += [low, high]
        for axes in (order, histogram):
            axes.axhspan(low, high, color=colour, alpha=0.18, linewidth=0)
            axes.axhline(estimate, color=colour, linewidth=1.0)
    near = (max(ends) / min(ends)) ** 1.5
    for level, style in ((1.0, {"color": _INK}), (raw, {"color": _MUTED, "dashes": (2, 2)})):
        # One far away would press the blocks into a line.
        if level is not None and min(ends) / near <= level <= max(ends) * near:
            order.axhline(level, linewidth=0.9, **style)
            ends.append(level)
    order.plot(range(1, len(ratios) + 1), ratios, ".", color=_INK, markersize=2.6)
    order.set_title(_cut(f"against {one.name}", 30))
    order.set_xlabel("block")
    order.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    low_end, high_end = _ratio_axis(order, "y", ends)
    bins = min(24, max(6, round(math.sqrt(len(ratios)) * 1.5)))
    step = math.log(high_end / low_end) / bins
    edges = [low_end * math.exp(step * k) for k in range(bins + 1)]
    histogram.hist(ratios, bins=edges, orientation="horizontal", color=_MUTED, alpha=0.75)
    histogram.set_yscale("log")
    histogram.set_ylim(low_end, high_end)
    histogram.yaxis.set_major_locator(NullLocator())
    histogram.yaxis.set_minor_locator(NullLocator())
    histogram.xaxis.set_major_locator(MaxNLocator(2, integer=True))
    histogram.set_xlabel("blocks")
    histogram.grid(False)


def calibration(record: Calibration, *, label: str, name: str) -> str:
    """Draws what the clock is worth: copies, launches, flushes, dirty and clean caches, A/A.

    Args:
        record: The calibration.
        label: What the figure says, for those who do not see it.
        name: A name that no other figure of the page has.
    """
    copies = [
        ("after writes", record.dirty_copy_us),
        ("clean flush", record.clean_copy_us),
        ("behind itself", record.hot_copy_us),
    ]
    panels: list[Callable[[Axes], None]] = []
    if any(measured(point.gbps) for point in record.copy_curve):
        panels.append(lambda axes: _curve_panel(axes, record))
    if any(measured(one.read_us) for one in record.flush_sizes):
        panels.append(lambda axes: _flush_panel(axes, record))
    if any(measured(one) for _, one in copies):
        panels.append(lambda axes: _dots(axes, "the same copy, cache as left", copies, "\u00b5s"))
    for title, costs in (
        ("what a launch adds to a kernel", record.launch_us),
        ("the gap between two kernels", record.gap_us),
        ("an empty kernel", record.empty_us),
    ):
        if any(measured(one) for one in costs.values()):
            ways = sorted(costs.items())
            panels.append(partial(_dots, title=title, rows=ways, unit="\u00b5s"))
    if measured(record.aa_speedup):
        panels.append(lambda axes: _same_panel(axes, record.aa_speedup))
    if not panels:
        return ""
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    with _style(name):
        figure = _figure(1.9 * rows)
        flat = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes, draw in zip(flat, panels, strict=False):
            draw(axes)
        for axes in flat[len(panels) :]:
            axes.set_axis_off()
        return _inline(figure, label, name)


def _curve_panel(axes: Axes, record: Calibration) -> None:
    drawn = _copy_curve(axes, record)
    axes.set_ylim(bottom=0)
    axes.set_title("copies, GB/s by reads:writes")
    axes.legend(
        handles=[handle for handle, _ in drawn.handles],
        labels=[text for _, text in drawn.handles],
        loc="lower right",
    )
    _bytes_axis(axes, drawn.sizes, most=3)


def _flush_panel(axes: Axes, record: Calibration) -> None:
    sizes = [(float(one.bytes), one.read_us) for one in record.flush_sizes if measured(one.read_us)]
    for size, copy in sizes:
        low, estimate, high = _drawn(copy)
        axes.plot([size, size], [low, high], color=_MUTED)
        axes.plot([size], [estimate], **_face(_INK, "o", False, 4.0))
    if record.flush_bytes > 0:
        axes.axvline(record.flush_bytes, color=_MUTED, linestyle=(0, (2, 2)), linewidth=0.9)
    axes.set_title("cold read by flush size, \u00b5s")
    _bytes_axis(axes, [size for size, _ in sizes if size > 0] + [float(record.flush_bytes)], most=3)


def _same_panel(axes: Axes, ratio: Interval) -> None:
    low, estimate, high = _drawn(ratio)
    axes.plot([low, high], [0, 0], color=_INK, linewidth=1.4)
    axes.plot([estimate], [0], **_face(_INK, "s", False, 4.5))
    axes.axvline(1.0, color=_INK, linewidth=0.9)
    axes.set_ylim(-1, 1)
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.set_title(f"A/A, a copy against itself: {estimate:.4f}\u00d7")
    _ratio_axis(axes, "x", [1.0, low, high])


def _dots(axes: Axes, title: str, rows: Sequence[tuple[str, Interval]], unit: str) -> None:
    """One line for each name: an estimate with its interval and its figure."""
    shown = [(name, one) for name, one in rows if measured(one)]
    for row, (_, one) in enumerate(shown):
        low, estimate, high = _drawn(one)
        axes.plot([low, high], [row, row], color=_MUTED, linewidth=1.4)
        axes.plot([estimate], [row], **_face(_INK, "o", False, 4.0))
        axes.annotate(
            f"{estimate:.4g} {unit}",
            (estimate, row),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
        )
    axes.set_yticks(range(len(shown)))
    axes.set_yticklabels([_cut(name, 16) for name, _ in shown])
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.grid(False, axis="y")
    axes.set_ylim(len(shown) - 0.5, -0.8)
    axes.set_xlim(left=0)
    axes.margins(x=0.22)
    axes.set_title(f"{title}, {unit}")


def _timed(cell: TimedCell, name: str) -> BaselineTiming | None:
    return next((one for one in cell.baselines if one.name == name and one.status == "timed"), None)


def _block_ratios(one: BaselineTiming) -> list[float]:
    return [math.exp(-value) for value in one.block_log_ratios if abs(value) < 20]


def _drawn(interval: Interval) -> tuple[float, float, float]:
    """Ends that fit on an axis: an interval without a bound is cut off far outside."""
    low, estimate, high = interval.low, interval.estimate, interval.high
    low = max(low, estimate / 4) if low <= estimate else estimate
    high = min(high, estimate * 4) if high >= estimate else estimate
    return low, estimate, high


def _cut(text: str, limit: int) -> str:
    text = harmless(text).replace("\n", " ").replace("\t", " ")
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


def _face(colour: str, shape: str, hollow: bool, size: float) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": shape,
        "markersize": size,
        "markeredgecolor": colour,
        "markerfacecolor": "#ffffff" if hollow else colour,
        "markeredgewidth": 1.2,
    }


def _marker(colour: str, shape: str, *, hollow: bool) -> Line2D:
    return Line2D([], [], **_face(colour, shape, hollow, 5.5))


def _ratio_axis(axes: Axes, which: str, values: Sequence[float]) -> tuple[float, float]:
    """A logarithmic axis of ratios with a few plain figures; returns its ends."""
    spread = max(max(values) / min(values), 1.004)
    low, high = min(values) / spread**0.08, max(values) * spread**0.08
    if spread > 4:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
        if spread > 100:
            ticks = [10.0**power for power in decades]
    else:
        ticks = list(MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high))
    ticks = [tick for tick in ticks if low <= tick <= high]
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if spread <= 4 else None
    texts = [f"{tick:g}" if digits is None else f"{tick:.{digits}f}" for tick in ticks]
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter([f"{text}\u00d7" for text in texts]))
    axis.set_minor_locator(NullLocator())
    return low, high


def _bytes_axis(axes: Axes, sizes: Sequence[float], most: int = 6) -> None:
    """A logarithmic axis of bytes with ticks at powers of two."""
    positive = [size for size in sizes if size > 0] or [1.0]
    low, high = min(positive) / 1.3, max(positive) * 1.3
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, math.ceil((last - first + 1) / most))
    powers = list(range(first + (-first) % step, last + 1, step)) or [first]
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([2.0**power for power in powers]))
    axes.xaxis.set_major_formatter(FixedFormatter([_bytes_text(power) for power in powers]))
    axes.xaxis.set_minor_locator(NullLocator())


def _bytes_text(power: int) -> str:
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    unit = min(max(power // 10, 0), len(units) - 1)
    return f"{2.0 ** (power - 10 * unit):g} {units[unit]}"


@contextmanager
def _style(name: str) -> Iterator[None]:
    """Nothing of the user's own settings, nothing random, no complaints about missing glyphs."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        settings: Any = {**_STYLE, "svg.hashsalt": name}
        matplotlib.rcParams.update(settings)
        yield


def _figure(height: float) -> Figure:
    return Figure(figsize=(_WIDTH, height), layout="constrained")


_XLINK = "{http://www.w3.org/1999/xlink}"
_REFERENCE = re.compile(r"#([\w.-]+)")


def _inline(figure: Figure, label: str, name: str) -> str:
    """The figure as an element of an HTML page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            # Its style sheet would apply to the whole page.
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    used = {
        found
        for element in root.iter()
        for key, value in element.attrib.items()
        if key == f"{_XLINK}href" or "url(#" in value
        for found in _REFERENCE.findall(value)
    }
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = dict(element.attrib)
        element.attrib.clear()
        for key, value in attributes.items():
            if key == "id":
                if value in used:
                    element.set(key, f"{name}-{value}")
                continue
            if key == f"{_XLINK}href":
                key, value = "href", f"#{name}-{value[1:]}"
            elif "url(#" in value:
                value = value.replace("url(#", f"url(#{name}-")
            if key == "style":
                value = _recoloured(value)
            element.set(_local(key), value)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", harmless(label))
    return ElementTree.tostring(root, encoding="unicode")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _recoloured(style: str) -> str:
    for colour, variable in _VARIABLES.items():
        style = style.replace(colour, variable)
    return re.sub(r"font: ([\d.]+px)[^;]*", r"font-size: \1", style)
