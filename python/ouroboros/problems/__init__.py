"""What candidates have to compute: shipped problems, and every way to define one.

    @ouroboros.problem(inputs={"x": "rows cols"}, timed=[{"rows": 1024, "cols": 1024}])
    def double(x):
        return 2 * x

`load` takes whatever names a problem: one that ships with the library, a Python file with a
decorated function, a KernelBench file, or a flashinfer-trace Definition.
"""

from ouroboros._ouroboros import get_problem as get
from ouroboros._ouroboros import problem_names as names
from ouroboros.problems.definition import from_callable, problem
from ouroboros.problems.files import from_file, load

__all__ = ["from_callable", "from_file", "get", "load", "names", "problem"]
