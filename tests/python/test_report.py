"""Reports: what a person reads, and what a hostile verdict cannot do to the page."""

from __future__ import annotations

import importlib
import io
import json
import math
import os
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import ouroboros
import pytest
from ouroboros import guards
from ouroboros.render import timing_table
from ouroboros.report import claims, conclusion, page
from ouroboros.verdict import Verdict, losing_first
from rich.console import Console

ROOT = Path(__file__).parents[2]
OLD = ROOT / "benchmarks" / "results" / "h200" / "verdict_rmsnorm_row.json"
EVIL = "<script>alert(1)</script>"

Record = dict[str, Any]


def interval(estimate: float, width: float = 0.01) -> Record:
    return {
        "estimate": estimate,
        "low": estimate * (1 - width),
        "high": estimate * (1 + width),
    }


def comparison(name: str, ratio: float, decision: str, **changes: Any) -> Record:
    draw = random.Random(f"{name} {ratio}")
    return {
        "name": name,
        "status": "timed",
        "reason": "",
        "speedup": interval(ratio, 0.006),
        "speedup_raw": interval(1 + (ratio - 1) * 0.93, 0.006),
        "decision": decision,
        "blocks": 64,
        "sign_flip_p": 0.0002,
        "lag1_autocorrelation": 0.05,
        "block_log_ratios": [-math.log(ratio) + draw.gauss(0, 0.012) for _ in range(64)],
        "memory": {"estimate": -0.0004, "low": -0.002, "high": 0.0012},
        "as_called_us": interval(61.25),
        "as_called_speedup": interval(1.125),
        **changes,
    }


def unavailable(name: str, reason: str) -> Record:
    nothing = {"estimate": 0.0, "low": 0.0, "high": 0.0}
    return {
        "name": name,
        "status": "unavailable",
        "reason": reason,
        "latency_us": nothing,
        "speedup": nothing,
        "decision": "",
        "blocks": 0,
        "sign_flip_p": 1.0,
        "lag1_autocorrelation": 0.0,
    }


def timed(rows: int, baselines: list[Record], **changes: Any) -> Record:
    size = rows * 4096 * 8
    for one in baselines:
        if one["status"] == "timed":
            one["latency_us"] = interval((2.0 + size / 4.1e6) * one["speedup"]["estimate"])
    return {
        "dtype": "float32",
        "axes": {"rows": rows, "cols": 4096},
        "bytes_min": size,
        "latency_us": interval(2.0 + size / 4.1e6),
        "bracket_us": interval(4.5 + size / 4.1e6),
        "handover_us": 2.72,
        "variant": "BLOCK=4096 num_warps=8",
        "estimator": "bracket",
        "submission": "gate",
        "samples_checked": 6,
        "samples_total": 131,
        "baselines": baselines,
        "flags": [],
        "floor_us": 1.5 + size / 4.4e6,
        "ceiling_fraction": (1.5 + size / 4.4e6) / (2.0 + size / 4.1e6),
        "peak_fraction": 0.81,
        "placement_sd": 0.0021,
        "clock_mhz": 1972.5,
        "blocks_void": 1,
        "gpu_ms": 24.5,
        "as_called_us": interval(52.5),
        **changes,
    }


def calibration() -> Record:
    curve = [
        {
            "reads": reads,
            "writes": writes,
            "bytes": size << 20,
            "gbps": interval(best * size / (size + 9.0)),
        }
        for reads, writes, best in ((1, 1, 4250.0), (2, 1, 4310.0), (1, 0, 4400.0))
        for size in (1, 4, 16, 64, 256, 1024)
    ]
    return {
        "device": "NVIDIA H200",
        "driver_version": "CUDA 13.0",
        "measured_at": "2026-11-21T18:09:00Z",
        "tick_ns": 32.0,
        "launch_us": {"stream": interval(2.72), "gate": interval(1.66)},
        "gap_us": {"stream": interval(1.58), "gate": interval(1.57)},
        "empty_us": {"stream": interval(4.1), "gate": interval(3.0)},
        "flush_us": interval(31.5),
        "flush_bytes": 100 << 20,
        "flush_sizes": [
            {"bytes": n * (50 << 20), "read_us": interval(t)}
            for n, t in ((1, 6.9), (2, 7.19), (4, 7.2), (8, 7.21))
        ],
        "dirty_copy_us": interval(8.2),
        "clean_copy_us": interval(7.2),
        "hot_copy_us": interval(4.9),
        "globaltimer_step_ns": 32.0,
        "peak_gbps": 4814.0,
        "copy_curve": curve,
        "aa_speedup": {"estimate": 1.0003, "low": 0.9981, "high": 1.0025},
        "notes": ["The bus width comes from the driver and not from a table."],
    }


