"""What host code may ask of a GPU that is not there.

Per-architecture limits are from the CUDA programming guide, appendix "Compute Capabilities",
table "Technical Specifications per Compute Capability": shared memory of a block and of a
multiprocessor, registers, resident threads. Figures of a product (multiprocessors, L2, memory,
bus, boost clock) are from NVIDIA's whitepapers and data sheets named beside each row.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEVICES", "Device", "device_for"]

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Device:
    """One product, as torch.cuda and Triton's driver would describe it.

    Attributes:
        name: What torch.cuda.get_device_name says.
        capability: Compute capability.
        multiprocessors: Streaming multiprocessors.
        memory_bytes: Global memory.
        l2_bytes: Level 2 cache.
        shared_optin_bytes: The most shared memory of one block.
        shared_sm_bytes: Shared memory of a multiprocessor.
        threads_sm: Resident threads of a multiprocessor.
        clock_khz: Boost clock of the multiprocessors.
        memory_clock_khz: Clock of the memory.
        bus_bits: Width of the memory bus.
        warp_size: Threads of a warp.
        registers_sm: 32-bit registers of a multiprocessor, and of a block.
    """

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    shared_optin_bytes: int
    shared_sm_bytes: int
    threads_sm: int
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int
    warp_size: int = 32
    registers_sm: int = 65536

    @property
    def target(self) -> str:
        """The architecture: "sm_90"."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


DEVICES = {
    # NVIDIA A100 Tensor Core GPU Architecture whitepaper, A100 SXM4 80 GB.
    "a100": Device(
        name="NVIDIA A100-SXM4-80GB",
        capability=(8, 0),
        multiprocessors=108,
        memory_bytes=80 * GIB,
        l2_bytes=40 * MIB,
        shared_optin_bytes=163 * KIB,
        shared_sm_bytes=164 * KIB,
        threads_sm=2048,
        clock_khz=1_410_000,
        memory_clock_khz=1_593_000,
        bus_bits=5120,
    ),
    # NVIDIA Ada GPU Architecture whitepaper, GeForce RTX 4090.
    "rtx4090": Device(
        name="NVIDIA GeForce RTX 4090",
        capability=(8, 9),
        multiprocessors=128,
        memory_bytes=24 * GIB,
        l2_bytes=72 * MIB,
        shared_optin_bytes=99 * KIB,
        shared_sm_bytes=100 * KIB,
        threads_sm=1536,
        clock_khz=2_520_000,
        memory_clock_khz=10_501_000,
        bus_bits=384,
    ),
    # NVIDIA H100 Tensor Core GPU Architecture whitepaper, H100 SXM5.
    "h100": Device(
        name="NVIDIA H100 80GB HBM3",
        capability=(9, 0),
        multiprocessors=132,
        memory_bytes=80 * GIB,
        l2_bytes=50 * MIB,
        shared_optin_bytes=227 * KIB,
        shared_sm_bytes=228 * KIB,
        threads_sm=2048,
        clock_khz=1_980_000,
        memory_clock_khz=2_619_000,
        bus_bits=5120,
    ),
    # NVIDIA H200 data sheet (141 GB, 4.8 TB/s); the rest as the H100 SXM5, whose die it has.
    "h200": Device(
        name="NVIDIA H200",
        capability=(9, 0),
        multiprocessors=132,
        memory_bytes=141 * 10**9,
        l2_bytes=50 * MIB,
        shared_optin_bytes=227 * KIB,
        shared_sm_bytes=228 * KIB,
        threads_sm=2048,
        clock_khz=1_980_000,
        memory_clock_khz=3_201_000,
        bus_bits=6144,
    ),
    # NVIDIA Blackwell architecture technical brief and HGX B200 data sheet (180 GB, 8 TB/s).
    "b200": Device(
        name="NVIDIA B200",
        capability=(10, 0),
        multiprocessors=148,
        memory_bytes=180 * 10**9,
        l2_bytes=126 * MIB,
        shared_optin_bytes=227 * KIB,
        shared_sm_bytes=228 * KIB,
        threads_sm=2048,
        clock_khz=1_965_000,
        memory_clock_khz=3_996_000,
        bus_bits=8192,
    ),
}

DEFAULTS = {"sm_80": "a100", "sm_89": "rtx4090", "sm_90": "h200", "sm_100": "b200"}


def device_for(target: str, name: str | None = None) -> Device:
    """Returns the row of the table that answers for `target`.

    Args:
        target: "sm_90" or "sm_90a"; the suffix does not matter here.
        name: What the driver calls the GPU. The target's usual one answers for a product that the
            table has not got.

    Raises:
        ValueError: The table has no row for the target.
    """
    plain = target.rstrip("af")
    for device in DEVICES.values():
        if device.name == name and device.target == plain:
            return device
    if plain not in DEFAULTS:
        raise ValueError(
            f"no target {target!r} in the device table, which has: {', '.join(DEFAULTS)}"
        )
    return DEVICES[DEFAULTS[plain]]
