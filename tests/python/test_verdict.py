"""The Python record of a verdict against JSON that the C++ code wrote."""

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest
from ouroboros import InvalidArgumentError
from ouroboros.verdict import RewardPolicy, Status, Verdict

ROOT = Path(__file__).parents[2]
SAMPLE = (ROOT / "tests" / "data" / "verdict_sample.json").read_text(encoding="utf-8")


def sample() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(SAMPLE)
    return record


def verdict_with(**changes: Any) -> Verdict:
    return Verdict.from_json(json.dumps({**sample(), **changes}))


def objects_in(value: Any) -> Any:
    """Every object of a record that has fixed keys."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from objects_in(item)
    if isinstance(value, list):
        for item in value:
            yield from objects_in(item)


def test_what_cpp_wrote_survives_python() -> None:
    verdict = Verdict.from_json(SAMPLE)
    assert verdict.to_dict() == sample()
    assert json.loads(verdict.to_json()) == sample()
    assert list(json.loads(verdict.to_json(indent=1))) == list(sample())


def test_values_have_their_types() -> None:
    verdict = Verdict.from_json(SAMPLE.encode())
    assert verdict.status is Status.incorrect
    assert int(verdict.provenance.seed, 16) == 0xFEDCBA9876543210
    failed = verdict.correctness.cases[1]
    assert math.isnan(failed.max_abs_error)
    assert failed.error_over_allowed == math.inf
    assert failed.reference_max_abs_error == -math.inf
    assert verdict.timing.cells[0].baselines[0].speedup.low == 1.9
    assert verdict.source.splitlines()[0] == '// "naive" \u00e9'


def test_a_verdict_is_frozen() -> None:
    verdict = Verdict.from_json(SAMPLE)
    with pytest.raises(pydantic.ValidationError):
        verdict.status = Status.ok


def test_the_sample_satisfies_the_schema() -> None:
    schema = Verdict.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(sample())


def later_keys() -> list[tuple[str, str]]:
    """Containers and keys that joined version 1 after its first records."""
    cell = (
        "bracket_us estimator submission floor_us ceiling_fraction peak_fraction placement_sd "
        "clock_mhz blocks_void blocks_void_by gpu_ms code_copies as_called_us"
    )
    baseline = "speedup_raw block_log_ratios memory as_called_us as_called_speedup kernels"
    names = {
        "timing": "cache calibration gpu_start gpu_end",
        "cells": cell,
        "baselines": baseline,
        "gate": "runs_void process_speedups copy_speedups",
        "provenance": "compared_with",
        "calibration": "gap_us tick_error_ns globaltimer_step_error_ns",
        "gpu_start": "other_busy_percent",
        "gpu_end": "other_busy_percent",
    }
    return [(container, key) for container, keys in names.items() for key in keys.split()]


def test_a_record_without_the_later_keys_loads_and_says_not_measured() -> None:
    record = sample()
    (cell,) = record["timing"]["cells"]
    containers = {
        "timing": [record["timing"]],
        "cells": [cell],
        "baselines": cell["baselines"],
        "gate": [record["gate"]],
        "provenance": [record["provenance"]],
        "calibration": [record["timing"]["calibration"]],
    }
    containers |= {state: [record["timing"][state]] for state in ("gpu_start", "gpu_end")}
    for name, key in later_keys():
        for container in containers[name]:
            del container[key]
    verdict = Verdict.from_json(json.dumps(record))
    assert verdict.gate.runs_void == 0
    timing = verdict.timing
    assert timing.calibration is None and timing.gpu_start is None and timing.gpu_end is None
    assert timing.cells[0].estimator == "" and timing.cells[0].ceiling_fraction == 0
    assert timing.cells[0].as_called_us is None
    assert timing.cells[0].baselines[0].block_log_ratios == ()
    assert timing.cells[0].baselines[0].speedup_raw.estimate == 0


def test_a_state_or_a_calibration_without_the_later_key_loads() -> None:
    record = sample()
    del record["timing"]["calibration"]["gap_us"]
    measured = Verdict.from_json(json.dumps(record)).timing.calibration
    assert measured is not None and measured.gap_us == {}
    state = Verdict.from_json(json.dumps(record)).timing.gpu_end
    assert state is not None and state.other_busy_percent == 40
    del record["timing"]["gpu_end"]["other_busy_percent"]
    state = Verdict.from_json(json.dumps(record)).timing.gpu_end
    assert state is not None and state.other_busy_percent == 0


def test_the_sample_has_every_key_with_a_value() -> None:
    timing = sample()["timing"]
    holders = {
        "timing": timing,
        "cells": timing["cells"][0],
        "baselines": timing["cells"][0]["baselines"][0],
        "gate": sample()["gate"],
        "provenance": sample()["provenance"],
        "calibration": timing["calibration"],
        "gpu_start": timing["gpu_start"],
        "gpu_end": timing["gpu_end"],
    }
    for name, key in later_keys():
        assert holders[name][key], f"{name}.{key}"


def test_a_file_is_loaded_or_the_error_names_it(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text(SAMPLE, encoding="utf-8")
    assert Verdict.load(file) == Verdict.from_json(SAMPLE)
    for text in ("", "[]", "{}", '{"status": "ok"}'):
        file.write_text(text)
        with pytest.raises(InvalidArgumentError, match=r"verdict\.json' holds no verdict"):
            Verdict.load(file)
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        Verdict.load(tmp_path)


def test_the_schema_requires_every_key_and_allows_no_other() -> None:
    validator = jsonschema.Draft202012Validator(Verdict.json_schema())
    tables = {
        "axes",
        "blocks_void_by",
        "geomean_speedup",
        "launch_us",
        "gap_us",
        "empty_us",
        "stage_s",
    }
    later = set(later_keys())
    reference = sample()
    checked = 0
    for name, container in [("", reference), *_named_objects(reference)]:
        if name in tables:
            continue
        for key in list(container):
            value = container.pop(key)
            missing = validator.is_valid(reference)
            assert missing == ((name, key) in later), f"{name}.{key}"
            container[key] = value
            checked += 1
        container["surprise"] = 1
        assert not validator.is_valid(reference), f"{name} may have a surprise"
        del container["surprise"]
    assert checked > 100
    assert validator.is_valid(reference)


def _named_objects(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else []
    for key, item in items:
        for entry in item if isinstance(item, list) else [item]:
            if isinstance(entry, dict):
                yield key, entry
                yield from _named_objects(entry)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("status",), "fine"),
        (("schema_version",), 2),
        (("gate", "runs"), "5"),
        (("gate", "runs"), 5.5),
        (("gate", "passed"), 1),
        (("gate", "safe_speedup"), "1.5"),
        (("gate", "safe_speedup"), None),
        (("provenance", "seed"), 7),
        (("provenance", "seed"), "0x7"),
        (("findings",), {}),
    ],
)
def test_wrong_values_are_refused_by_model_and_schema(path: tuple[str, ...], value: Any) -> None:
    record = sample()
    container = record
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = value
    with pytest.raises(pydantic.ValidationError, match=re.escape(".".join(path))):
        Verdict.from_json(json.dumps(record))
    assert not jsonschema.Draft202012Validator(Verdict.json_schema()).is_valid(record)


def test_every_schema_property_is_described() -> None:
    schema = Verdict.json_schema()
    for model in [schema, *schema["$defs"].values()]:
        for name, entry in model.get("properties", {}).items():
            assert entry.get("description") or "$ref" in entry, f"{model['title']}.{name}"


def test_every_key_is_in_the_documentation() -> None:
    text = (ROOT / "docs" / "verdict.md").read_text(encoding="utf-8")
    schema = Verdict.json_schema()
    documented = set(re.findall(r"^\| `([a-z0-9_]+)`", text, flags=re.MULTILINE))
    for model in [schema, *schema["$defs"].values()]:
        for name in model.get("properties", {}):
            assert name in documented, f"{model['title']}.{name} is not in docs/verdict.md"
    for status in Status:
        assert status.value in documented, status


def test_statuses_know_whose_fault_they_are() -> None:
    assert [status.value for status in Status if status.is_infrastructure_fault] == [
        "invalid_problem",
        "infrastructure_error",
    ]
    assert [status.value for status in Status if status.is_candidate_fault] == [
        "compile_error",
        "runtime_error",
        "incorrect",
        "rejected",
        "timeout",
    ]
    assert str(Status.ok) == "ok"


def test_explain_and_feedback_come_from_the_core() -> None:
    verdict = Verdict.from_json(SAMPLE)
    assert verdict.explain().startswith("incorrect: softmax.cpp for softmax")
    assert verdict.feedback().startswith("Wrong results.")
    assert verdict.provenance.seed[2:] not in verdict.feedback()


def test_rewards_follow_the_policy() -> None:
    assert verdict_with(status="rejected").reward() == -1.0
    assert verdict_with(status="rejected").reward(RewardPolicy(rejected=-3)) == -3.0
    # "compile" is unavailable in the sample, so eager's lower end counts.
    assert verdict_with(status="ok").reward() == pytest.approx(1.9)
    assert verdict_with(status="ok").reward(RewardPolicy(maximum=1.5)) == 1.5


@pytest.mark.parametrize("status", ["infrastructure_error", "invalid_problem"])
def test_nothing_learnt_is_no_reward_at_all(status: str) -> None:
    assert verdict_with(status=status).reward() is None


def test_the_policy_defaults_are_those_of_the_core() -> None:
    from ouroboros import _ouroboros

    record = sample()
    for status in Status:
        text = json.dumps({**record, "status": status.value})
        assert _ouroboros.reward(text, "{}") == Verdict.from_json(text).reward()


def test_a_policy_refuses_unknown_keys_and_infinities() -> None:
    with pytest.raises(pydantic.ValidationError):
        RewardPolicy(corect=1.0)  # type: ignore[call-arg]
    with pytest.raises(pydantic.ValidationError):
        RewardPolicy(maximum=math.inf)


def test_html_shows_the_facts() -> None:
    page = Verdict.from_json(SAMPLE)._repr_html_()
    for part in ["incorrect", "softmax.cpp", "1 of 2 passed", "2.00\u00d7 [1.90, 2.10]", "sealed"]:
        assert part in page
    assert "#cf222e" in page


def test_html_escapes_everything_that_a_candidate_could_write() -> None:
    evil = "<script>alert('x')</script>\u202e\x1b"
    record = sample()
    for container in objects_in(record):
        for key, value in container.items():
            figure = value in ("NaN", "Infinity", "-Infinity")
            # A case and a comparison are shown only with their own statuses.
            if isinstance(value, str) and not figure and key not in ("status", "seed"):
                container[key] = evil
    for case in record["correctness"]["cases"]:
        case["axes"] = {evil: 3}
    page = Verdict.from_json(json.dumps(record))._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert "\x1b" not in page
