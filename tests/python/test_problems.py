"""Problems from functions, names and files."""

import itertools
import textwrap
from pathlib import Path

import ouroboros
import pytest
import torch
from ouroboros import Axis, Input, problems

SHIPPED = [
    "softmax",
    "log_softmax",
    "rmsnorm",
    "layernorm",
    "add_rmsnorm",
    "add_rmsnorm_gelu",
    "layernorm_silu",
    "swiglu",
    "geglu",
    "rope",
    "cross_entropy",
    "cumsum",
]


def shapes(problem):
    return {one.name: one.shape for one in problem.inputs}


def test_shipped_names():
    assert problems.names() == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_problems_load_by_name_and_by_origin(name):
    problem = problems.load(name)
    assert problem.name == name
    assert problems.load(problem.origin).origin == f"builtin:{name}"
    assert set(problem.dtypes) == {"bfloat16", "float16", "float32", "float64"}


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("softmax", lambda x: x.softmax(-1)),
        ("log_softmax", lambda x: x.log_softmax(-1)),
        ("rmsnorm", lambda x, w: torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)),
        ("layernorm", lambda x, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b)),
        ("swiglu", lambda g, u: torch.nn.functional.silu(g) * u),
        ("geglu", lambda g, u: torch.nn.functional.gelu(g, approximate="tanh") * u),
        ("cumsum", lambda x: x.cumsum(-1)),
    ],
)
def test_shipped_references_agree_with_pytorch(name, reference):
    problem = problems.get(name)
    values = {"rows": 3, "cols": 50}
    generator = torch.Generator().manual_seed(1)
    inputs = [
        torch.randn([values[axis] for axis in one.shape], generator=generator, dtype=torch.float64)
        for one in problem.inputs
    ]
    torch.testing.assert_close(problem.reference(*inputs), reference(*inputs))


def test_decorator_makes_a_problem():
    @ouroboros.problem(
        inputs={"x": "rows cols", "w": "cols"},
        parameters=["w"],
        dtypes=["float32", "float64"],
        timed=[{"rows": 64, "cols": 128}],
        axes=[Axis("cols", multiple_of=8)],
    )
    def scaled(x, w):
        """out = x * w

        Row by row.
        """
        return x * w

    assert isinstance(scaled, ouroboros.Problem)
    assert (scaled.name, scaled.description, scaled.origin) == ("scaled", "out = x * w", "inline")
    assert shapes(scaled) == {"x": ["rows", "cols"], "w": ["cols"]}
    assert [one.parameter for one in scaled.inputs] == [False, True]
    assert {one.name: one.multiple_of for one in scaled.axes} == {"cols": 8, "rows": 1}
    assert scaled.dtypes == ["float32", "float64"]
    assert scaled.timed == [{"rows": 64, "cols": 128}]
    assert torch.equal(
        scaled.reference(torch.ones(2, 3), torch.full((3,), 4.0)), torch.full((2, 3), 4.0)
    )


def test_defaults_are_the_headers():
    problem = problems.from_callable(lambda x: 2 * x, inputs={"x": "n"})
    assert (problem.name, problem.outputs, problem.dtypes) == ("problem", ["out"], ["float32"])
    assert problem.timed == []
    assert (problem.axes[0].minimum, problem.axes[0].maximum) == (1, 8192)


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("rows cols", ["rows", "cols"]),
        ("rows, cols", ["rows", "cols"]),
        ("rows 2*half", ["rows", "2*half"]),
        ("8 n", [8, "n"]),
        (["rows", 64], ["rows", 64]),
        (("rows", "3*n"), ["rows", "3*n"]),
        ("", []),
        (Input("x", ["n"], values="positive"), ["n"]),
    ],
)
def test_ways_to_write_a_shape(spec, shape):
    problem = problems.from_callable(lambda x, y: x + y, inputs={"x": spec, "y": "k"})
    assert shapes(problem)["x"] == shape
    extents = itertools.chain(shape, ["k"])
    wanted = {str(one).rpartition("*")[2] for one in extents if isinstance(one, str)}
    assert {one.name for one in problem.axes} == wanted


def test_inputs_follow_the_order_of_the_arguments():
    problem = problems.from_callable(lambda a, b: a - b, inputs={"b": "n", "a": "n"})
    assert list(shapes(problem)) == ["a", "b"]


def test_an_argument_with_a_default_may_be_left_out():
    problem = problems.from_callable(lambda x, eps=3.0: x + eps, inputs={"x": "n"})
    assert problem.reference(torch.zeros(1)).item() == 3.0


