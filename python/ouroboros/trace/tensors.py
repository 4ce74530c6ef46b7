"""Tensors with an address and no memory, and what may be done with them.

Geometry is computed by PyTorch itself on meta tensors. Allocations, fills and copies are recorded.
Everything else depends on what is in memory, and ends the trace with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch
from torch._library.custom_ops import OPDEFS
from torch.library import _impls
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ouroboros.trace import moves
from ouroboros.trace.arena import Block
from ouroboros.trace.overlap import overlap, overlaps_itself
from ouroboros.trace.pretend import CUDA, PretendedDevice, to_cuda
from ouroboros.trace.recorder import Place, Recorder
from ouroboros.trace.refusal import RefusalError

__all__ = ["ArenaTensor", "TraceMode", "allocate", "dense_bytes", "same_geometry"]


class ArenaTensor(torch.Tensor):
    """A tensor on the device that is not there.

    Attributes:
        meta: Its geometry.
        block: The allocation that it lies in.
        recorder: Who is told of launches.
    """

    meta: torch.Tensor
    block: Block
    recorder: Recorder

    @staticmethod
    def __new__(cls, meta: torch.Tensor, block: Block, recorder: Recorder) -> ArenaTensor:
        """Returns a tensor of the geometry of `meta` in `block`."""
        tensor: ArenaTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            meta.size(),
            strides=meta.stride(),
            storage_offset=meta.storage_offset(),
            dtype=meta.dtype,
            layout=meta.layout,
            device=CUDA,
        )
        tensor.meta = meta
        tensor.block = block
        tensor.recorder = recorder
        return tensor

    # Without this, results of functions would be wrapped a second time.
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, ArenaTensor):
                return dispatch(leaf.recorder, func, args, kwargs or {})
        return NotImplemented

    @property
    def place(self) -> Place:
        """Where the first element lies."""
        return Place(self.block, int(self.meta.storage_offset()) * self.meta.element_size())

    def data_ptr(self) -> int:
        """Returns the address; as in PyTorch, a tensor without elements has none."""
        return self.block.address + self.place.offset if self.meta.numel() else 0

    # A build of PyTorch without CUDA asks for CUDA's current device in the C++ code of these
    # methods, before it gets to `dispatch`.

    def __getitem__(self, index: Any) -> ArenaTensor:
        if any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(index)):
            refuse("aten::index.Tensor")
        view = self.meta[index]
        if view.untyped_storage()._cdata != self.meta.untyped_storage()._cdata:
            refuse("aten::index.Tensor")
        return ArenaTensor(view, self.block, self.recorder)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self[index].copy_(value)
        else:
            self[index].fill_(value)

    def contiguous(self, memory_format: Any = torch.contiguous_format) -> torch.Tensor:
        """Returns this tensor, or a copy."""
        if self.meta.is_contiguous(memory_format=memory_format):
            return self
        return self.clone(memory_format=memory_format)

    def copy_(self, source: torch.Tensor, non_blocking: bool = False) -> ArenaTensor:
        """Records a copy."""
        _assign(self, source, "aten::copy_")
        return self

    def cuda(self, *_: Any, **__: Any) -> ArenaTensor:
        """Returns this tensor: it is there already."""
        return self

    def to(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Returns this tensor where nothing changes; a cast is refused."""
        named = {k: to_cuda(value) if k == "device" else value for k, value in kwargs.items()}
        made: torch.Tensor = super().to(*map(to_cuda, args), **named)
        return made

    def item(self) -> Any:
        """Refused: it needs data."""
        refuse("aten::_local_scalar_dense")

    __bool__ = __complex__ = __float__ = __index__ = __int__ = item

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        # What is printed on the way is for nobody; it has no data, as a meta tensor's has none.
        return repr(self.meta).replace("device='meta'", f"device='{self.device}'")

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.dim() == 0 else repr(self), spec)

    def tolist(self) -> Any:
        """Refused: it needs data."""
        refuse("Tensor.tolist")

    def numpy(self, **_: Any) -> Any:
        """Refused: it needs data."""
        refuse("Tensor.numpy")

    def __array__(self, *_: Any, **__: Any) -> Any:
        refuse("Tensor.__array__")

    def __dlpack__(self, **_: Any) -> Any:
        refuse("Tensor.__dlpack__")


class TraceMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Catches what makes tensors on the device out of nothing."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return dispatch(self.recorder, func, args, kwargs or {})


def refuse(op: str) -> NoReturn:
    """Ends the trace."""
    raise RefusalError.needs_device(op)


def allocate(recorder: Recorder, meta: torch.Tensor) -> ArenaTensor:
    """Returns a tensor of this geometry in a block of its own."""
    return ArenaTensor(meta, recorder.allocate(meta.untyped_storage().nbytes()), recorder)


def dense_bytes(meta: torch.Tensor) -> int | None:
    """Returns how many bytes a tensor covers; None when there are gaps or elements overlap."""
    expected = 1
    for stride, size in sorted(
        (stride, size) for size, stride in zip(meta.size(), meta.stride(), strict=True) if size != 1
    ):
        if meta.numel() and stride != expected:
            return None
        expected *= size
    return meta.numel() * meta.element_size()


def same_geometry(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether both have the same shape, and the same strides where these mean something."""
    return first.size() == second.size() and all(
        size == 1 or one == other
        for size, one, other in zip(first.size(), first.stride(), second.stride(), strict=True)
    )


# What new memory holds: nothing in particular, or the value that the function finds.
Filler = Callable[[Sequence[Any], dict[str, Any]], Any]
EMPTY = {
    "aten::empty",
    "aten::empty_like",
    "aten::empty_permuted",
    "aten::empty_strided",
    "aten::new_empty",
    "aten::new_empty_strided",
}
FILLED: dict[str, Filler] = {
    "aten::zeros": lambda args, kwargs: 0,
    "aten::zeros_like": lambda args, kwargs: 0,
    "aten::new_zeros": lambda args, kwargs: 0,
    "aten::ones": lambda args, kwargs: 1,
    "aten::ones_like": lambda args, kwargs: 1,
    "aten::new_ones": lambda args, kwargs: 1,
    "aten::full": lambda args, kwargs: args[1],
    "aten::full_like": lambda args, kwargs: args[1],
    "aten::new_full": lambda args, kwargs: args[2],
    "aten::scalar_tensor": lambda args, kwargs: args[0],
}


def _cat(made: ArenaTensor, args: Sequence[Any], kwargs: dict[str, Any]) -> Parts:
    axis = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    begin = 0
    for source in args[0]:
        if source.dim() == made.dim():  # PyTorch leaves empty vectors out.
            yield made.narrow(axis, begin, source.size(axis)), source
            begin += source.size(axis)


def _stack(made: ArenaTensor, args: Sequence[Any], kwargs: dict[str, Any]) -> Parts:
    axis = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    for index, source in enumerate(args[0]):
        yield made.select(axis, index), source


def _pad(made: ArenaTensor, args: Sequence[Any], kwargs: dict[str, Any]) -> Parts:
    inside: torch.Tensor = made
    source, pad = args[:2]
    yield made, torch.tensor(args[2] if len(args) > 2 else kwargs.get("value", 0))
    for number, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        axis = source.dim() - 1 - number
        kept = source.size(axis) + min(before, 0) + min(after, 0)
        source = source.narrow(axis, max(-before, 0), kept)
        inside = inside.narrow(axis, max(before, 0), kept)
    yield inside, source


def _repeat(made: ArenaTensor, args: Sequence[Any], kwargs: dict[str, Any]) -> Parts:
    source, times = args
    shape = (1,) * (len(times) - source.dim()) + tuple(source.shape)
    # Each axis is one of repetitions, and one of what is repeated.
    yield (
        made.view([n for both in zip(times, shape, strict=True) for n in both]),
        source.view([n for size in shape for n in (1, size)]),
    )


# What new memory is put together from: views of it, and what goes there.
Parts = Iterator[tuple[torch.Tensor, torch.Tensor]]
PUT_TOGETHER: dict[str, Callable[[ArenaTensor, Sequence[Any], dict[str, Any]], Parts]] = {
    "aten::cat": _cat,
    "aten::constant_pad_nd": _pad,
    "aten::repeat": _repeat,
    "aten::stack": _stack,
}
# Tables of numbers that follow from a few: made on the host, they are state like others of its own.
TABLES = {
    "aten::eye",
    "aten::linspace",
    "aten::logspace",
    "aten::tril_indices",
    "aten::triu_indices",
}
# Views that the schema does not call so.
VIEWS = {"aten::_unsafe_view", "aten::detach", "aten::lift_fresh"}
VIEWS_IN_PLACE = {"aten::squeeze_", "aten::t_", "aten::transpose_", "aten::unsqueeze_"}
# What an operator of a `torch.library.Library` is registered for, if for this device.
KEYS = ("CUDA", "CompositeExplicitAutograd")


def dispatch(recorder: Recorder, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Carries out one ATen operation, or refuses it."""
    name, op = func._schema.name, func.name()
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, ArenaTensor)]
    device = kwargs.get("device")
    on_device = torch.device(device).type == "cuda" if device is not None else bool(tensors)
    if not tensors and not on_device:
        return func(*args, **kwargs)

    if name in EMPTY or name in FILLED:
        if not on_device:
            return func(*_unwrap(args), **kwargs)
        options = {key: value for key, value in kwargs.items() if key != "pin_memory"}
        made = allocate(recorder, func(*_unwrap(args), **{**options, "device": "meta"}))
        if name in FILLED:
            _fill(made, FILLED[name](args, kwargs), op)
        return made
    if func.is_view or name in VIEWS:
        (source,) = tensors
        return tree_map(
            lambda leaf: (
                ArenaTensor(leaf, source.block, recorder)
                if isinstance(leaf, torch.Tensor)
                else leaf
            ),
            func(*_unwrap(args), **_unwrap(kwargs)),
        )
    if name in VIEWS_IN_PLACE:
        func(*_unwrap(args))
        with no_dispatch():  # What PyTorch itself knows of the tensor changes, too.
            func(*args)
        return args[0]
    if name in ("aten::zero_", "aten::fill_"):
        value = args[1] if name == "aten::fill_" else 0
        if isinstance(value, ArenaTensor) or not isinstance(args[0], ArenaTensor):
            refuse(op)
        _fill(args[0], value.item() if isinstance(value, torch.Tensor) else value, op)
        return args[0]
    if name in ("aten::clone", "aten::_to_copy") and on_device:
        if not tensors:
            return _upload(recorder, func(*args, **{**kwargs, "device": "cpu"}), op)
        source = tensors[0]
        options = {**kwargs, "device": "meta"} if name == "aten::_to_copy" else kwargs
        options.pop("pin_memory", None)
        made = allocate(recorder, func(source.meta, **options))
        _copy(made, source, op)
        return made
    if name in PUT_TOGETHER:
        made = allocate(recorder, func(*_unwrap(args), **_unwrap(kwargs)))
        for part, content in PUT_TOGETHER[name](made, args, kwargs):
            _assign(part, content, op)
        return made
    if name == "aten::flip":
        made = allocate(recorder, func(*_unwrap(args)))
        if not moves.can_cast(made.dtype, made.dtype):
            refuse(op)
        moves.copy(made, args[0], backwards={axis % made.dim() for axis in args[1]})
        return made
    if name == "aten::arange" and on_device:
        return _arange(recorder, func, args, kwargs, op)
    if name in TABLES and not tensors:
        options = {key: value for key, value in kwargs.items() if key != "pin_memory"}
        return _upload(recorder, func(*args, **{**options, "device": "cpu"}), op)
    if name == "aten::copy_" and isinstance(args[0], ArenaTensor):
        _assign(args[0], args[1], op)
        return args[0]
    if name == "aten::is_pinned":
        return False
    if name in OPDEFS:
        # The candidate's own operator, registered with torch.library: what it does is host code.
        defined = OPDEFS[name]
        kernels = (defined._backend_fns.get(device) for device in ("cuda", None))
        function = next(filter(None, kernels), defined._init_fn)
        with TraceMode(recorder), PretendedDevice():
            return function(*args, **kwargs)
    if any(f"{op.replace('::', '/')}/{key}" in _impls for key in KEYS):  # Or by a Library.
        with TraceMode(recorder), PretendedDevice():
            keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
            return func.redispatch(keys, *args, **kwargs)
    refuse(op)


