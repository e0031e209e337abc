import { Pace, RunRecord } from "@effect-rl/core"
import * as Dispatch from "@effect-rl/core/rl/schedule/Dispatch"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TrainingVectors from "../../model/TrainingVectors.ts"
import * as RecordedLines from "../../RecordedLines.ts"
import * as Schedules from "./Schedules.ts"

const Event = Schema.Union([
  Schema.Struct({
    event: Schema.Literal("rollout_start"),
    t: Schema.Number,
    group: Schema.Int,
    sampler: Schema.Int
  }),
  Schema.Struct({ event: Schema.Literals(["rollout_end", "rollout_cancelled"]), t: Schema.Number, group: Schema.Int }),
  Schema.Struct({ event: Schema.Literal("train_start"), t: Schema.Number, groups: Schema.Array(Schema.Int) }),
  Schema.Struct({
    event: Schema.Literal("train_end"),
    t: Schema.Number,
    step: Schema.Int,
    published: Schema.optionalKey(Schema.Boolean)
  })
])

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
    events: Schema.Array(Event),
    batches: Schema.Array(Schema.Array(Schema.Tuple([Schema.Int, Schema.Int])))
  })
})

type Case = typeof Case.Type

const cases = TrainingVectors.lines("async.jsonl").map((line) => Schema.decodeUnknownSync(Case)(line))

const events = cases.flatMap(({ input: { stream }, output: { events } }) =>
  events.map((event) => ({ event, isStreamed: stream !== null }))
)

/** Why an event is excluded from the comparison. */
const reasonOf = ({ event: { event }, isStreamed }: typeof events[number]) => {
  if (event === "rollout_cancelled") return "upstream cancels what its last step does not train on; here all groups end"
  return isStreamed && event === "train_end"
    ? "upstream's passes take their time as groups end; the script's, at the step"
    : undefined
}

/** The number of groups in the batches before the first one that is trained on. */
const before = ({ dataset_batches: sizes, start_batch: start }: Case["input"]) =>
  sizes.slice(0, start).reduce((sum, size) => sum + size, 0)

/** The recorded groups in their order, in batches of the update size. */
const worldOf = ({ input }: Case) => {
  const { filtered_groups: filtered, groups_per_batch: size, rollout_seconds: seconds } = input
  const groups = seconds.map((seconds, index) => ({ seconds, isConstant: filtered.includes(index) }))
  return {
    batches: Schedules.inBatches(groups.slice(before(input)), size),
    trainSeconds: input.train_seconds,
    publishSeconds: input.publish_seconds
  }
}

/** A batch in update order: by the weights' age, oldest first, then by dataset order. Upstream uses the order in which groups ended. */
const inOrder = (batch: ReadonlyArray<readonly [group: number, version: number]>) =>
  batch.toSorted(([left, leftVersion], [right, rightVersion]) => leftVersion - rightVersion || left - right)

/** Replaces any number of groups without a signal, as upstream does. */
const always = (minInformative: number) => ({ minInformative, maxBatches: 1000 })

/** Trains on groups of any age, as upstream does. */
const asUpstream: typeof Dispatch.rules = (settings) => ({
  ...Dispatch.rules({ ...settings, onStale: "drop" }),
  isStale: () => false
})

/** At the end of the dataset, this library trains on the groups in progress. Upstream cancels those that its last step does not train on. */
describe("the schedule recorded from tinker-cookbook", () => {
  it("has all 29 recorded worlds", () => assert.lengthOf(cases, 29))

  it("matches event by event, or is left out for a reason that VECTORS.md lists", () => {
    assert.deepStrictEqual(
      RecordedLines.counted(events, reasonOf),
      RecordedLines.accountOf("core/training/async.jsonl.gz: events")
    )
  })

  for (const recorded of cases) {
    it.effect(recorded.id, () =>
      Effect.gen(function*() {
        const { input, output } = recorded
        const pace = Pace.async({
          maxStepsOffPolicy: input.max_steps_off_policy,
          ...(input.stream === null ? {} : { minibatches: input.stream.num_minibatches })
        })
        const substeps = input.stream?.num_substeps ?? 1
        const { records, seen } = yield* Schedules.run(worldOf(recorded), pace, {
          overrides: { update: { substeps }, rollout: { dynamic: always(input.groups_per_batch) } },
          rules: asUpstream
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
        // Streamed groups are submitted one by one, regardless of their versions.
        const inFirst = found.slice(0, expected.length)
        assert.deepStrictEqual(input.stream === null ? inFirst : inFirst.map(inOrder), expected)
        // Upstream ends with its last batch and cancels the other groups; here they get additional updates.
        const trained = found.flat().map(([index]) => index).toSorted((left, right) => left - right)
        const informative = input.rollout_seconds.flatMap((_, index) =>
          index < before(input) || input.filtered_groups.includes(index) ? [] : [index]
        )
        assert.deepStrictEqual(trained, informative)
        // Upstream's clock starts when its first sampler is ready.
        const secondsOf = (at: number) => at / 1000 - input.publish_seconds
        const started = new Map(
          seen.opened.map(({ key, seconds }) => [indexOf(key), seconds - input.publish_seconds])
        )
        const ended = new Map(
          records.filter(RunRecord.guards.GroupRolledOut).map(({ at, key }) => [indexOf(key), secondsOf(at)])
        )
        const credited = records.filter(RunRecord.guards.Credited).map(({ at }) => secondsOf(at))
        const updated = records.filter(RunRecord.guards.Updated).map(({ at }) => secondsOf(at))
        const same = (found: number | undefined, expected: number, what: string) =>
          assert.approximately(found ?? NaN, expected, 1e-3, what)
        const updates = output.events.filter(({ event }) => event === "train_start")
        for (const event of output.events) {
          if (reasonOf({ event, isStreamed: input.stream !== null }) !== undefined) continue
          switch (event.event) {
            case "rollout_start":
              same(started.get(event.group), event.t, `group ${event.group} begins`)
              assert.strictEqual(began.get(event.group), event.sampler, `weights of group ${event.group}`)
              break
            case "rollout_end":
              same(ended.get(event.group), event.t, `group ${event.group} ends`)
              break
            case "train_start":
              same(credited[updates.indexOf(event)], event.t, `an update of ${event.groups.join(", ")} begins`)
              break
            case "train_end": {
              // Upstream keeps its sampler if no rollout is left.
              const publishing = event.published === true ? input.publish_seconds : 0
              same((updated[event.step - input.start_batch] ?? NaN) + publishing, event.t, `update ${event.step} ends`)
            }
          }
        }
      }))
  }
})
