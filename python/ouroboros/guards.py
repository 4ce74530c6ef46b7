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
    "starved": "In more than 1 % of the samples the GPU had run out of work before the sample was "
    "handed over whole: their times may hold some of the host's.",
}
"""By the part of a flag before its colon; what follows the colon says where or how often."""


def meaning(flag: str) -> str:
    """Returns a sentence or two about a flag, or an empty string for one that is not known."""
    return MEANINGS.get(flag.partition(":")[0], "")
