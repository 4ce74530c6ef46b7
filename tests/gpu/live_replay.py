"""Run by test_live_trace.py in a process of its own: replays plans at other addresses.

    python live_replay.py FOLDER

For each case of FOLDER/index.json that has a plan: inputs as they were, outputs and scratch
poisoned, every launch once, and outputs compared with those of the direct call, bit by bit. Writes
FOLDER/replayed.json. No PyTorch: the driver through ctypes is all that a plan needs.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
from pathlib import Path

_writer = Path(__file__).parents[2] / "python" / "ouroboros" / "trace" / "plan_file.py"
_spec = importlib.util.spec_from_file_location("plan_file", _writer)
plan_file = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plan_file)

POISON = 0xA5
_COOPERATIVE, _CLUSTER = 2, 4
_MAX_DYNAMIC_SHARED = 8

driver = ctypes.CDLL("libcuda.so.1")


class Attribute(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_uint32),
        ("value", ctypes.c_uint32 * 16),
    )


class Config(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    )


def check(result: int, what: str) -> None:
    if result != 0:
        name = ctypes.c_char_p()
        driver.cuGetErrorName(result, ctypes.byref(name))
        raise RuntimeError(f"{what}: {(name.value or b'?').decode()}")


class Replay:
    def __init__(self, plan: bytes, inputs: list[bytes]) -> None:
        self.document, self.images = plan_file.read_plan(plan)
        self.addresses: list[int] = []
        self.modules: list[ctypes.c_void_p] = []
        remaining = list(inputs)
        for buffer in self.document["buffers"]:
            size = buffer["bytes"]
            address = ctypes.c_uint64()
            check(
                driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))),
                "cuMemAlloc",
            )
            self.addresses.append(address.value)
            if buffer["role"] == "input":
                self._upload(address.value, remaining.pop(0)[:size])
            elif buffer["role"] == "state":
                self._upload(address.value, self.images[buffer["image"]])
            elif size:
                check(
                    driver.cuMemsetD8_v2(address, ctypes.c_ubyte(POISON), ctypes.c_size_t(size)),
                    "cuMemsetD8",
                )
        for module in self.document["modules"]:
            handle = ctypes.c_void_p()
            image = self.images[module["image"]]
            check(driver.cuModuleLoadData(ctypes.byref(handle), image), "cuModuleLoadData")
            self.modules.append(handle)

    def _upload(self, address: int, data: bytes) -> None:
        if data:
            check(
                driver.cuMemcpyHtoD_v2(ctypes.c_uint64(address), data, ctypes.c_size_t(len(data))),
                "cuMemcpyHtoD",
            )

    def run(self) -> list[bytes]:
        for launch in self.document["launches"]:
            getattr(self, f"_{launch['kind']}")(launch)
        check(driver.cuCtxSynchronize(), "cuCtxSynchronize")
        outputs = []
        for buffer, address in zip(self.document["buffers"], self.addresses, strict=True):
            if buffer["role"] == "output":
                data = ctypes.create_string_buffer(max(buffer["bytes"], 1))
                check(
                    driver.cuMemcpyDtoH_v2(
                        data, ctypes.c_uint64(address), ctypes.c_size_t(buffer["bytes"])
                    ),
                    "cuMemcpyDtoH",
                )
                outputs.append(data.raw[: buffer["bytes"]])
        return outputs

    def close(self) -> None:
        for address in self.addresses:
            driver.cuMemFree_v2(ctypes.c_uint64(address))
        for module in self.modules:
            driver.cuModuleUnload(module)

    def _address(self, buffer: int, offset: int) -> int:
        return self.addresses[buffer] + offset

    def _memset(self, launch: dict) -> None:
        name = {1: "cuMemsetD8_v2", 2: "cuMemsetD16_v2", 4: "cuMemsetD32_v2"}[launch["width"]]
        kind = {1: ctypes.c_ubyte, 2: ctypes.c_ushort, 4: ctypes.c_uint}[launch["width"]]
        address = self._address(launch["buffer"], launch["offset"])
        check(
            getattr(driver, name)(
                ctypes.c_uint64(address), kind(launch["value"]), ctypes.c_size_t(launch["count"])
            ),
            name,
        )

    def _copy(self, launch: dict) -> None:
        check(
            driver.cuMemcpyDtoD_v2(
                ctypes.c_uint64(self._address(launch["buffer"], launch["offset"])),
                ctypes.c_uint64(self._address(launch["from_buffer"], launch["from_offset"])),
                ctypes.c_size_t(launch["bytes"]),
            ),
            "cuMemcpyDtoD",
        )

    def _kernel(self, launch: dict) -> None:
        function = ctypes.c_void_p()
        check(
            driver.cuModuleGetFunction(
                ctypes.byref(function), self.modules[launch["module"]], launch["function"].encode()
            ),
            f"cuModuleGetFunction {launch['function']}",
        )
        if launch["shared_bytes"] > 0:
            check(
                driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, launch["shared_bytes"]),
                "cuFuncSetAttribute",
            )
        block = bytearray.fromhex(launch["parameters"])
        for pointer in launch["pointers"]:
            address = self._address(pointer["buffer"], pointer["offset"])
            block[pointer["at"] : pointer["at"] + 8] = address.to_bytes(8, "little")
        for entry in launch["tensor_maps"]:
            block[entry["at"] : entry["at"] + 128] = self._encoded(entry)
        data = ctypes.create_string_buffer(bytes(block), max(len(block), 1))
        size = ctypes.c_size_t(len(block))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(data), 2, ctypes.addressof(size), None)
        attributes = (Attribute * 2)()
        count = 0
        if launch["cluster"] != [1, 1, 1]:
            attributes[count].id = _CLUSTER
            attributes[count].value[:3] = launch["cluster"]
            count += 1
        if launch["cooperative"]:
            attributes[count].id = _COOPERATIVE
            attributes[count].value[0] = 1
            count += 1
        config = Config(
            (ctypes.c_uint * 3)(*launch["grid"]),
            (ctypes.c_uint * 3)(*launch["block"]),
            launch["shared_bytes"],
            None,
            attributes,
            count,
        )
        check(
            driver.cuLaunchKernelEx(ctypes.byref(config), function, None, extra),
            f"cuLaunchKernelEx {launch['function']}",
        )

    def _encoded(self, entry: dict) -> bytes:
        room = ctypes.create_string_buffer(192)
        start = -(-ctypes.addressof(room) // 64) * 64
        rank = len(entry["sizes"])
        check(
            driver.cuTensorMapEncodeTiled(
                ctypes.c_void_p(start),
                entry["data_type"],
                ctypes.c_uint32(rank),
                ctypes.c_void_p(self._address(entry["buffer"], entry["offset"])),
                (ctypes.c_uint64 * rank)(*entry["sizes"]),
                (ctypes.c_uint64 * max(rank - 1, 1))(*entry["strides_bytes"]),
                (ctypes.c_uint32 * rank)(*entry["box"]),
                (ctypes.c_uint32 * rank)(*entry["element_strides"]),
                entry["interleave"],
                entry["swizzle"],
                entry["l2_promotion"],
                entry["oob_fill"],
            ),
            "cuTensorMapEncodeTiled",
        )
        return ctypes.string_at(start, 128)


def main() -> None:
    folder = Path(sys.argv[1])
    check(driver.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "a context")
    check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    results = {}
    for case in json.loads((folder / "index.json").read_text())["cases"]:
        place = folder / case["name"]
        if not (place / "plan").exists():
            continue
        inputs = [path.read_bytes() for path in sorted(place.glob("input*"))]
        expected = [path.read_bytes() for path in sorted(place.glob("output*"))]
        try:
            replay = Replay((place / "plan").read_bytes(), inputs)
            equal = replay.run() == expected
            again = replay.run() == expected
            replay.close()
            results[case["name"]] = {"equal": equal, "equal_again": again}
        except RuntimeError as error:
            results[case["name"]] = {"equal": False, "error": str(error)}
        (folder / "replayed.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
