"""SDK: read exported Parquet files of one tenant from a folder or an object store, without the service.

A condition on the column that a folder is divided by (``day``, or ``month`` in the folders of months) opens the files
of those days or months alone. In a month's file, a condition on ``day`` skips the parts that hold other days.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from tradewind.errors import InvalidValue
from tradewind_agent.service.libraries import import_library

BY_DAY = ("transfers", "heartbeats", "quotes")
BY_MONTH = tuple(f"{view}_by_month" for view in BY_DAY)
DIMENSIONS = ("links", "endpoints", "clusters", "tiers", "customers")
NAMES = (*BY_DAY, *BY_MONTH, *DIMENSIONS)

_TENANT = "tenant="


class Exports:
    """Exported files of one tenant.

    Parameters
    ----------
    place : folder, or URL of an object store such as ``s3://bucket/folder``, as ``Warehouse.exports`` gives it.
    tenant : whose files; needed where the place has those of several.
    """

    def __init__(self, place: str | os.PathLike[str], *, tenant: UUID | str | None = None) -> None:
        files = import_library("pyarrow.fs", "arrow")
        root = os.fspath(place)
        if "://" in root:
            self._files, self._root = files.FileSystem.from_uri(root)
        else:
            self._files, self._root = files.LocalFileSystem(), str(Path(root).resolve())
        self._tenant = None if tenant is None else str(tenant)

    def list_names(self) -> Sequence[str]:
        """Return what there is: views, their months, and dimensions."""
        return [name for name in NAMES if self._list_tenants(name)]

    def dataset(self, name: str) -> Any:
        """Return a ``pyarrow.dataset.Dataset`` of a view, its months or a dimension; nothing is read yet but schemas.

        A column that older files lack is NULL there.

        Raises
        ------
        InvalidValue : there is nothing of that name, or the place has files of several tenants.
        """
        pyarrow, dataset = import_library("pyarrow", "arrow"), import_library("pyarrow.dataset", "arrow")
        files = import_library("pyarrow.fs", "arrow")
        folder = self._find_folder(name)
        keys = {"day": pyarrow.date32()} if name in BY_DAY else {"month": pyarrow.string()} if name in BY_MONTH else {}
        options = dataset.FileSystemFactoryOptions(
            partition_base_dir=folder,
            partitioning=dataset.partitioning(pyarrow.schema(keys), flavor="hive"),
            exclude_invalid_files=False,
        )
        selected = files.FileSelector(folder, recursive=True)
        factory = dataset.FileSystemDatasetFactory(self._files, selected, dataset.ParquetFileFormat(), options)
        try:
            schema = factory.inspect(promote_options="permissive", fragments=None)
        except pyarrow.ArrowTypeError as differ:
            raise InvalidValue(
                "name", f"files of {name} have different types, as those of earlier versions; read {name}_by_month"
            ) from differ
        return factory.finish(schema)

    def table(self, name: str) -> Any:
        """Return all rows as a ``pyarrow.Table``, as of a dimension."""
        return self.dataset(name).to_table()

    def duckdb(self) -> Any:
        """Return a DuckDB connection with a view for each name; it passes conditions on to the files."""
        connection = import_library("duckdb", "duckdb").connect()
        for name in self.list_names():
            connection.register(name, self.dataset(name))
        return connection

    def _find_folder(self, name: str) -> str:
        if name not in NAMES:
            raise InvalidValue("name", f"{name!r} is none of {', '.join(NAMES)}")
        tenants = self._list_tenants(name)
        if not tenants:
            raise InvalidValue("name", f"nothing of {name} is exported to {self._root}")
        if len(tenants) > 1:
            raise InvalidValue("tenant", f"{self._root} has files of {len(tenants)} tenants; name one")
        return f"{self._root}/{name}/{_TENANT}{tenants[0]}"

    def _list_tenants(self, name: str) -> Sequence[str]:
        files = import_library("pyarrow.fs", "arrow")
        found = self._files.get_file_info(files.FileSelector(f"{self._root}/{name}", allow_not_found=True))
        tenants = sorted(each.base_name.removeprefix(_TENANT) for each in found if each.base_name.startswith(_TENANT))
        return [tenant for tenant in tenants if self._tenant in (None, tenant)]
