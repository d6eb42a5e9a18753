"""Record the transfers of the sample data: ``python -m benchmarks.sample.record [NAME …]``.

Our agent, or rclone started by it, moves files from our own server over an emulated path of the testbed, with real TCP
between network namespaces; needs what the testbed needs. About a quarter of an hour. What is in the repository was
recorded so, on a machine of two cores that had other work beside it.
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
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = asked.names or names
    for name in RECORDINGS:
        if name in wanted:
            recording = RECORDINGS[name]
            _moved(name, recording.site, recording.files, recording.count, FOLDER / f"{name}.ndjson", seed=asked.seed)
    if TUNED.stem in wanted:
        TUNED.unlink(missing_ok=True)
        for number, transfer in enumerate(TUNED_TRANSFERS):
            _moved(str(number), transfer.site, TUNED_FILES, TUNED_COUNT, TUNED, seed=asked.seed + number)
    return 0


def _moved(name: str, site: Site, files: FileClass, count: int, to: Path, *, seed: int) -> None:
    """Have one recording, or one tuned transfer, appended to ``to``."""
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
            told = bed.run(bed.clients[0], [*command, *map(str, moving)], timeout_s=PATIENCE_S)
            sys.stdout.write(told)
            sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
