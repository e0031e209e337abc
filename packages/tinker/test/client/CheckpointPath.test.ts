import { CheckpointPath } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { path } from "./Asking.ts"

describe("a checkpoint's path", () => {
  it.effect("contains its run, type and id", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* CheckpointPath.parse(path), {
        run: "session:train:0",
        type: "training",
        id: "weights/0001",
        archiveId: "weights/0001"
      })
      assert.deepStrictEqual(yield* CheckpointPath.parse("tinker://run/name"), {
        run: "run",
        type: "sampler",
        id: "sampler_weights/name",
        archiveId: "name"
      })
      const { id, type } = yield* CheckpointPath.parse("tinker://run/external_weights/name")
      assert.deepStrictEqual([type, id], ["external", "external_weights/name"])
      for (
        const wrong of [
          "",
          "run/weights/a",
          "tinker://run/other/a",
          "tinker://run",
          "tinker://run/weights/a/b",
          "tinker:///weights/a"
        ]
      ) {
        assert.include((yield* Effect.flip(CheckpointPath.parse(wrong))).detail, JSON.stringify(wrong))
      }
    }))
})