def gpu_state(**changes: Any) -> Record:
    return {
        "sm_clock_mhz": 1980,
        "sm_clock_max_mhz": 1980,
        "memory_clock_mhz": 3201,
        "power_w": 120.5,
        "power_limit_w": 700.0,
        "temperature_c": 34,
        "slowdowns": [],
        "clocks_locked": False,
        "power_violation_ns": 0,
        "thermal_violation_ns": 0,
        "other_processes": 0,
        "other_busy_percent": 0,
        "shared": False,
        "reason": "",
        **changes,
    }


def record(**changes: Any) -> Record:
    """A verdict from a GPU: four cells, of which one loses."""
    base: Record = json.loads(OLD.read_text(encoding="utf-8"))
    cells = [
        timed(
            4096,
            [
                comparison("eager", 4.7, "faster"),
                comparison("compile", 1.08, "faster"),
            ],
        ),
        timed(
            512,
            [
                comparison("eager", 4.1, "faster"),
                comparison("compile", 0.94, "slower"),
            ],
            flags=["autocorrelated:compile", "a_guard_of_tomorrow:3of64"],
        ),
        timed(
            1024,
            [
                comparison("eager", 4.4, "faster"),
                comparison("compile", 1.004, "ambiguous"),
            ],
            flags=["multimodal"],
        ),
        timed(
            2048,
            [
                comparison("eager", 4.5, "faster"),
                unavailable("compile", "torch.compile needs a C++ compiler"),
            ],
        ),
    ]
    base["timing"] = {
        "ran": True,
        "clock": "device_events",
        "mode": "report",
        "cells": cells,
        "geomean_speedup": {"eager": 4.4198, "compile": 1.00642},
        "calibration": calibration(),
        "gpu_start": gpu_state(),
        "gpu_end": gpu_state(sm_clock_mhz=1905, slowdowns=["sw_power_cap"]),
    }
    return {**base, **changes}


def verdict(**changes: Any) -> Verdict:
    return Verdict.from_json(json.dumps(record(**changes)))


def plain(**changes: Any) -> Verdict:
    """One cell and few figures, for tests of the text around them."""
    one = record(**changes)
    cell = one["timing"]["cells"][0]
    for baseline in cell["baselines"]:
        baseline["block_log_ratios"] = []
    one["timing"] = {**one["timing"], "cells": [cell], "calibration": None}
    return Verdict.from_json(json.dumps(one))


