"""On a CUDA GPU: the modes do what they claim. Run with ``pytest -m gpu tests/gpu``."""

import os
import threading
import time

import pytest
import torch

from idlegap.core.engine.available_modes import Lineup
from idlegap.core.engine.device import choose_device
from idlegap.core.engine.microbenchmarks import measure_bandwidth
from idlegap.core.engine.model import load_model
from idlegap.core.engine.modes import forget_compiled
from idlegap.core.engine.modes.base import positions, rewind
from idlegap.core.engine.modes.graph import Graph, StepGraph
from idlegap.core.engine.outbox import Outbox
from idlegap.core.engine.profile import Profiler, detaching_works
from idlegap.core.engine.tokens import WARM_UP_TOKENS
from idlegap.core.engine.verify import Verifier
from idlegap.core.engine.worker import EngineThread
from idlegap.core.protocol.events import TokenBatch
from idlegap.core.protocol.settings import SYNTHETIC_DEFAULT, SYNTHETIC_TINY, Settings
from tests.core.engine.scripted_loop import Script

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events"),
]

SETTINGS = Settings(model=SYNTHETIC_TINY, prompt_tokens=32, new_tokens=32)


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def device():
    return choose_device("cuda")


@pytest.fixture(scope="module")
def lineup(device):
    with torch.no_grad():
        lineup = Lineup.build(load_model(SYNTHETIC_TINY, device, lambda *_: None), device, SETTINGS)
        graph = lineup.modes["graph"]
        graph.enter()
        graph.prefill()
        graph.prepare()
    return lineup


@pytest.fixture(scope="module")
def verifier(lineup):
    with torch.no_grad():
        return Verifier(lineup.modes["eager-static"], SETTINGS.new_tokens)


@pytest.fixture(scope="module")
def profiler(device):
    return Profiler(device)


def window(profiler, mode):
    mode.enter()
    mode.prefill()
    return [profiler.take(mode.name, mode.step) for _ in range(2)][-1]


def test_a_graph_replays_the_same_kernels_as_the_eager_step(lineup, profiler):
    eager, graph = (window(profiler, lineup.modes[name]) for name in ("eager-static", "graph"))
    assert eager.accepted, eager.reason
    assert graph.accepted, graph.reason
    # Tiny copies may be recorded as kernels within a graph: the activities are compared.
    assert graph.activities == eager.activities > 20
    assert eager.unmatched == graph.unmatched == 0
    names = {kernel.name: kernel.count for kernel in eager.top}
    assert {kernel.name: kernel.count for kernel in graph.top if kernel.name in names}


def test_the_parts_of_a_window_are_busy_and_gaps(lineup, profiler):
    graph = window(profiler, lineup.modes["graph"])
    assert 0 < graph.busy_ns <= graph.busy_sum_ns
    assert graph.device_gap_ns > 0


def test_windows_may_be_taken_in_turns_again_and_again(lineup, profiler):
    """Also where the profiler is detached after each one, and attached anew for the next."""
    assert os.environ["TEARDOWN_CUPTI"] == ("1" if detaching_works(torch.version.cuda) else "0")
    for _ in range(3):
        for name in ("eager-static", "graph"):
            taken = window(profiler, lineup.modes[name])
            assert taken.accepted, taken.reason


def test_a_graph_decodes_the_same_tokens_as_eager(lineup, verifier):
    verified = verifier.verify(lineup.modes["graph"])
    assert verified.agree >= verified.steps - 1
    assert not verified.flagged


def test_a_graph_survives_a_new_round(lineup, verifier):
    first = verifier.verify(lineup.modes["graph"])
    again = verifier.verify(lineup.modes["graph"])
    assert again.agree == first.agree


