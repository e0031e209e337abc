/** Faults that no check found when they were unsealed, each refused a certificate by a check of today. */
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EngineServer from "./EngineServer.ts"
import * as FifthSealedFaults from "./FifthSealedFaults.ts"

const foundBy: Readonly<Record<string, string>> = {
  namesMadePlain: "a name with unusual characters is refused, or is that of its checkpoint to the letter",
  softTargetsNormalised:
    "soft targets by chance have the value and the gradient of their candidates one by one, whatever their weights add up to",
  deletionEndsSamplers: "a sampler goes on as before when the checkpoint that it was made from is deleted or replaced",
  emptyRunsHidden: "a run is in the list of runs from its beginning, before it has a checkpoint",
  tagsChange: "every part of a download is that part of the whole, to the byte"
}

describe("the fifth sealed faults", () => {
  it("are thirty, each with a name of its own", () => {
    assert.strictEqual(new Set(FifthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  for (const fault of FifthSealedFaults.faults.filter(({ id }) => id in foundBy)) {
    it.live(`are found: ${fault.sentence}`, () =>
      Effect.gen(function*() {
        const tokenizer = yield* Tokenizer.Tokenizers.use(({ load }) => load(EngineServer.model))
        const check = Checks.all({ baseModel: EngineServer.model, tokenizer }).find(({ name }) =>
          name === foundBy[fault.id]
        )
        assert.isDefined(check)
        if (check === undefined) return
        const { detail, outcome } = yield* Effect.provide(Attempt.outcome(check), EngineServer.clients)
        assert.strictEqual(outcome, "failed", detail)
      }).pipe(Effect.provide(EngineServer.layerOf(fault)), Effect.scoped), 120_000)
  }
})
