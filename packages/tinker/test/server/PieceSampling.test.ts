import { Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Call, Script, ScriptedTinker } from "@effect-rl/core/testing"
import * as FairShare from "@effect-rl/tinker/server/FairShare"
import * as PieceSampling from "@effect-rl/tinker/server/PieceSampling"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const request = {
  prompt: ModelInput.fromTokens([1, 2, 3]),
  numSamples: 150,
  params: { maxTokens: 2, seed: 7 },
  promptLogprobs: true,
  topkPromptLogprobs: 2
}

describe("a request for many samples", () => {
  it.effect("is answered in pieces, each with its own seeds; only the first piece scores the prompt", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
      const fair = FairShare.make(PieceSampling.capacity)
      const { sequences } = yield* PieceSampling.sample(fair, "ann", client, request)
      assert.lengthOf(sequences, 150)
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.deepStrictEqual(
        calls.flatMap((call) => call._tag === "Sample" ? [call.request] : []).map((asked) => [
          asked.numSamples,
          asked.params.seed,
          asked.promptLogprobs,
          asked.topkPromptLogprobs
        ]),
        [[64, 7, true, 2], [64, 71, false, 0], [22, 135, false, 0]]
      )
    }).pipe(Effect.scoped, Effect.provide(ScriptedTinker.layer({}))))
})