def test_a_graph_owns_every_byte_that_it_touches(device):
    """Inductor's graph trees free cuBLAS's workspaces; a replay must not notice."""
    lineup = Lineup.build(load_model(SYNTHETIC_DEFAULT, device, lambda *_: None), device, SETTINGS)
    verifier = Verifier(lineup.modes["eager-static"], SETTINGS.new_tokens)
    graph = lineup.modes["graph"]
    graph.enter()
    graph.prefill()
    graph.prepare()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    spoiled = [torch.full((1 << 20,), float("nan"), device=device.torch) for _ in range(64)]
    verified = verifier.verify(graph)
    assert all(bool(one.isnan().all()) for one in spoiled)
    assert verified.agree >= verified.steps - 1
    assert not verified.flagged


class Frozen(Graph):
    """A broken capture: the position is put back within the graph, so it never advances."""

    def prepare(self):
        work = self.workload
        self.saved = positions(work.static)  # the graph reads them at every replay

        def step():
            logits = Graph.eager_step(work)
            rewind(work.static, self.saved)
            return logits

        self._captured = StepGraph(work, step)


def test_a_capture_with_a_frozen_position_is_flagged(lineup, verifier):
    frozen = Frozen(lineup.workload)
    frozen.enter()
    frozen.prefill()
    frozen.prepare()
    assert verifier.verify(frozen).flagged


# Inductor captures an empty graph and multiplies float32 matrices, and torch warns of both.
@pytest.mark.filterwarnings("default")
def test_compiled_runs_in_every_thread_that_decodes(device):
    """An engine that is started again within the app gets a thread of its own."""
    found = []

    def decode():
        with torch.no_grad():
            lineup = Lineup.build(load_model(SYNTHETIC_TINY, device, lambda *_: None), device, SETTINGS)
            mode = lineup.modes["compiled"]
            mode.enter()
            mode.prefill()
            mode.prepare()
            verified = Verifier(lineup.modes["eager-static"], SETTINGS.new_tokens).verify(mode)
            mode.release()
            forget_compiled()
            found.append((verified.agree >= verified.steps - 1, verified.flagged))

    for _ in range(2):
        thread = threading.Thread(target=decode)
        thread.start()
        thread.join()
    assert found == [(True, False), (True, False)]


def test_the_first_round_of_eager_is_told_from_the_second():
    settings = Settings(
        model=SYNTHETIC_TINY,
        device="cuda",
        mode="eager",
        modes=("eager",),
        prompt_tokens=32,
        new_tokens=32,
        profile_every_ns=None,
    )
    outbox = Outbox(time.perf_counter_ns)
    engine = EngineThread(settings, outbox, Script({}, stop_at=64))
    engine.start()
    engine.join(120)
    batches = [event for event in outbox.drain() if isinstance(event, TokenBatch)]
    marks = [batch.excluded for batch in batches for _ in batch.tokens]
    warm_up = ["warm-up"] * WARM_UP_TOKENS
    assert marks == warm_up + ["new-length"] * (32 - WARM_UP_TOKENS) + [None] * 32


def test_a_decode_step_never_waits_for_the_device(lineup):
    for name in ("eager", "eager-static", "graph"):
        mode = lineup.modes[name]
        mode.enter()
        mode.prefill()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            mode.step()
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("wait", ["spin", "block"])
def test_waiting_ends_when_the_device_is_done_and_spins_only_if_asked_to(wait):
    device = choose_device("cuda", wait)
    device.synchronize()
    torch.cuda._sleep(200_000_000)
    last = torch.cuda.Event()
    last.record()
    assert not last.query()
    began_ns, began_cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
    device.synchronize()
    assert last.query()
    computed = (time.thread_time_ns() - began_cpu_ns) / (time.perf_counter_ns() - began_ns)
    assert computed > 0.5 if wait == "spin" else computed < 0.2


def test_measured_bandwidth_is_that_of_memory_not_of_a_cache(device):
    measured = measure_bandwidth(device)
    assert measured.copy_bytes_per_s is not None
    assert measured.read_bytes_per_s is not None
    # From the slowest CUDA laptop to twice the fastest card of 2026.
    assert 5e10 < measured.read_bytes_per_s < 2e13
    assert 5e10 < measured.copy_bytes_per_s < 2e13