def test_a_function_without_a_signature_takes_inputs_as_they_stand():
    problem = problems.from_callable(torch.maximum, inputs={"a": "n", "b": "n"})
    assert problem.name == "maximum"
    assert problem.reference(torch.tensor([1.0]), torch.tensor([2.0])).item() == 2.0


def test_dtypes_may_be_those_of_pytorch():
    problem = problems.from_callable(
        lambda x: x, inputs={"x": "n"}, dtypes=[torch.float16, "float32"]
    )
    assert problem.dtypes == ["float16", "float32"]
    with pytest.raises(ouroboros.UnsupportedError, match="the problem has the dtype complex64"):
        problems.from_callable(lambda x: x, inputs={"x": "n"}, dtypes=[torch.complex64])


def test_indices():
    problem = problems.from_callable(
        lambda table, rows: table[rows],
        inputs={
            "table": "count width",
            "rows": Input("rows", ["n"], dtype="int64", values="index", index_axis="count"),
        },
    )
    assert {one.name for one in problem.axes} == {"count", "width", "n"}
    assert problem.inputs[1].dtype == "int64"


@pytest.mark.parametrize(
    ("reference", "names"),
    [
        (lambda x: x * 2, ["out"]),
        (lambda x: (x * 2,), ["out"]),
        (lambda x: x.max(dim=-1), ["out0", "out1"]),
        (lambda x: [x, x * 2, x * 3], ["out0", "out1", "out2"]),
        # The referee says what is wrong with it, when it judges.
        (lambda x: x.no_such_method(), ["out"]),
    ],
)
def test_outputs_without_names_are_counted(reference, names):
    problem = problems.from_callable(reference, inputs={"x": "rows 2*half"})
    assert problem.outputs == names
    example = problems.from_callable(reference, inputs=[torch.ones(3, 4)])
    assert example.outputs == names


def test_outputs_without_names_leave_inputs_theirs():
    def backward(grad, out):
        return out * (grad - (grad * out).sum(-1, keepdim=True))

    problem = problems.from_callable(backward, inputs={"grad": "rows n", "out": "rows n"})
    assert problem.outputs == ["out_2"]


def test_outputs_are_counted_where_small_inputs_or_other_dtypes_raise():
    def normalised(x):
        return torch.nn.functional.group_norm(x, 2), x.mean()

    assert problems.from_callable(normalised, inputs={"x": "n 2*c"}).outputs == ["out0", "out1"]
    both = problems.from_callable(lambda x: (x & 1, x >> 1), inputs={"x": "n"}, dtypes=["int32"])
    assert both.outputs == ["out0", "out1"]
    long = problems.from_callable(
        lambda x: (x[:, 90], x.sum()), inputs={"x": "n c"}, timed=[{"n": 8, "c": 128}]
    )
    assert long.outputs == ["out0", "out1"]


def test_several_outputs_and_an_oracle():
    def both(x):
        return x.amin(-1), x.amax(-1)

    problem = problems.from_callable(
        both, inputs={"x": "rows cols"}, outputs=["low", "high"], oracle=both
    )
    assert problem.outputs == ["low", "high"]
    assert problem.oracle is both
    assert problem.reference is both


