"""Record the transfers of the sample data: ``python -m benchmarks.sample.record [NAME …]``.

Our agent, or rclone started by it, moves files from our own server over an emulated path of the testbed, with real TCP
between network namespaces; it needs what the testbed needs, and about a quarter of an hour. The records in the
repository were made by it, on a machine of two cores that had other work at the same time.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
from pathlib import Path

from benchmarks.demo.files import FileClass, write_folder
from benchmarks.sample.recordings import (
    CHANGES_AFTER_S,
    FOLDER,
    RECORDINGS,
    TUNED,
    TUNED_COUNT,
    TUNED_FILES,
    TUNED_TRANSFERS,
    Site,
)
from benchmarks.testbed import origins
from benchmarks.testbed.testbed import Testbed

PYTHON = (sys.executable, "-P", "-m")
PATIENCE_S = 1800.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*RECORDINGS, TUNED.stem]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--seed", type=int, default=17)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    selected = options.names or names
    for name in RECORDINGS:
        if name in selected:
            recording = RECORDINGS[name]
            _record_to(
                name, recording.site, recording.files, recording.count, FOLDER / f"{name}.ndjson", seed=options.seed
            )
    if TUNED.stem in selected:
        TUNED.unlink(missing_ok=True)
        for number, transfer in enumerate(TUNED_TRANSFERS):
            _record_to(str(number), transfer.site, TUNED_FILES, TUNED_COUNT, TUNED, seed=options.seed + number)
    return 0


def _record_to(name: str, site: Site, files: FileClass, count: int, to: Path, *, seed: int) -> None:
    """Append one recording, or one tuned transfer, to ``to``."""
    then = None if name in RECORDINGS else TUNED_TRANSFERS[int(name)].then
    with tempfile.TemporaryDirectory() as work:
        if name in RECORDINGS:
            to.unlink(missing_ok=True)
        Path(work).chmod(0o755)
        served = Path(work) / "served"
        write_folder(served / "set", {files: count}, random.Random(seed))
        with Testbed(site.path, seed=seed) as bed, origins.run_serve_files(bed, served) as url:
            if then is not None:
                changing = threading.Timer(CHANGES_AFTER_S, bed.change, (then,))
                changing.start()
            private = {f"XDG_{each}_HOME={work}" for each in ("CONFIG", "STATE", "CACHE")}
            command = ["env", *sorted(private), f"HOME={work}", f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}"]
            moving = [*PYTHON, "benchmarks.sample.moving", name, f"{url}set/", to]
            output = bed.run(bed.clients[0], [*command, *map(str, moving)], timeout_s=PATIENCE_S)
            sys.stdout.write(output)
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
