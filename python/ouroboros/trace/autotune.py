"""@triton.autotune without a clock: every surviving configuration becomes a plan variant.

The referee picks the fastest on its own clock. What is recorded of a configuration is what
Triton does once it has picked it: what Triton only does while it tunes (reset_to_zero,
restore_value) is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner, Config
from triton.runtime.errors import OutOfResources, PTXASError

from ouroboros.trace.refusal import RefusalError

__all__ = ["Choices", "DroppedConfigError", "install"]

# What makes Triton drop a configuration while it tunes.
DROPPED = (OutOfResources, CompileTimeAssertionFailure, PTXASError)


class DroppedConfigError(BaseException):
    """A configuration does not compile for the target; `cause` says why."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass
class _Choice:
    """One autotuner with one tuning key: one decision."""

    name: str
    configs: list[Any]
    index: int = 0
    dead: set[int] = field(default_factory=set)

    def alive(self) -> list[int]:
        return [index for index in range(len(self.configs)) if index not in self.dead]


class Choices:
    """Which configuration each autotuner of the candidate uses in the next call."""

    def __init__(self) -> None:
        self._choices: dict[Any, _Choice] = {}
        self._last: _Choice | None = None

    def pick(self, key: Any, name: str, configs: list[Any]) -> Any:
        """Returns the configuration for this decision."""
        choice = self._choices.setdefault(key, _Choice(name, configs))
        self._last = choice
        return choice.configs[choice.index]

    def drop(self) -> bool:
        """Gives up the configuration picked last; False when its autotuner has no other."""
        assert self._last is not None
        self._last.dead.add(self._last.index)
        alive = self._last.alive()
        if alive:
            self._last.index = alive[0]
        return bool(alive)

    def others(self) -> Iterator[None]:
        """Varies one decision at a time, the others at their first configuration."""
        for choice in list(self._choices.values()):
            first = choice.index
            for index in range(first + 1, len(choice.configs)):
                choice.index = index
                yield
            choice.index = first

    @property
    def several(self) -> bool:
        """Whether there is anything to choose."""
        return any(len(choice.configs) > 1 for choice in self._choices.values())

    def text(self) -> str:
        """Returns the present configuration in words; empty when there is one only."""
        if not self.several:
            return ""
        texts = [
            (choice.name, describe(choice.configs[choice.index]))
            for choice in self._choices.values()
        ]
        if len(texts) == 1:
            return texts[0][1]
        return "; ".join(f"{name}: {text}" for name, text in texts)


def describe(config: Config) -> str:
    """Returns a configuration in words: "BLOCK=1024 num_warps=8 num_stages=3"."""
    values = {
        **config.kwargs,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        **({"num_ctas": config.num_ctas} if config.num_ctas != 1 else {}),
        **({"maxnreg": config.maxnreg} if config.maxnreg is not None else {}),
    }
    return " ".join(f"{key}={value}" for key, value in values.items())


class _Installed:
    """The choices that autotuners ask; one process traces one candidate."""

    choices = Choices()
    original: Any = None


def install(choices: Choices) -> None:
    """Makes every autotuner of this process ask `choices`."""
    _Installed.choices = choices
    if _Installed.original is None:
        _Installed.original = Autotuner.run
        Autotuner.run = _run


def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
    for hook in ("pre_hook", "post_hook"):
        if getattr(self, f"user_defined_{hook}"):
            raise RefusalError.unsupported(
                f"triton.autotune {hook}", "it runs while Triton tunes, which a dry trace does not"
            )
    configs = self.configs
    if len(configs) > 1:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        survivors = self.prune_configs(kwargs)
    else:
        survivors = list(configs)
    config = _Installed.choices.pick(
        (id(self), _tuning_key(self, args, kwargs)), self.base_fn.__name__, survivors
    )
    # With one configuration Triton's own code neither tunes nor measures.
    self.configs = [config]
    try:
        return _Installed.original(self, *args, **kwargs)
    except DROPPED as error:
        raise DroppedConfigError(error) from error
    finally:
        self.configs = configs


def _tuning_key(autotuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    named = {**dict(zip(autotuner.arg_names, args, strict=False)), **kwargs}
    named = {name: value for name, value in named.items() if name in autotuner.arg_names}
    key = [repr(named[name]) for name in autotuner.keys if name in named]
    return tuple(key + [str(value.dtype) for value in named.values() if hasattr(value, "dtype")])