class TestExamples:
    def test_shapes_are_fixed_and_equal_sizes_are_not_tied(self):
        problem = problems.from_callable(
            lambda x, w: x @ w, inputs={"x": torch.ones(4, 4), "w": torch.ones(4, 4)}
        )
        assert shapes(problem) == {"x": [4, 4], "w": [4, 4]}
        assert problem.axes == []
        assert problem.timed == [{}]

    def test_a_list_is_named_by_the_arguments(self):
        problem = problems.from_callable(lambda a, b: a + b, inputs=[torch.ones(2), torch.ones(2)])
        assert list(shapes(problem)) == ["a", "b"]

    def test_a_list_without_a_signature_is_numbered(self):
        problem = problems.from_callable(torch.maximum, inputs=[torch.ones(2), torch.ones(2)])
        assert list(shapes(problem)) == ["input0", "input1"]

    def test_dtypes_come_from_the_examples(self):
        problem = problems.from_callable(
            lambda x, w: x * w,
            inputs=[torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.float16)],
        )
        assert problem.dtypes == ["float64"]
        assert [one.dtype for one in problem.inputs] == [None, "float16"]

    def test_integers_are_indices_up_to_their_largest_value(self):
        problem = problems.from_callable(
            lambda x, i: x[i], inputs=[torch.ones(9), torch.tensor([2, 6, 0])]
        )
        index = problem.inputs[1]
        assert (index.values, index.dtype, index.index_axis) == ("index", "int64", "i_values")
        assert [(one.name, one.fixed) for one in problem.axes] == [("i_values", 7)]
        assert problem.timed == [{"i_values": 7}]

    def test_zeros_and_ones_are_masks_and_what_may_be_something_else_is_not(self):
        both, ones = torch.tensor([0, 1, 1]), torch.ones(3)
        examples = [both, both.float(), ones.long(), ones, torch.ones(1).long(), both.bool()]
        problem = problems.from_callable(lambda *given: sum(given), inputs=examples)
        values = [one.values for one in problem.inputs]
        assert values == ["mask", "mask", "mask", "real", "index", "real"]

    def test_they_mix_with_symbols(self):
        problem = problems.from_callable(
            lambda x, w: x * w, inputs={"x": "rows 8", "w": torch.ones(8)}, parameters=["w"]
        )
        assert shapes(problem) == {"x": ["rows", 8], "w": [8]}
        assert problem.inputs[1].parameter
        assert problem.timed == []

    @pytest.mark.parametrize("dtype", [torch.complex64, torch.int16, torch.uint32])
    def test_other_dtypes_are_refused_by_name(self, dtype):
        with pytest.raises(ouroboros.UnsupportedError, match=str(dtype).removeprefix("torch.")):
            problems.from_callable(lambda x: x, inputs=[torch.zeros(2, dtype=dtype)])

    @pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.bool, torch.float8_e5m2])
    def test_small_dtypes_are_values(self, dtype):
        problem = problems.from_callable(
            lambda x, m: x * m.float(), inputs=[torch.ones(2), torch.ones(2).to(dtype)]
        )
        one = problem.inputs[1]
        assert (one.values, one.dtype) == ("real", str(dtype).removeprefix("torch."))

    def test_integers_that_may_be_negative_are_values(self):
        problem = problems.from_callable(lambda i: i, inputs={"i": torch.tensor([-1, 2])})
        assert (problem.inputs[0].values, problem.inputs[0].dtype) == ("real", "int64")
        assert problem.axes == []


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (3, {"inputs": {"x": "n"}}, "a reference is a function on tensors, not int"),
        (lambda x: x, {}, "say what the inputs look like"),
        (lambda x: x, {"inputs": {}}, "say what the inputs look like"),
        (lambda x: x, {"inputs": {"y": "n"}}, "has no argument 'y'"),
        (lambda x, y: x, {"inputs": {"x": "n"}}, "'y' of problem has no shape"),
        (lambda x, *, y: x, {"inputs": {"x": "n"}}, "'y' of problem is keyword-only"),
        (lambda x, a=1, y=2: x, {"inputs": {"x": "n", "y": "n"}}, "'a' is left out"),
        (lambda x: x, {"inputs": {"x": "n"}, "parameters": ["w"]}, "there is no input 'w'"),
        (lambda x: x, {"inputs": {"x": Input("z", ["n"])}}, "described by an Input 'z'"),
        (lambda x: x, {"inputs": {"x": 3}}, "'x' is a int"),
        (lambda x: x, {"inputs": ["rows cols"]}, "a list holds example tensors"),
        (lambda x: x, {"inputs": {"x": "n"}, "dtypes": ["float33"]}, "'float33' is no dtype"),
        (lambda x: x, {"inputs": {"x": "n"}, "dtypes": []}, "dtypes"),
        (
            lambda x: x,
            {"inputs": {"x": "n"}, "dtypes": "float32"},
            "dtypes: a str is no list; dtypes",
        ),
        (lambda x: x, {"inputs": {"x": "n"}, "dtypes": [None]}, "dtypes: there is a NoneType"),
        (lambda x: x, {"inputs": {"x": "n"}, "axes": {"n": Axis("n")}}, "axes: a dict is no list"),
        (lambda x: x, {"inputs": {"x": "n"}, "axes": ["n"]}, "axes: there is a str; axes=[our"),
        (lambda x: x, {"inputs": {"x": "n"}, "timed": {"n": 4}}, "timed: a dict is no list"),
        (lambda x: x, {"inputs": {"x": "n"}, "timed_gpu": [4]}, "timed_gpu: there is a int"),
        (lambda x: x, {"inputs": {"x": "n**2"}}, "is no size"),
        (lambda x: x, {"inputs": {"x": "n"}, "timed": [{"m": 4}]}, "unknown axis 'm'"),
        (lambda x: x, {"inputs": {"x": "n"}, "axes": [Axis("m")]}, "'m'"),
        (lambda x: x, {"inputs": {"x": "n"}, "outputs": ["x"]}, "outputs"),
    ],
)
def test_misuse_is_refused_with_what_is_wrong(function, options, message):
    with pytest.raises(ouroboros.InvalidArgumentError) as caught:
        problems.from_callable(function, **options)
    assert message in str(caught.value)


