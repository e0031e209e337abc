"""Samples argv[2] times at once at the service argv[1] with the official SDK; prints what inFlight.ts prints."""
import asyncio
import json
import os
import resource
import sys
import time

os.environ.update(TINKER_TELEMETRY="0", TINKER_API_KEY="tml-benchmark", TINKER_BASE_URL=sys.argv[1])

import tinker
from tinker import types

TOKENS = [(index * 7919 + 13) % 151_936 for index in range(256)]
PROMPT = types.ModelInput.from_ints(TOKENS)
PARAMS = types.SamplingParams(max_tokens=32)


async def main():
    client = await tinker.ServiceClient().create_sampling_client(base_model="model")

    async def sampled(times):
        return await asyncio.gather(
            *(client.sample(PROMPT, num_samples=1, sampling_params=PARAMS) for _ in range(times)),
            return_exceptions=True,
        )

    await sampled(500)
    cpu, start = time.process_time(), time.perf_counter()
    results = await sampled(int(sys.argv[2]))
    print(
        json.dumps(
            {
                "failures": sum(isinstance(result, BaseException) for result in results),
                "seconds": time.perf_counter() - start,
                "cpuMicros": 1e6 * (time.process_time() - cpu),
                "rssMegabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        ),
        flush=True,
    )
    os._exit(0)


asyncio.run(main())
