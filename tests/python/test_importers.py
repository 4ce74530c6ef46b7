"""KernelBench files and flashinfer-trace Definitions."""

import copy
import json
from pathlib import Path

import ouroboros
import pytest
import torch
from ouroboros import problems
from ouroboros.problems import flashinfer

DATA = Path(__file__).parents[1] / "data"
KERNELBENCH = DATA / "kernelbench"
FLASHINFER = DATA / "flashinfer"
RMSNORM = FLASHINFER / "definitions" / "rmsnorm" / "rmsnorm_d64.json"
MIN_MAX = FLASHINFER / "definitions" / "softmax" / "min_max.json"


def inputs_of(problem):
    return {one.name: one.shape for one in problem.inputs}


class TestKernelBench:
    def test_weights_are_parameters_after_the_inputs(self):
        problem = problems.load(KERNELBENCH / "linear_relu.py")
        assert problem.name == "linear_relu"
        assert problem.description == "A linear layer, scaled, with a threshold."
        assert problem.origin == f"file:{KERNELBENCH / 'linear_relu.py'}"
        assert inputs_of(problem) == {
            "x": [6, 10],
            "linear_weight": [4, 10],
            "linear_bias": [4],
        }
        assert [one.parameter for one in problem.inputs] == [False, True, True]
        assert (problem.axes, problem.timed, problem.dtypes) == ([], [{}], ["float32"])

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_the_reference_uses_the_weights_that_it_is_given(self, dtype):
        problem = problems.load(KERNELBENCH / "linear_relu.py")
        generator = torch.Generator().manual_seed(1)
        x, weight, bias = (
            torch.randn(one.shape, generator=generator, dtype=dtype) for one in problem.inputs
        )
        out = problem.reference(x, weight, bias)
        torch.testing.assert_close(out, torch.relu((x @ weight.T + bias) * 0.5))
        assert out.dtype == dtype

    def test_statistics_that_are_only_written_are_no_inputs(self):
        problem = problems.load(KERNELBENCH / "batch_norm.py")
        assert list(inputs_of(problem)) == ["x", "norm_weight", "norm_bias"]
        x, weight, bias = torch.randn(8, 5), torch.ones(5), torch.zeros(5)
        first = problem.reference(x, weight, bias)
        assert torch.equal(first, problem.reference(x, weight, bias))
        assert problem.reference(x.double(), weight.double(), bias.double()).dtype == torch.float64

    def test_buffers_that_matter_are_inputs_and_variances_stay_positive(self):
        problem = problems.load(KERNELBENCH / "frozen_norm.py")
        values = {one.name: one.values for one in problem.inputs}
        assert values == {"x": "real", "norm_running_mean": "real", "norm_running_var": "positive"}
        x, mean, variance = torch.randn(8, 5), torch.randn(5), torch.rand(5) + 0.5
        torch.testing.assert_close(
            problem.reference(x, mean, variance), (x - mean) / (variance + 1e-5).sqrt()
        )

    def test_what_a_logarithm_is_taken_of_is_positive(self):
        problem = problems.load(KERNELBENCH / "divergence.py")
        values = {one.name: one.values for one in problem.inputs}
        assert values == {"predictions": "positive", "targets": "positive", "weights": "real"}
        source = """
            #include <cmath>
            extern "C"
            void run_float32(const float* p, const float* t, const float* w, float* out) {
              for (int i = 0; i < 16; ++i, p += 24, t += 24) {
                double sum = 0;
                for (int k = 0; k < 24; ++k) {
                  sum += double(t[k]) * (std::log(double(t[k])) - std::log(double(p[k])));
                }
                out[i] = float(sum * w[i]);
              }
            }"""
        verdict = ouroboros.verify(source, problem, until="sweep")
        assert verdict.status == "ok", verdict.summary

    def test_indices_numbers_and_several_results(self):
        problem = problems.load(KERNELBENCH / "embedding_window.py")
        assert inputs_of(problem) == {"indices": [6], "table_weight": [11, 4]}
        index = problem.inputs[0]
        assert (index.dtype, index.values, index.index_axis) == ("int64", "index", "indices_values")
        assert [(one.name, one.fixed) for one in problem.axes] == [("indices_values", 8)]
        assert (problem.outputs, problem.timed) == (["out0", "out1"], [{"indices_values": 8}])
        table = torch.arange(44.0).reshape(11, 4)
        rows, sums = problem.reference(torch.tensor([0, 1, 2, 3, 4, 5]), table)
        assert torch.equal(rows, table[:6])
        assert torch.equal(sums, table[:6].reshape(3, 2, 4).sum(1))

    def test_loading_twice_gives_the_same_constants(self):
        weights = torch.ones(4, 10), torch.zeros(4)
        first, second = (problems.load(KERNELBENCH / "linear_relu.py") for _ in range(2))
        x = torch.ones(6, 10)
        assert torch.equal(first.reference(x, *weights), second.reference(x, *weights))

    def test_an_unsupported_dtype_is_named(self):
        with pytest.raises(ouroboros.UnsupportedError, match="complex64"):
            problems.load(KERNELBENCH / "complex_input.py")

    def test_a_broken_model_says_which_step_failed(self):
        with pytest.raises(
            ouroboros.InvalidArgumentError, match=r"Model\(\.\.\.\) raised TypeError"
        ):
            problems.load(KERNELBENCH / "broken_init.py")

    def test_inputs_are_a_list(self, tmp_path):
        file = tmp_path / "odd.py"
        file.write_text(
            "import torch\nModel = torch.nn.ReLU\ndef get_init_inputs():\n    return []\n"
            "def get_inputs():\n    return {'x': torch.ones(2)}\n",
            encoding="utf-8",
        )
        with pytest.raises(ouroboros.InvalidArgumentError, match="a dict is no list of forward's"):
            problems.load(file)

    @pytest.mark.parametrize(
        ("inputs", "forward", "message"),
        [
            ("[]", "torch.zeros(1)", "returns no tensor"),
            ("[[torch.ones(2)]]", "a[0][0]", r"get_inputs\(\)\[0\] is a list"),
            ("[torch.ones(2)]", "{'y': a[0]}", "returns a dict"),
            ("[torch.ones(2)]", "(a[0], None)", "returns a tuple of Tensor, NoneType"),
            ("[torch.tensor([1, 2])]", "a[0]", "neither inputs nor weights"),
            ("[torch.ones(2)]", "a[0].to(torch.complex64)", "complex64"),
        ],
    )
    def test_what_cannot_be_judged_is_refused(self, tmp_path, inputs, forward, message):
        file = tmp_path / "odd.py"
        file.write_text(
            "import torch\n"
            "class Model(torch.nn.Module):\n"
            f"    def forward(self, *a):\n        return {forward}\n"
            f"def get_inputs():\n    return {inputs}\n"
            "def get_init_inputs():\n    return []\n",
            encoding="utf-8",
        )
        with pytest.raises(ouroboros.UnsupportedError, match=message):
            problems.load(file)


