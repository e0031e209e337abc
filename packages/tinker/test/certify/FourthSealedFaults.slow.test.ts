/** Faults that no check found when they were unsealed, each refused a certificate by a check of today. */
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EngineServer from "./EngineServer.ts"
import * as FourthSealedFaults from "./FourthSealedFaults.ts"

const foundBy: Readonly<Record<string, string>> = {
  coldTemperaturesRaised: "temperatures from 0.02 to 8 draw tokens by their probabilities",
  customLossByName:
    "a loss of the client's own has its value and its gradient, whichever losses of its name came before it",
  loraSeedZeroRandom:
    "an adapter of the same seed is the same adapter, whatever the seed, in this session and in another",
  deleteByPrefix:
    "what is done to a checkpoint leaves every other one of its run and of other runs as it was, however it is named",
  deltasTrimmed: "chat completions: a stream has every space and sign of the whole answer, at its ends too",
  rangeOneShort: "every part of a download is that part of the whole, to the byte"
}

describe("the fourth sealed faults", () => {
  it("are thirty, each with a name of its own", () => {
    assert.strictEqual(new Set(FourthSealedFaults.faults.map(({ id }) => id)).size, 30)
  })

  for (const fault of FourthSealedFaults.faults.filter(({ id }) => id in foundBy)) {
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
