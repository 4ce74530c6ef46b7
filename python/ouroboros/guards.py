"""What the guards of the clock mean that a timed cell's `flags` name."""

from __future__ import annotations

__all__ = ["MEANINGS", "meaning"]

MEANINGS = {
    "autocorrelated": "Neighbouring blocks resembled each other. They were merged until they no "
    "longer did, so the interval rests on fewer and independent values.",
    "judged_on_host": "References and comparisons of this cell ran on the host, because PyTorch "
    "could not run or repeat the reference on the GPU. The times are not touched by that.",
    "multimodal": "Median and trimmed mean of the candidate's times differ by more than 1 %: the "
    "times have several modes, and no single figure describes them well.",
    "processor_not_leased": "The referee did not have the processor or the GPU to itself while "
    "this cell was timed: another judgement may have shared its caches.",
    "carryover": "The candidate runs differently after itself than after others, and not as the "
    "baseline does: what one arm leaves behind touches the next.",
    "clock_confounded": "The ratio in cycles differs from that in time by more than 0.3 %: the "
    "GPU's clock was not the same for both.",
    "contradicted": "The interval excludes 1, but random signs of the blocks are as extreme: the "
    "decision was withdrawn.",
    "first_meetings": "Second meetings with the same inputs favour one of the two by more than "
    "1 %: what is concluded rests on first meetings alone.",
    "gpu_shared": "Other processes had a context on this GPU.",
    "impossible_speed": "It is faster than the memory can deliver all of its inputs: it does not "
    "need them all, or the measurement is wrong.",
    "launch_bound": "The kernel takes about as long as an empty launch, or as the gap between two "
    "calls: nothing was subtracted, and the ratio is pulled towards 1.",
    "memory": "The candidate is quicker when it meets the same inputs a second time, more than the "
    "baseline is.",
    "not_deterministic": "Two runs on the same inputs did not agree in every bit.",
    "slowdown": "The GPU held its clocks down, for the reason that follows.",
    "starved": "In more than a tenth of the blocks the GPU had run out of work before a sample was "
    "handed over whole: these blocks were left out.",
}
"""By the part of a flag before its colon; what follows the colon says where or how often."""


def meaning(flag: str) -> str:
    """Returns a sentence or two about a flag, or an empty string for one that is not known."""
    return MEANINGS.get(flag.partition(":")[0], "")