class TestFlashinfer:
    def definition(self, **changes):
        made = json.loads(RMSNORM.read_text(encoding="utf-8"))
        made.update(changes)
        return made

    def workloads(self, value=0.5, tokens=7):
        return [
            {
                "axes": {"tokens": tokens},
                "inputs": {"eps": {"type": "scalar", "value": value}},
                "uuid": "0",
            }
        ]

    def test_a_definition_with_its_workloads(self):
        problem = problems.load(RMSNORM)
        assert problem.name == "rmsnorm_d64"
        assert problem.origin == f"file:{RMSNORM}"
        assert problem.description == "Root mean square norm over 64 features."
        assert inputs_of(problem) == {"x": ["tokens", "features"], "weight": ["features"]}
        assert [one.dtype for one in problem.inputs] == [None, "float32"]
        assert (problem.outputs, problem.dtypes) == (["y"], ["float16"])
        axes = {one.name: one for one in problem.axes}
        assert axes["features"].fixed == 64
        assert axes["tokens"].maximum == 20000
        assert problem.timed == [
            {"tokens": 7, "features": 64},
            {"tokens": 20000, "features": 64},
        ]

    def test_the_reference_gets_its_numbers_from_the_workloads(self):
        problem = problems.load(RMSNORM)
        x = torch.full((1, 64), 2.0, dtype=torch.float64)
        (out,) = problem.reference(x, torch.ones(64, dtype=torch.float64))
        torch.testing.assert_close(out, x / (4.0 + 0.5) ** 0.5)

    def test_without_workloads_nothing_is_timed(self):
        problem = problems.load(MIN_MAX)
        assert problem.timed == []
        assert problem.outputs == ["low", "high"]
        low, high = problem.reference(torch.tensor([[3.0, 1.0, 2.0]]))
        assert (low.item(), high.item()) == (1.0, 3.0)

    def test_workloads_may_lie_elsewhere(self, tmp_path):
        lines = tmp_path / "mine.jsonl"
        lines.write_text(json.dumps(self.workloads(tokens=3)[0]) + "\n", encoding="utf-8")
        problem = flashinfer.from_file(RMSNORM, workloads=lines)
        assert problem.timed == [{"tokens": 3, "features": 64}]
        with pytest.raises(ouroboros.NotFoundError, match=r"none\.jsonl"):
            flashinfer.from_file(RMSNORM, workloads=tmp_path / "none.jsonl")

    def test_indices_need_the_axis_that_bounds_them(self):
        definition = {
            "name": "pick",
            "axes": {"rows": {"type": "var"}, "cols": {"type": "var"}},
            "inputs": {
                "x": {"shape": ["rows", "cols"], "dtype": "float32"},
                "i": {"shape": ["rows"], "dtype": "int32"},
            },
            "outputs": {"y": {"shape": ["rows"], "dtype": "float32"}},
            "reference": "def run(x, i):\n    return x.gather(1, i.long()[:, None])[:, 0]\n",
        }
        with pytest.raises(ouroboros.UnsupportedError, match="'i' holds integers"):
            flashinfer.from_definition(definition)
        problem = flashinfer.from_definition(definition, index_axes={"i": "cols"})
        assert (problem.inputs[1].values, problem.inputs[1].index_axis) == ("index", "cols")

    @pytest.mark.parametrize("dtype", ["float4_e2m1", "int16", "complex64"])
    @pytest.mark.parametrize("where", ["inputs", "outputs"])
    def test_an_unsupported_dtype_is_named(self, dtype, where):
        changed = copy.deepcopy(self.definition())
        next(iter(changed[where].values()))["dtype"] = dtype
        with pytest.raises(ouroboros.UnsupportedError, match=f"dtype {dtype}"):
            flashinfer.from_definition(changed, self.workloads())

    @pytest.mark.parametrize("dtype", ["float8_e4m3fn", "bool", "int8"])
    def test_small_dtypes_are_values(self, dtype):
        changed = copy.deepcopy(self.definition())
        name, described = next(iter(changed["inputs"].items()))
        described["dtype"] = dtype
        problem = flashinfer.from_definition(changed, self.workloads())
        found = next(one for one in problem.inputs if one.name == name)
        assert (found.values, found.dtype) == ("real", dtype)

    @pytest.mark.parametrize("key", ["name", "axes", "inputs", "outputs", "reference"])
    def test_a_missing_field_is_named(self, key):
        definition = self.definition()
        del definition[key]
        with pytest.raises(ouroboros.InvalidArgumentError, match=f"'{key}' is missing"):
            flashinfer.from_definition(definition, self.workloads())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"axes": {"tokens": {"type": "expr"}}}, "'tokens' has the type 'expr'"),
            ({"constraints": ["tokens > 3"]}, "tokens > 3"),
        ],
    )
    def test_what_cannot_be_judged_is_refused(self, changes, message):
        with pytest.raises(ouroboros.UnsupportedError, match=message):
            flashinfer.from_definition(self.definition(**changes), self.workloads())

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("def run(:", "SyntaxError"),
            ("import nothing_of_that_name", "ModuleNotFoundError"),
            ("def walk(x):\n    return x\n", "no function 'run'"),
        ],
    )
    def test_a_broken_reference_is_refused(self, source, message):
        with pytest.raises(ouroboros.InvalidArgumentError, match=message):
            flashinfer.from_definition(self.definition(reference=source), self.workloads())

    def test_a_number_without_a_workload_is_refused(self):
        with pytest.raises(ouroboros.UnsupportedError, match="'eps' is no tensor"):
            flashinfer.from_definition(self.definition())

    def test_numbers_that_vary_are_refused(self):
        both = self.workloads(0.5) + self.workloads(0.25)
        with pytest.raises(ouroboros.UnsupportedError, match=r"'eps' the values 0\.5 and 0\.25"):
            flashinfer.from_definition(self.definition(), both)

    def test_inputs_from_files_are_refused(self):
        workload = self.workloads()[0]
        workload["inputs"]["x"] = {"type": "safetensors", "path": "x.st", "tensor_key": "x"}
        with pytest.raises(ouroboros.UnsupportedError, match="takes 'x' from a file"):
            flashinfer.from_definition(self.definition(), [workload])

    @pytest.mark.parametrize("text", ["", "{", "[1]"])
    def test_a_file_that_is_no_definition_is_refused(self, tmp_path, text):
        file = tmp_path / "odd.json"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ouroboros.InvalidArgumentError, match=r"odd\.json"):
            problems.load(file)
