"""The zygote without the rest of the package, and so without PyTorch.

`python3 tests/python/zygote`; its operation is `stub:trace`, in this folder.
"""

import runpy
import sys
from pathlib import Path
from types import ModuleType

package = ModuleType("ouroboros")
package.__path__ = [str(Path(__file__).parents[3] / "python" / "ouroboros")]
sys.modules["ouroboros"] = package
sys.argv[1:1] = ["--operation", "trace=stub:trace", "--preload", "stub"]
runpy.run_module("ouroboros.trace.zygote", run_name="__main__", alter_sys=True)
