"""What a release measures anew on a GPU, one step after the other.

    python -m benchmarks.campaign --out FOLDER [--only NAME,NAME] [--budget SECONDS]

Each step is a process of its own with a time limit, so that one that hangs or fails costs only
itself; what it printed is in FOLDER/NAME.log. With `--budget` a step begins only if its limit
still fits in; all limits together are 42 minutes, and without `new-lengths` and `batch-sweep` they
took 18 on an H200. The steps are in an order in which later ones find the kernels that earlier ones
have compiled. Without a GPU all but `article` run the small model on the CPU: a rehearsal.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 15
"""From ctrl-c, at which each of them writes what it has so far, to the end."""


@dataclass(frozen=True)
class Step:
    """`command` follows the interpreter; {out} stands for the folder."""

    name: str
    limit_s: int
    command: str


STEPS = (
    Step("gpu-tests", 120, "-m pytest -q -m gpu -p no:cacheprovider tests/gpu"),
    Step("bench-a", 460, "-m idlegap bench --json {out}/bench-a.json"),
    Step("bench-b", 400, "-m idlegap bench --json {out}/bench-b.json"),
    Step("compare", 30, "-m idlegap compare {out}/bench-a.json {out}/bench-b.json"),
    Step("article", 300, "-m benchmarks.article --json {out}/article.json"),
    Step(
        "demo",
        300,
        "benchmarks/make_demo.py --pace 0.6 --out {out}/demo.jsonl.gz --figures {out}/demo-figures.json",
    ),
    Step(
        "observer",
        240,
        "benchmarks/observer.py --json {out}/observer-screen.json --pairs 20 --seconds 0.6 --fps 4 --sizes "
        "120x40 --hosting process --no-sensors",
    ),
    Step(
        "sensors",
        200,
        "benchmarks/observer.py --json {out}/observer.json --pairs 60 --seconds 0.6 --fps 4 --sizes "
        "--hosting process --modes eager-static --no-screen",
    ),
    Step("new-lengths", 150, "-m benchmarks.new_lengths --json {out}/new-lengths.json"),
    Step("batch-sweep", 150, "-m benchmarks.batch_sweep --json {out}/batch-sweep.json"),
    Step("tour", 400, "benchmarks/screen_tour.py --out {out}/tour --compiled --compile-limit 120 --watch 5"),
)


def main() -> None:
    """Exit code 1 where a step failed or did not fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default=",".join(step.name for step in STEPS), help="names, by commas")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS")
    given = parser.parse_args()
    wanted = given.only.split(",")
    unknown = set(wanted) - {step.name for step in STEPS}
    if unknown:
        parser.error(f"no such step: {', '.join(sorted(unknown))}")
    given.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + given.budget
    outcomes = [run(step, given.out.resolve(), end) for step in STEPS if step.name in wanted]
    sys.exit(0 if all(outcome == 0 for outcome in outcomes) else 1)


def run(step: Step, out: Path, end: float) -> int | None:
    """Run one step and print how it ended: its exit code, or None where it had no time left."""
    began = time.monotonic()
    if began + step.limit_s > end:
        print(f"{step.name}: not begun, its limit of {step.limit_s} s does not fit", flush=True)
        return None
    print(f"{step.name} ...", end=" ", flush=True)
    log = out / f"{step.name}.log"
    words = [word.format(out=out) for word in step.command.split()]
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": _path()}
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=said, stderr=subprocess.STDOUT
        )
        code = _wait(process, step.limit_s)
    print(f"exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code


def _path() -> str:
    inherited = os.environ.get("PYTHONPATH")
    own = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return f"{own}{os.pathsep}{inherited}" if inherited else own


def _wait(process: "subprocess.Popen[bytes]", limit_s: float) -> int:
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            limit_s = GRACE_S
    return process.wait()


if __name__ == "__main__":
    main()