class Page(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def words(text: str) -> str:
    return Page(text).words


@pytest.fixture(scope="module")
def whole() -> str:
    return page([verdict()])


def strings(value: Any) -> Any:
    """Every object of a record, so that its texts can be replaced."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from strings(item)
    if isinstance(value, list):
        for item in value:
            yield from strings(item)


def hostile(evil: str) -> Verdict:
    """A verdict in which everybody says the same thing."""
    one = record()
    one["findings"] = [{"kind": "x", "severity": "note", "stage": "time", "evidence": "x"}]
    one["gate"]["ran"] = True
    one["gate"]["reasons"] = ["x"]
    kept = {"status", "seed", "decision", "severity", "clock"}
    for container in strings(one):
        for key, value in container.items():
            if isinstance(value, str) and key not in kept:
                container[key] = evil
            elif isinstance(value, list) and value and isinstance(value[0], str):
                container[key] = [evil]
    for n, cell in enumerate(one["timing"]["cells"]):
        cell["axes"] = {f"{evil}{n}": 3}
        for k, baseline in enumerate(cell["baselines"]):
            baseline["name"] = f"{evil}{k}"
    one["timing"]["calibration"]["launch_us"] = {evil: interval(2.0)}
    one["timing"]["geomean_speedup"] = {evil: 2.0}
    return Verdict.from_json(json.dumps(one))


def test_what_a_candidate_wrote_is_text_and_nothing_else() -> None:
    text = page([hostile(EVIL + "\"'><img src=x onerror=alert(2)>"), plain(candidate=EVIL)])
    parsed = Page(text)
    assert {"script", "img", "iframe", "object", "link", "base"}.isdisjoint(
        tag for tag, _ in parsed.tags
    )
    assert not [key for _, attributes in parsed.tags for key in attributes if key.startswith("on")]
    assert EVIL in parsed.text
    assert "<script" not in text


def test_names_in_figures_are_escaped_and_no_mathematics() -> None:
    text = page([hostile("$\\frac{a}{$ <b>_x &amp;")])
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(figures) == 3 + 4
    drawn = words("".join(figures))
    assert "$\\frac{a}{$ <b>_x &amp;" in drawn
    assert "<b>" not in "".join(figures)


@pytest.mark.parametrize("evil", ["\u202e\x1b[31m\x07\ufffe\uffff\x00", "\u0416\u4e2d"])
def test_steering_characters_never_reach_the_page(evil: str) -> None:
    text = page([hostile(f"a{evil}b")])
    assert (evil in text) == evil.isalpha()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ufffe\uffff]", text)


def test_the_page_stands_alone(whole: str) -> None:
    parsed = Page(whole)
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes in parsed.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert "script" not in policy
    assert (
        "http:" not in whole
        and "https:" not in whole
        and "//" not in re.sub(r"<details>.*?</details>", "", whole, flags=re.DOTALL)
    )
    assert "@import" not in whole
    for _, attributes in parsed.tags:
        for key in ("href", "src", "xlink:href"):
            assert (attributes.get(key) or "#").startswith("#")
    assert set(re.findall(r"url\((.)", whole)) <= {"#"}


def test_references_inside_the_page_lead_somewhere(whole: str) -> None:
    text = page([plain(), Verdict.load(OLD)])
    ids = [attributes["id"] for _, attributes in Page(text).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used and used <= set(ids)


def test_the_same_verdict_gives_the_same_page(whole: str, tmp_path: Path) -> None:
    import matplotlib

    file = tmp_path / "verdict.json"
    file.write_text(verdict().to_json(), encoding="utf-8")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        path = ouroboros.report(file, tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == whole


def test_figures_can_be_heard_and_take_the_colours_of_the_page(whole: str) -> None:
    figures = [attributes for tag, attributes in Page(whole).tags if tag == "svg"]
    assert len(figures) == 3 + 4
    for attributes in figures:
        assert attributes["role"] == "img"
        assert attributes["aria-label"]
    styles = " ".join(re.findall(r'style="([^"]*)"', whole))
    assert "var(--slower)" in styles
    assert set(re.findall(r"#[0-9a-f]{6}", styles)) == set(), "a colour that has no dark twin"


def test_losing_cells_come_first(whole: str) -> None:
    order = losing_first(verdict().timing.cells)
    assert [cell.standing for cell in order] == ["slower", "ambiguous", "faster", "faster"]
    assert [cell.axes["rows"] for cell in order] == [512, 1024, 4096, 2048]
    table = words(whole)
    places = [table.index(f"float32 rows={rows} cols=4096") for rows in (512, 1024, 4096, 2048)]
    assert places == sorted(places)


def test_standings_cover_every_decision() -> None:
    def standing(*decisions: str) -> str:
        baselines = [comparison(f"b{n}", 1.0, one) for n, one in enumerate(decisions)]
        one = record()
        one["timing"]["cells"] = [timed(8, [*baselines, unavailable("compile", "none")])]
        return Verdict.from_json(json.dumps(one)).timing.cells[0].standing

    assert standing("faster", "slower", "same") == "slower"
    assert standing("faster", "undecided") == "ambiguous"
    assert standing("faster", "same") == "same"
    assert standing("faster") == "faster"
    assert standing() == "not compared"


def test_every_cell_and_every_figure_of_it_is_there(whole: str) -> None:
    text = words(whole)
    for cell in verdict().timing.cells:
        assert f"float32 rows={cell.axes['rows']} cols=4096" in text
        assert f"{cell.latency_us.estimate:.4g}" in text
        assert f"{cell.bracket_us.estimate:.4g}" in text
        assert f"{100 * cell.ceiling_fraction:.1f} %" in text
        for one in cell.baselines:
            if one.status == "timed":
                ratio = one.speedup
                assert f"{ratio.estimate:.3f}\u00d7 [{ratio.low:.3f}, {ratio.high:.3f}]" in text, (
                    one.name
                )
    for name, ratio in verdict().timing.geomean_speedup.items():
        assert f"{ratio:.3f}\u00d7 against {name}" in text
    assert "unavailable: torch.compile needs a C++ compiler" in text
    assert "launch subtracted, gate" in text
    assert "sw_power_cap" in text
    assert verdict().provenance.seed in text
    assert verdict().source_sha256 in text
    assert "The bus width comes from the driver and not from a table." in text


def test_as_called_times_have_a_section_of_their_own(whole: str) -> None:
    before, section, _ = re.split(r'<section class="host">|</section>\s*<h2>Audit', whole)
    assert "host-bound" in section and "61.25" in section and "52.50" in section
    assert "61.25" not in before and "52.50" not in before
    assert "were not measured" in page([Verdict.load(OLD)])


def test_guards_are_explained_and_unknown_ones_shown(whole: str) -> None:
    text = words(whole)
    assert "a_guard_of_tomorrow:3of64 (cell 1)" in text
    assert f"autocorrelated:compile (cell 1): {guards.MEANINGS['autocorrelated']}" in text
    assert guards.meaning("a_guard_of_tomorrow:3of64") == ""


def test_every_flag_of_the_sources_has_a_meaning() -> None:
    found: set[str] = set()
    for path in (ROOT / "src" / "referee").rglob("*.cpp"):
        text = path.read_text(encoding="utf-8")
        found |= set(
            re.findall(r'(?:flags|fired)\.(?:push|emplace)_back\((?:fmt::format\()?"(\w+)', text)
        )
        found |= set(re.findall(r'\bflag\([^;]*?, "(\w+)"\);', text, re.DOTALL))
    assert {"multimodal", "autocorrelated", "starved"} <= found
    assert found <= set(guards.MEANINGS)


def test_an_old_verdict_has_a_page_that_says_what_its_times_hold() -> None:
    text = words(page([Verdict.load(OLD)]))
    assert "hand-over included" in text
    assert "Times hold the cost of a launch" in text
    assert "no calibration of its clock" in text
    assert "does not hold the ratios of single blocks" in text
    assert "0.9650\u00d7 against compile" in text


def test_a_state_that_is_not_known_is_not_shown_as_zero() -> None:
    timing = record()["timing"]
    silent = gpu_state(sm_clock_mhz=0, power_w=0.0, reason="The library is not installed.")
    text = page([plain(timing={**timing, "gpu_end": silent})])
    assert "<td>1980 of 1980 MHz</td><td>-</td>" in text
    assert "The library is not installed." in text


def test_a_verdict_of_the_host_is_called_one() -> None:
    one = plain().to_dict()
    one["provenance"]["device"] = one["provenance"]["driver_version"] = ""
    one["timing"].update(clock="host_processor_time", gpu_start=None, gpu_end=None)
    text = words(page([Verdict.from_json(json.dumps(one))]))
    assert "Processor time on the host, warm caches." in text
    assert "L2" not in text and "raw bracket" not in text
    assert one["provenance"]["machine"] in text


def test_a_verdict_without_timing_has_a_page_that_says_so() -> None:
    one = record()
    one["timing"].update(ran=False, cells=[], geomean_speedup={}, calibration=None)
    read = Verdict.from_json(json.dumps(one))
    assert "This verdict has no timing: the stage did not run." in words(page([read]))
    assert "not timed" in conclusion(read)
    assert "Nothing about speed" in claims(read)[0]


@pytest.mark.parametrize(
    "values", [("NaN", "Infinity", "-Infinity", 0.0), (-1.0, 1e300, 1e-300, "NaN")]
)
def test_figures_that_mean_nothing_do_not_break_the_page(values: tuple[object, ...]) -> None:
    one = record()
    for value, cell in zip(values, one["timing"]["cells"], strict=True):
        for key in ("latency_us", "bracket_us"):
            cell[key] = {"estimate": value, "low": value, "high": value}
        cell.update(floor_us=value, ceiling_fraction=value, peak_fraction=value)
        for baseline in cell["baselines"]:
            baseline["speedup"] = {"estimate": value, "low": "-Infinity", "high": "Infinity"}
            baseline["block_log_ratios"] = [value, value, 0.01]
        one["timing"]["geomean_speedup"] = {"eager": value}
        one["timing"]["calibration"]["peak_gbps"] = value
        one["timing"]["calibration"]["copy_curve"][0]["gbps"]["estimate"] = value
    assert "float32 rows=512" in page([Verdict.from_json(json.dumps(one))])


def only(ratio: float, decision: str, **changes: Any) -> Verdict:
    one = record()
    one["timing"]["cells"] = [timed(64, [comparison("compile", ratio, decision)])]
    one["timing"]["geomean_speedup"] = {"compile": ratio}
    one.update(changes)
    return Verdict.from_json(json.dumps(one))


def gate(**changes: Any) -> Record:
    return {
        **record()["gate"],
        "ran": True,
        "passed": True,
        "baseline": "compile",
        "runs": 5,
        "speedup": interval(1.08),
        "safe_speedup": 1.0625,
        **changes,
    }


def test_claims_follow_the_decisions() -> None:
    mixed = " ".join(claims(verdict()))
    assert "Faster than eager in every cell" in mixed
    assert "No speed-up over compile as such: slower in 1 of 3 cells" in mixed
    assert "Not every cell was compared with compile" in mixed
    assert "Without the stability gate" in mixed
    faster = claims(only(1.2, "faster"))[0]
    assert faster.startswith("Faster than compile in the one cell")
    assert "1.193" in faster, "the lower end and not the estimate"
    assert claims(only(1.0, "same"))[0].startswith("As fast as compile")
    assert claims(only(1.01, "ambiguous"))[0].startswith("No difference from compile is shown")


def test_claims_follow_gate_mode_and_status() -> None:
    passed = claims(only(1.08, "faster", gate=gate()))
    assert passed[0].startswith("At least 1.062\u00d7 against compile")
    assert not [one for one in passed if "Without the stability gate" in one]
    failed = claims(only(1.08, "faster", gate=gate(passed=False, reasons=["processes differ"])))
    assert failed[0].startswith("No speed-up over compile to publish")
    assert "processes differ" in failed[0]
    early = record()["timing"] | {"mode": "decide"}
    assert any("flatter the winner" in one for one in claims(verdict(timing=early)))
    (nothing,) = claims(verdict(status="rejected", summary="caught"))
    assert nothing == "Nothing about speed: the verdict is rejected."
    assert conclusion(verdict(status="rejected", summary="caught")) == "caught"


def test_the_command_to_reproduce_is_safe_to_paste() -> None:
    text = Page(page([plain(candidate="-x; rm -rf '~'\n.py")])).text
    assert "ouroboros judge './-x; rm -rf '\"'\"'~'\"'\"'?.py' --problem rmsnorm --seed 0x" in text


def test_the_command_of_a_comparison_names_both_sides_and_the_cells() -> None:
    provenance = record()["provenance"] | {"compared_with": "other.cu"}
    timing = record()["timing"] | {"cache": "hot"}
    text = Page(page([plain(provenance=provenance, timing=timing)])).text
    assert re.search(
        r"ouroboros bench \S+ other.cu --problem rmsnorm --seed 0x[0-9a-f]+ "
        r"--shapes rows=\d+,cols=\d+ .*--dtype float32 --cache hot --mode report",
        text,
    )
    assert (
        "ouroboros bench a.plan other.cu"
        in Page(page([plain(candidate="a", provenance=provenance, timing=timing)])).text
    )


def test_a_page_says_what_the_cache_held() -> None:
    for cache, words in (("", "a cold, clean L2 cache"), ("hot", "as the same call left it")):
        timing = record()["timing"] | {"cache": cache}
        text = Page(page([plain(timing=timing)])).text
        assert f"Device time of calls on {'an L2 cache ' if cache else ''}{words}" in text


def test_several_verdicts_have_an_overview() -> None:
    text = page([plain(), plain(status="incorrect", summary="wrong"), Verdict.load(OLD)])
    parsed = Page(text)
    assert "3 verdicts" in parsed.text
    assert text.count("none that counts") == 1, "an incorrect candidate has no speed"
    assert "without the cost of the launch" in text and "with the cost of the launch" in text
    links = [attributes["href"] for tag, attributes in parsed.tags if tag == "a"]
    assert links == ["#v1", "#v2", "#v3"]
    assert len([tag for tag, _ in parsed.tags if tag == "article"]) == 3


def test_the_source_is_folded_and_compared_with_its_hash() -> None:
    text = page([plain()])
    (details,) = re.findall(r"<details>.*?</details>", text, re.DOTALL)
    assert "that of the text below" in details and "rmsnorm_kernel" in details
    assert "has another" in page([plain(source="something else")])


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ouroboros.cli", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "150"},
    )


def test_the_command_writes_a_page_and_prints_a_table(tmp_path: Path) -> None:
    new = tmp_path / "new.json"
    new.write_text(plain().to_json(), encoding="utf-8")
    out = tmp_path / "page.html"
    done = run(new, OLD, "--out", out)
    assert done.returncode == 0, done.stderr
    assert out.read_text(encoding="utf-8") == page([plain(), Verdict.load(OLD)])
    assert "92 %" in done.stdout and "multimodal" in done.stdout
    assert "No speed-up over compile as such" in done.stdout
    assert f"written: {out}" in done.stdout.replace("\n", "")


def test_the_table_of_the_terminal_has_losing_cells_first_and_stays_narrow() -> None:
    console = Console(width=110, record=True, file=io.StringIO())
    console.print(timing_table(verdict().timing.cells))
    text = console.export_text()
    places = [text.index(f"rows={rows}") for rows in (512, 1024, 4096, 2048)]
    assert places == sorted(places)
    assert "87 %" in text and "bracket" in text
    old = Console(width=110, record=True, file=io.StringIO())
    old.print(timing_table([Verdict.load(OLD).timing.cells[0].model_copy(update={"flags": ()})]))
    assert "notes" not in (shown := old.export_text()) and "of a copy" not in shown


def test_hostile_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text(hostile("[red]\x1b[31m\u202eevil[/red]").to_json(), encoding="utf-8")
    done = run(file, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "[red]" in done.stdout
    assert "\x1b[31m" not in done.stdout and "\u202e" not in done.stdout


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "cannot be read"), ("{}", "holds no verdict")],
)
def test_misuse_exits_with_2(content: str | None, text: str, tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    if content is not None:
        file.write_text(content)
    done = run(file, "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert text in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ouroboros.IOFailure, match="cannot be written"):
        ouroboros.report(OLD, tmp_path / "no" / "page.html")
    with pytest.raises(ouroboros.InvalidArgumentError, match="at least one"):
        ouroboros.report([], tmp_path / "page.html")


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_a_missing_library_is_named_with_its_remedy(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ouroboros.plots", raising=False)
    monkeypatch.delattr(ouroboros, "plots", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ouroboros.NotFoundError, match=r"pip install 'ouroboros-referee\[report\]'"):
        page([verdict()])


def test_the_function_and_not_the_module_is_the_package_s_report() -> None:
    importlib.import_module("ouroboros.report")
    assert callable(ouroboros.report)
