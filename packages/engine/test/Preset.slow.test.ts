import * as Preset from "@effect-rl/engine/Preset"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Evaluation from "../scripts/pretrain/Evaluation.ts"
import { load } from "../scripts/pretrain/Loading.ts"
import * as ToolEvaluation from "../scripts/pretrain/ToolEvaluation.ts"

describe("Preset", () => {
  layer(NodeServices.layer)((it) => {
    it.effect.each([...Preset.folders])(
      "%s has an embedding row for each token and a context of at least 1152 tokens",
      ([, url]) =>
        Effect.gen(function*() {
          const { compute, tokenizer } = yield* load(url)
          assert.strictEqual(tokenizer.tokenBytes?.offsets.length, compute.config.vocabularySize + 1)
          assert.isAtLeast(compute.config.contextLength, 1152)
        })
    )

    for (const name of ["effect-rl/tiny-64", "effect-rl/tiny-128"]) {
      it.effect(
        `${name} sometimes adds held-out numbers correctly, and mostly does if it works step by step`,
        () =>
          Effect.gen(function*() {
            const url = yield* Effect.fromNullishOr(Preset.folders.get(name))
            const { compute, tokenizer } = yield* load(url)
            const report = Evaluation.run(compute, tokenizer, 1)
            assert.isAbove(report.correct, 0.2)
            assert.isBelow(report.correct, 0.5)
            assert.isAbove(report.workedCorrect, 0.85)
            assert.isBelow(report.worked, 0.5)
          }),
        60_000
      )
    }

    it.effect(
      "effect-rl/tiny-tools sometimes solves a task with tools that it has never seen",
      () =>
        Effect.gen(function*() {
          const url = yield* Effect.fromNullishOr(Preset.folders.get("effect-rl/tiny-tools"))
          const { compute, tokenizer } = yield* load(url)
          const report = ToolEvaluation.run(compute, tokenizer, 128)
          assert.isAbove(report.called, 0.3)
          assert.isAbove(report.solved, 0.1)
          assert.isBelow(report.solved, 0.6)
        }),
      120_000
    )
  })
})
