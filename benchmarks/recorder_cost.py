"""What recording costs: CPU time as a share of one core, bytes, and memory over a long day.

The events are those of a fast graph mode (400 tokens/s in 20 batches) and of all sensors (four
samples a second of each kind, 16 cores). `paced` records them in real time, so that the
thread's own wake-ups count; `simulated` writes the same events of many hours at once and
watches memory and file size. Prints one JSON document.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil

from idlegap.core.protocol.events import (
    SCHEMA_VERSION,
    AnyEvent,
    CgroupSample,
    CpuSample,
    GpuSample,
    Token,
    TokenBatch,
)
from idlegap.core.recording import DEFAULT_MAX_BYTES, Header, Recorder
from idlegap.core.recording.writer import FLUSH_S, Writer

SECOND = 1_000_000_000
BATCHES, TOKENS, SAMPLES, CORES = 20, 20, 4, 16


def one_second(start_ns: int, random: Random) -> Iterator[AnyEvent]:
    """The events of one second that begins at `start_ns`, in the order of time."""
    wall_ns = SECOND // (BATCHES * TOKENS)
    for batch in range(BATCHES):
        t_ns = start_ns + batch * (SECOND // BATCHES)
        tokens = []
        for index in range(TOKENS):
            begin = t_ns + index * wall_ns
            done = begin + wall_ns - random.randrange(50_000)
            tokens.append(Token(begin, begin + random.randrange(9_000, 40_000), done, done - begin, 0, 0, 1))
        yield TokenBatch(tokens[-1].done_ns, "graph", 1, batch * TOKENS, tuple(tokens))
        if batch % (BATCHES // SAMPLES) == 0:
            cores = tuple(round(random.random() * 100, 1) for _ in range(CORES))
            yield CpuSample(t_ns, cores, 101.3, 3.1, round(random.random() * 50, 1), 0.0, 3, 1.42)
            yield CgroupSample(t_ns, None, 0, 0, 512, 2048, SECOND // SAMPLES, {"quota_cores": "no quota"})
            power_mw = random.randrange(200_000, 220_000)
            yield GpuSample(t_ns, 99.0, 3_420_000_000, power_mw, 1980, 3201, 38, 0, 96.2, 24.9, 15.7, 95_000)


def paced(path: Path, seconds: int) -> dict[str, float]:
    """Record in real time; CPU time of the caller's part and of the whole process."""
    random = Random(1)
    script = [list(one_second(second * SECOND, random)) for second in range(seconds)]
    recorder = Recorder()
    recorder.start(path)
    caller_ns = 0
    process_ns, begin = time.process_time_ns(), time.monotonic()
    for second, events in enumerate(script):
        for batch in range(BATCHES):
            before = time.thread_time_ns()
            for event in events[batch * len(events) // BATCHES : (batch + 1) * len(events) // BATCHES]:
                recorder(event)
            caller_ns += time.thread_time_ns() - before
            time.sleep(max(0.0, begin + second + (batch + 1) / BATCHES - time.monotonic()))
    wall_s = time.monotonic() - begin
    process_ns = time.process_time_ns() - process_ns
    status = recorder.stop()
    assert status is not None
    return {
        "seconds": seconds,
        "process_pct_of_a_core": round(process_ns / wall_s / 1e7, 3),
        "caller_pct_of_a_core": round(caller_ns / wall_s / 1e7, 3),
        "bytes_per_s": round(status.size_bytes / wall_s),
    }


def simulated(path: Path, hours: float, max_bytes: int) -> dict[str, float | str | None]:
    """Write the events of `hours`, flushed as often as in real time; memory at start and end."""
    header = Header(SCHEMA_VERSION, "benchmark", "", "benchmark", 0)
    writer = Writer(path, header, max_bytes, lambda: 0)
    minute = [list(one_second(second * SECOND, Random(second))) for second in range(60)]
    memory = psutil.Process()
    early_bytes = 0
    cpu_ns = time.process_time_ns()
    seconds = round(hours * 3600)
    flushes = round(1 / FLUSH_S)
    for second in range(seconds):
        events = minute[second % 60]
        for part in range(flushes):
            for event in events[part * len(events) // flushes : (part + 1) * len(events) // flushes]:
                writer.put(event)
            if writer.status.active:
                writer.flush()
        if second == seconds // 100:
            early_bytes = memory.memory_info().rss
    cpu_ns = time.process_time_ns() - cpu_ns
    late_bytes = memory.memory_info().rss
    writer.start()
    status = writer.stop()
    return {
        "hours": hours,
        "events": status.events,
        "ended": status.ended,
        "file_bytes": path.stat().st_size,
        "limit_bytes": max_bytes,
        "cpu_pct_of_a_core": round(cpu_ns / seconds / 1e7, 3),
        "memory_growth_bytes": late_bytes - early_bytes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=20, help="length of the paced part")
    parser.add_argument("--hours", type=float, default=1.0, help="length of the simulated part")
    parser.add_argument("--record-max", type=int, default=DEFAULT_MAX_BYTES)
    options = parser.parse_args()
    result = {}
    for name in ("run.jsonl", "run.jsonl.gz"):
        with TemporaryDirectory() as folder:
            result[name] = {
                "paced": paced(Path(folder) / name, options.seconds),
                "simulated": simulated(Path(folder) / f"long-{name}", options.hours, options.record_max),
            }
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
