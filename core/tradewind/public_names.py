"""Public names of a package that are loaded when they are first used."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def load_lazily(package: str, names_by_module: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the package's ``__getattr__`` (PEP 562): a program pays for the modules that it uses, not for all that
    there are.

    ``names_by_module`` : public names under the module of the package that defines them.
    """
    module_by_name = {name: module for module, names in names_by_module.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_by_name[name]}"), name)

    return load