def _unwrap(tree: Any) -> Any:
    return tree_map(lambda leaf: leaf.meta if isinstance(leaf, ArenaTensor) else leaf, tree)


def _arange(
    recorder: Recorder, func: Any, args: Sequence[Any], kwargs: dict[str, Any], op: str
) -> ArenaTensor:
    first = args[0] if len(args) > 1 else 0
    step = args[2] if len(args) > 2 else 1
    options = {key: value for key, value in kwargs.items() if key != "pin_memory"}
    made = allocate(recorder, func(*args, **{**options, "device": "meta"}))
    if not (type(first) is int and type(step) is int and moves.can_cast(torch.int64, made.dtype)):
        refuse(op)
    moves.count(made, first, step)
    return made


def _upload(recorder: Recorder, source: torch.Tensor, op: str) -> ArenaTensor:
    """Returns what a tensor of the host is on the device: state, which every call begins with."""
    if source.device.type != "cpu" or source.layout is not torch.strided:
        refuse(op)
    dense = source.detach().contiguous()
    addresses = dense.view(-1).tolist() if dense.dtype == torch.int64 else []
    if any(map(recorder.arena.find, addresses)):
        raise RefusalError.unsupported(
            "an address among values of the host", "in a replay tensors lie elsewhere"
        )
    contents = dense.view(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
    return ArenaTensor(torch.empty_like(dense, device="meta"), recorder.upload(contents), recorder)


def _check_written(target: ArenaTensor) -> None:
    if overlaps_itself(target.meta):
        # In the words of PyTorch, which host code may catch.
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def _fill(target: ArenaTensor, value: Any, op: str) -> None:
    _check_written(target)
    pattern = bytes(torch.full((1,), value, dtype=target.dtype).view(torch.uint8).tolist())
    size = dense_bytes(target.meta)
    if size is not None and target.recorder.memset(target.place, size, pattern):
        return
    # One element, written in pieces that a memset takes, and copied to all places.
    one = allocate(target.recorder, torch.empty((1,), dtype=target.dtype, device="meta"))
    for offset in range(0, len(pattern), 4):
        piece = pattern[offset : offset + 4]
        target.recorder.memset(Place(one.block, offset), len(piece), piece)
    _copy(target, one.expand(target.shape), op)


def _assign(target: Any, source: torch.Tensor, op: str) -> None:
    if isinstance(source, ArenaTensor):
        _copy(target, source.expand(target.shape), op)
    elif source.numel() == 1:
        _fill(target, source.item(), op)
    else:
        _copy(target, _upload(target.recorder, source, op).expand(target.shape), op)


def _copy(target: Any, source: Any, op: str) -> None:
    _check_written(target)
    size = dense_bytes(target.meta)
    alike = target.dtype == source.dtype and same_geometry(target.meta, source.meta)
    if alike and target.place == source.place:
        return
    if target.block is source.block and overlap(target.meta, source.meta):
        raise RefusalError.unsupported(op, "source and destination overlap")
    if alike and size is not None:
        target.recorder.copy(target.place, source.place, size)
    elif moves.can_cast(source.dtype, target.dtype):
        moves.copy(target, source)
    else:
        refuse(f"{op} from {source.dtype} to {target.dtype}")
