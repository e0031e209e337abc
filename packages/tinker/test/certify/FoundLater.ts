/** Tests for faults that no check found when they were unsealed. */
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EngineServer from "./EngineServer.ts"
import type * as Fault from "./Fault.ts"

/** Tests that each fault in `foundBy` fails the check named there. */
export const test = (faults: ReadonlyArray<Fault.Fault>, foundBy: Readonly<Record<string, string>>) => {
  for (const fault of faults.filter(({ id }) => id in foundBy)) {
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
}
