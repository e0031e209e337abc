"""The workload on tinker-cookbook's own group rollouts, with its own completer over a sampler that only waits.

With `scale`, once and as the other programs do it: `episodes=` of them, long waits, the most memory and how late timers are.

torch is not needed for rollouts and stands in as an empty module.
"""

import asyncio
import json
import random
import resource
import sys
import time
import types
from unittest.mock import MagicMock

if "torch" not in sys.modules:
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.modules["torch"] = MagicMock(name="torch")

try:
    import tinker
    from tinker_cookbook.completers import TinkerTokenCompleter
    from tinker_cookbook.rl.rollouts import do_group_rollout
    from tinker_cookbook.rl.types import Env, EnvGroupBuilder, StepResult
except ImportError as error:
    print(json.dumps({"missing": str(error)}))
    sys.exit(0)

SCALE = "scale" in sys.argv
EPISODES = next((int(a.removeprefix("episodes=")) for a in sys.argv if a.startswith("episodes=")), 10_000)
GROUP_SIZE, TURNS = 8, 4
GROUPS = EPISODES // GROUP_SIZE
LEAST, MOST = (1000, 10_000) if SCALE else (5, 50)
RESOLUTION = 0.01
PROMPT, ACTION, REPLY = list(range(64)), list(range(32)), list(range(16))
LOGPROBS = [-1.0] * len(ACTION)
STOP = ["<end>"]


class WaitingClient:
    def __init__(self):
        self.random = random.Random(7)

    async def sample(self, **_):
        await asyncio.sleep(self.random.randint(LEAST, MOST) / 1000)
        sequence = types.SimpleNamespace(
            tokens=list(ACTION), logprobs=list(LOGPROBS), stop_reason="stop", sequence_id=None
        )
        return types.SimpleNamespace(sequences=[sequence], prompt_cache_hit_tokens=0)

    sample_async = sample


def text(tokens):
    return tinker.EncodedTextChunk(tokens=list(tokens))


class WaitingEnv(Env):
    def __init__(self):
        self.observation = tinker.ModelInput(chunks=[text(PROMPT)])
        self.turn = 0

    async def initial_observation(self):
        return self.observation, STOP

    async def step(self, action, *, extra=None):
        self.turn += 1
        done = self.turn == TURNS
        if not done:
            self.observation = tinker.ModelInput(
                chunks=[*self.observation.chunks, text(action), text(REPLY)]
            )
        return StepResult(
            reward=float(done),
            episode_done=done,
            next_observation=self.observation,
            next_stop_condition=STOP,
        )


class Builder(EnvGroupBuilder):
    async def make_envs(self):
        return [WaitingEnv() for _ in range(GROUP_SIZE)]


async def run():
    policy = TinkerTokenCompleter(WaitingClient(), max_tokens=64)
    groups = await asyncio.gather(*[do_group_rollout(Builder(), policy) for _ in range(GROUPS)])
    assert all(len(t.transitions) == TURNS for g in groups for t in g.trajectories_G)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def timed(coroutine):
    cpu, start = cpu_seconds(), time.perf_counter()
    value = asyncio.run(coroutine)
    return value, {
        "wallMillis": 1000 * (time.perf_counter() - start),
        "cpuMillis": 1000 * (cpu_seconds() - cpu),
    }


async def watched():
    lags = []

    async def watch():
        while True:
            start = time.perf_counter()
            await asyncio.sleep(RESOLUTION)
            lags.append(1000 * (time.perf_counter() - start - RESOLUTION))

    watcher = asyncio.create_task(watch())
    await run()
    watcher.cancel()
    return sorted(lags)


if SCALE:
    lags, measured = timed(watched())
    print(json.dumps({
        **measured,
        "peakBytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "lagP99Millis": lags[int(0.99 * (len(lags) - 1))],
        "lagMaxMillis": lags[-1],
    }))
else:
    asyncio.run(run())
    print(json.dumps(timed(run())[1]))
