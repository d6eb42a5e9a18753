"""Write the generated pages of the reference: ``python -m infra.reference``, after a wanted change in the code."""

import sys

from infra.reference.pages import write_pages


def main() -> int:
    """Write every page; what differs from what is committed is seen in review."""
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
