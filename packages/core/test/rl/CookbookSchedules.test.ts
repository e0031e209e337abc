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

const cases = TrainingVectors.lines("async.jsonl")?.map((line) => Schema.decodeUnknownSync(Case)(line))

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

/** Groups are begun ahead to the dataset's end, where upstream cancels what its last step has not trained on. */
describe.skipIf(cases === undefined)("the schedule recorded from tinker-cookbook", () => {
  for (const recorded of cases ?? []) {
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
            return verdict === "filtered" ? [] : [[index, began.get(index)] as const]
          }).toSorted(([left], [right]) => left - right)
        )
        const expected = output.batches.map((batch) => batch.toSorted(([left], [right]) => left - right))
        assert.deepStrictEqual(found.slice(0, expected.length), expected)
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