class TestFiles:
    def write(self, folder: Path, text: str, name: str = "mine.py") -> Path:
        file = folder / name
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    ONE = """
        import ouroboros

        @ouroboros.problem(inputs={"x": "n"})
        def double(x):
            return 2 * x
        """
    TWO = (
        ONE
        + """
        @ouroboros.problem(inputs={"x": "n"})
        def triple(x):
            return 3 * x
        """
    )

    def test_a_source_in_the_place_of_a_problem(self):
        with pytest.raises(ouroboros.InvalidArgumentError, match="it comes before the source"):
            problems.load("def run(x):\n    return x\n")

    def test_one_decorated_function(self, tmp_path):
        file = self.write(tmp_path, self.ONE)
        problem = problems.load(str(file))
        assert problem.name == "double"
        assert problem.origin == f"file:{file}"
        assert problems.load(file).name == problems.load(problem.origin).name == "double"

    def test_one_of_several_by_name(self, tmp_path):
        file = self.write(tmp_path, self.TWO)
        problem = problems.load(f"{file}:triple")
        assert problem.name == "triple"
        assert problems.load(problem.origin).name == "triple"

    def test_several_without_a_name_are_refused(self, tmp_path):
        file = self.write(tmp_path, self.TWO)
        with pytest.raises(
            ouroboros.InvalidArgumentError, match=r"double, triple.*mine\.py:double"
        ):
            problems.load(file)

    def test_an_unknown_name_is_refused(self, tmp_path):
        file = self.write(tmp_path, self.ONE)
        with pytest.raises(ouroboros.NotFoundError, match="no problem 'triple'; there are: double"):
            problems.load(f"{file}:triple")

    def test_problem_variable_wins(self, tmp_path):
        file = self.write(tmp_path, textwrap.dedent(self.TWO) + "PROBLEM = triple\n")
        assert problems.load(file).name == "triple"

    def test_a_second_name_for_the_same_problem_is_no_second_problem(self, tmp_path):
        file = self.write(tmp_path, textwrap.dedent(self.ONE) + "alias = double\n")
        assert problems.load(file).name == "double"

    def test_a_shipped_problem_keeps_its_origin(self, tmp_path):
        file = self.write(tmp_path, "import ouroboros\nPROBLEM = ouroboros.problems.get('rope')\n")
        assert problems.load(file).origin == "builtin:rope"

    def test_dataclasses_work_in_a_problem_file(self, tmp_path):
        head = """
            from __future__ import annotations
            import dataclasses

            @dataclasses.dataclass
            class Size:
                n: int = 3
            """
        file = self.write(tmp_path, textwrap.dedent(head) + textwrap.dedent(self.ONE))
        assert problems.load(file).name == "double"

    def test_an_empty_file_is_refused(self, tmp_path):
        file = self.write(tmp_path, "")
        with pytest.raises(ouroboros.InvalidArgumentError, match="defines no problem"):
            problems.load(file)

    def test_an_error_names_its_line(self, tmp_path):
        file = self.write(tmp_path, "x = 1\nraise KeyError('oops')\n")
        with pytest.raises(ouroboros.InvalidArgumentError, match="KeyError in line 2: 'oops'"):
            problems.load(file)

    def test_a_syntax_error_is_reported(self, tmp_path):
        file = self.write(tmp_path, "def f(:\n")
        with pytest.raises(ouroboros.InvalidArgumentError, match="SyntaxError"):
            problems.load(file)

    def test_a_problem_that_fails_its_check_names_the_file(self, tmp_path):
        file = self.write(tmp_path, self.ONE.replace('"n"', '"n**2"'))
        with pytest.raises(ouroboros.InvalidArgumentError, match=r"mine\.py.*is no size"):
            problems.load(file)

    def test_a_missing_file_is_not_found(self, tmp_path):
        with pytest.raises(ouroboros.NotFoundError, match="there is no file"):
            problems.load(tmp_path / "none.py")


@pytest.mark.parametrize("spec", ["soft_max", "builtin:soft_max", ""])
def test_unknown_names_list_what_there_is(spec):
    with pytest.raises(ouroboros.NotFoundError, match="softmax, log_softmax"):
        problems.load(spec)


@pytest.mark.parametrize("spec", ["problems/softmax.yaml", "file:softmax", Path("softmax.toml")])
def test_other_files_are_refused(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "softmax.toml").touch()
    with pytest.raises(ouroboros.InvalidArgumentError, match=r"neither a \.py nor a \.json"):
        problems.load(spec)


def test_something_else_is_refused():
    with pytest.raises(ouroboros.InvalidArgumentError, match="not by int"):
        problems.load(3)
