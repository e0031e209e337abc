import { Pace, RunRecord } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as Schedules from "./Schedules.ts"

const Case = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literal("schedule"),
  input: Schema.Struct({
    dataset_batches: Schema.Array(Schema.Int),
    start_batch: Schema.Int,
    groups_per_batch: Schema.Int,
    max_steps_off_policy: Schema.Int,
    rollout_seconds: Schema.Array(Schema.Number),
    train_seconds: Schema.Number,
    publish_seconds: Schema.Number,
    filtered_groups: Schema.Array(Schema.Int),
    stream: Schema.NullOr(Schema.Struct({ num_minibatches: Schema.Int, num_substeps: Schema.Int }))
  }),
  output: Schema.Struct({
    events: Schema.Array(Schema.Struct({
      t: Schema.Number,
      event: Schema.String,
      group: Schema.optional(Schema.Int)
    })),
    batches: Schema.Array(Schema.Array(Schema.Tuple([Schema.Int, Schema.Int])))
  })
})

type Case = typeof Case.Type

const cases = TrainingVectors.lines("async.jsonl").map((line) => Schema.decodeUnknownSync(Case)(line))

/** Groups of the batches before the first that is trained on. */
const before = ({ dataset_batches: sizes, start_batch: start }: Case["input"]) =>
  sizes.slice(0, start).reduce((sum, size) => sum + size, 0)

/** The same groups in the same order, in batches of the size of an update. */
const worldOf = ({ input }: Case) => {
  const { filtered_groups: filtered, groups_per_batch: size, rollout_seconds: seconds } = input
  const groups = seconds.map((seconds, index) => ({ seconds, isConstant: filtered.includes(index) }))
  return {
    batches: Schedules.inBatches(groups.slice(before(input)), size),
    trainSeconds: input.train_seconds,
    publishSeconds: input.publish_seconds
  }
}

/** A batch in the order of an update: oldest weights first, then in the order of the dataset, where upstream has that in which groups ended. */
const inOrder = (batch: ReadonlyArray<readonly [group: number, version: number]>) =>
  batch.toSorted(([left, leftVersion], [right, rightVersion]) => leftVersion - rightVersion || left - right)

/** Groups are begun ahead to the dataset's end, where upstream cancels what its last step has not trained on. */
describe("the schedule recorded from tinker-cookbook", () => {
  it("has all recorded worlds", () => assert.lengthOf(cases, 29))

  for (const recorded of cases) {
    it.effect(recorded.id, () =>
      Effect.gen(function*() {
        const { input, output } = recorded
        const pace = Pace.async({
          maxStepsOffPolicy: input.max_steps_off_policy,
          removeConstantRewardGroups: true,
          ...(input.stream === null ? {} : { minibatches: input.stream.num_minibatches })
        })
        const substeps = input.stream?.num_substeps ?? 1
        const { records, seen } = yield* Schedules.run(worldOf(recorded), pace, {
          overrides: { update: { substeps } }
        })
        const indexOf = (key: string) => before(input) + Number(key)
        const began = new Map(
          records.filter(RunRecord.guards.Sampling).flatMap(({ begun = [] }) =>
            begun.map(({ began, key }) => [indexOf(key), input.start_batch + began] as const)
          )
        )
        const found = records.filter(RunRecord.guards.Credited).map(({ groups }) =>
          groups.flatMap(({ key, verdict }) => {
            const index = indexOf(key)
            return verdict === "filtered" ? [] : [[index, began.get(index) ?? NaN] as const]
          })
        )
        const expected = output.batches.map(inOrder)
        // Streamed groups are submitted one by one, whatever their versions are.
        const inFirst = found.slice(0, expected.length)
        assert.deepStrictEqual(input.stream === null ? inFirst : inFirst.map(inOrder), expected)
        // Upstream ends with its last batch and cancels the other groups; here they have updates of their own.
        const trained = found.flat().map(([index]) => index).toSorted((left, right) => left - right)
        const informative = input.rollout_seconds.flatMap((_, index) =>
          index < before(input) || input.filtered_groups.includes(index) ? [] : [index]
        )
        assert.deepStrictEqual(trained, informative)
        // Upstream's clock starts when its first sampler is there.
        const started = new Map(
          seen.opened.map(({ key, seconds }) => [indexOf(key), seconds - input.publish_seconds])
        )
        for (const { event, group, t } of output.events) {
          if (event === "rollout_start") {
            assert.approximately(started.get(group ?? NaN) ?? NaN, t, 1e-3, `group ${group}`)
          }
        }
      }))
  }
})
