import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

describe("serve --backend torch", () => {
  it.effect("fails without a model, and says how to name one", () =>
    Effect.gen(function*() {
      const checkpoints = yield* CommandLine.runFolder
      const { errors, exit } = yield* CommandLine.run("serve", "--backend", "torch", "--checkpoints", checkpoints)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors[0], "--backend torch serves one model, found 0: name it, as in --model Qwen/Qwen3-0.6B")
    }))
})
