/** Recorded batches of interleaved datasets, drawn as upstream draws them. */
import { Interleaved, type RLDataset } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Groups from "./Groups.ts"

const Recorded = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    source_batch_sizes: Schema.Array(Schema.Array(Schema.Int)),
    weights: Schema.Array(Schema.Number),
    groups_per_batch: Schema.Int,
    total_batches: Schema.NullOr(Schema.Int),
    seed: Schema.Int
  }),
  expect: Schema.Union([
    Schema.Struct({ error: Schema.String }),
    Schema.Struct({
      num_batches: Schema.Int,
      batches: Schema.Array(Schema.Union([
        Schema.Literal("ragged_source_batch"),
        Schema.Array(Schema.Tuple([Schema.Int, Schema.Int]))
      ]))
    })
  ])
})

const recorded = readFileSync(join(import.meta.dirname, "../fixtures/rl/interleaved.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => Schema.decodeUnknownSync(Schema.fromJsonString(Recorded))(line))

/** Groups numbered through all batches. */
const numbered = (sizes: ReadonlyArray<number>): RLDataset.RLDataset => {
  const before = (index: number) => sizes.slice(0, index).reduce((sum, size) => sum + size, 0)
  return {
    length: sizes.length,
    fingerprint: sizes.join(),
    batch: (index) =>
      Effect.succeed(
        Array.from({ length: sizes[index] ?? 0 }, (_, at) => Groups.builder(String(before(index) + at)))
      )
  }
}

/** `source/group`, and `#2` where it comes round in one batch. */
const pairOf = (key: string) => {
  const [source, group] = key.split("#", 1).join("").split("/").map(Number)
  return [source, group]
}

describe("order \"python\"", () => {
  it.effect.each(recorded)("gives the recorded batches ($id)", ({ expect, input }) =>
    Effect.gen(function*() {
      const sources = input.source_batch_sizes.map((sizes, source) => ({
        name: String(source),
        dataset: numbered(sizes),
        weight: input.weights[source] ?? NaN
      }))
      const made = yield* Effect.exit(Interleaved.make(sources, {
        groupsPerBatch: input.groups_per_batch,
        order: "python",
        ...(input.total_batches !== null && { totalBatches: input.total_batches })
      }))
      if ("error" in expect) return assert.isTrue(Exit.isFailure(made), expect.error)
      const dataset = yield* made
      assert.strictEqual(dataset.length, expect.num_batches)
      for (const [index, batch] of expect.batches.entries()) {
        const given = yield* Effect.exit(dataset.batch(index, input.seed))
        if (batch === "ragged_source_batch") {
          assert.include(String(given), "only the last batch of a source may be shorter than its first")
        } else {
          assert.deepStrictEqual<unknown>(
            Exit.isSuccess(given) ? given.value.map(({ key }) => pairOf(key)) : String(given),
            batch
          )
        }
      }
    }))
})
