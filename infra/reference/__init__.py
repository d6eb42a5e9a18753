"""Pages of the reference that code describes best, written from the code: ``python -m infra.reference``.

Begin with ``pages``, which lists them; each other module renders one of them. `./run check` refuses pages that differ
from what the code gives.
"""
