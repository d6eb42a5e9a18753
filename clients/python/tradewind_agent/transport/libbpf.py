"""The part of libbpf that loads a congestion control and keeps it by a pinned link; by ctypes, without a compiler."""

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradewind_agent.errors import OtherVersionLoaded, TransportFailed
from tradewind_agent.transport.requirements import LIBRARY

_BPF_F_LINK = 1 << 13
"""Of linux/bpf.h: the map waits for a link. libbpf before 1.2 does not know it, so that we set it and make the link."""

_BPF_STRUCT_OPS = 44
"""``enum bpf_attach_type`` of linux/bpf.h."""

_BPF_MAP_TYPE_ARRAY = 2
"""``enum bpf_map_type``; the constants of an object are one of a single value, by a key of four bytes."""

_KEY_BYTES = 4

_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_LINE_BYTES = 4096


class _MapInfo(ctypes.Structure):
    """The begin of ``struct bpf_map_info``; the kernel fills as much as it is given room for."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("key_size", ctypes.c_uint32),
        ("value_size", ctypes.c_uint32),
    )


class Library:
    """libbpf of this host; its warnings are stored for error messages."""

    def __init__(self) -> None:
        self._bpf = ctypes.CDLL(LIBRARY, use_errno=True)
        for name in ("bpf_object__open_file", "bpf_object__find_map_by_name", "bpf_map__attach_struct_ops"):
            getattr(self._bpf, name).restype = ctypes.c_void_p
        self._warnings: list[str] = []
        self._callback = _PRINT(self._hear)
        self._bpf.libbpf_set_print(self._callback)

    def load(self, object_path: Path, *, name: str, constants: bytes, pins: "Pins") -> None:
        """Load ``object_path`` with these read-only constants, register its ``name`` and pin what keeps it.

        Raises
        ------
        TransportFailed : the kernel refuses; nothing of it stays loaded then.
        """
        opened = self._must(self._bpf.bpf_object__open_file(os.fsencode(object_path), None), "open the object")
        handle = ctypes.c_void_p(opened)
        try:
            operations, held = self._map(handle, name), self._map(handle, ".rodata")
            self._require_zero(
                self._bpf.bpf_map__set_initial_value(held, constants, len(constants)), "set its parameters"
            )
            self._require_zero(self._bpf.bpf_map__set_map_flags(operations, _BPF_F_LINK), "ask for a link")
            self._require_zero(self._bpf.bpf_object__load(handle), "load the programs")
            with self._register(operations) as link:
                self._pin(self._bpf.bpf_map__fd(held), pins.parameters)
                try:
                    self._pin(link, pins.link)
                except TransportFailed:
                    pins.parameters.unlink(missing_ok=True)
                    raise
        finally:
            self._bpf.bpf_object__close(handle)

    def read_constants(self, pinned: Path, size: int) -> bytes:
        """Return the constants of a loaded object.

        Raises
        ------
        OtherVersionLoaded : they have another size; the kernel would write them beyond the room for ours.
        TransportFailed : they cannot be read.
        """
        descriptor = self._bpf.bpf_obj_get(os.fsencode(pinned))
        if descriptor < 0:
            raise _build_failure(f"{pinned} cannot be read", ctypes.get_errno())
        try:
            self._require_form(descriptor, pinned, size)
            key, value = ctypes.c_uint32(0), ctypes.create_string_buffer(size)
            if self._bpf.bpf_map_lookup_elem(descriptor, ctypes.byref(key), value):
                raise _build_failure(f"{pinned} cannot be read", ctypes.get_errno())
            return value.raw
        finally:
            os.close(descriptor)

    def _require_form(self, descriptor: int, pinned: Path, size: int) -> None:
        info, info_bytes = _MapInfo(), ctypes.c_uint32(ctypes.sizeof(_MapInfo))
        if self._bpf.bpf_obj_get_info_by_fd(descriptor, ctypes.byref(info), ctypes.byref(info_bytes)):
            raise _build_failure(f"{pinned} cannot be read", ctypes.get_errno())
        if (info.type, info.key_size) != (_BPF_MAP_TYPE_ARRAY, _KEY_BYTES):
            raise OtherVersionLoaded(f"{pinned} holds no parameters in a form that this version knows")
        if info.value_size != size:
            raise OtherVersionLoaded(f"its parameters have {info.value_size} bytes where this version's have {size}")

    @contextmanager
    def _register(self, operations: ctypes.c_void_p) -> Iterator[int]:
        """Register the congestion control and yield its link, which is closed at the end; then a pin must keep it."""
        attached = self._must(self._bpf.bpf_map__attach_struct_ops(operations), "register it")
        table, link = self._bpf.bpf_map__fd(operations), self._bpf.bpf_link__fd(ctypes.c_void_p(attached))
        if link == table:  # libbpf before 1.2 has handed the table over, and no link
            link = self._bpf.bpf_link_create(table, 0, _BPF_STRUCT_OPS, None)
            if link < 0:
                raise _build_failure("the kernel refuses to register it", ctypes.get_errno())
        try:
            yield link
        finally:
            os.close(link)

    def _pin(self, descriptor: int, path: Path) -> None:
        if self._bpf.bpf_obj_pin(descriptor, os.fsencode(path)):
            raise _build_failure(f"{path} cannot be made", ctypes.get_errno())

    def _map(self, handle: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        return ctypes.c_void_p(
            self._must(self._bpf.bpf_object__find_map_by_name(handle, name.encode()), f"find {name}")
        )

    def _must(self, pointer: int | None, doing: str) -> int:
        if not pointer:
            raise self._build_refusal(doing, ctypes.get_errno())
        return pointer

    def _require_zero(self, result: int, doing: str) -> None:
        if result:
            raise self._build_refusal(doing, -result)

    def _build_refusal(self, doing: str, number: int) -> TransportFailed:
        info = next((line for line in self._warnings if "permission" not in line.lower()), "")
        reason = f"the kernel does not {doing}"
        return _build_failure(
            f"{reason} ({info})" if info and number not in (errno.EPERM, errno.EACCES) else reason, number
        )

    def _hear(self, level: int, form: bytes, values: int) -> int:
        if level == 0:  # a warning; else information
            line = ctypes.create_string_buffer(_LINE_BYTES)
            ctypes.CDLL(None).vsnprintf(line, _LINE_BYTES, form, ctypes.c_void_p(values))
            self._warnings.append(line.value.decode(errors="replace").strip())
        return 0


class Pins:
    """Names in the BPF file system that keep a congestion control loaded after the program that loaded it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.link = folder / "fld_tcp"
        self.parameters = folder / "fld_tcp_parameters"


def _build_failure(what: str, number: int) -> TransportFailed:
    advice = {
        errno.EPERM: "; run it with sudo, outside of a container",
        errno.EEXIST: "; another is registered under this name",
    }.get(number, "")
    return TransportFailed(f"{what}: {os.strerror(number)}{advice}")
