import { Advantage, Credit, Loss, Pace, Rl, RunRecord } from "@effect-rl/core"
import { Statistics } from "@effect-rl/core/evaluation"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as TrainingVectors from "../model/TrainingVectors.ts"
import * as RecordedLines from "../RecordedLines.ts"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

/** The passes and steps of a run's first iteration, with the group of each datum. */
const submitted = ({ calls, records }: Schedules.Ran) => {
  const [first] = RunRecord.current(records).filter(RunRecord.guards.Credited)
  const groups = (first?.datums ?? []).map(({ group }) => Number(group))
  const steps = calls.flatMap((call): ReadonlyArray<number | "step"> => {
    if (call._tag === "OptimStep") return ["step"]
    return call._tag === "ForwardBackward" ? [call.data.length] : []
  })
  let datum = 0
  return steps.map((step) => step === "step" ? step : groups.slice(datum, datum += step)).filter(
    (step) => step === "step" || step.length > 0
  )
}

const evenly = (count: number) => Array.from({ length: count }, (_, index) => ({ seconds: count - index }))

describe("streaming minibatches", () => {
  it.effect("contain equal numbers of groups in dataset order, before one optimizer step", () =>
    Effect.gen(function*() {
      const world = { batches: [evenly(4)], trainSeconds: 0, publishSeconds: 0 }
      const ran = yield* Schedules.run(world, Pace.streaming({ minibatches: 2 }))
      assert.deepStrictEqual(submitted(ran), [[0, 0, 1, 1], [2, 2, 3, 3], "step"])
    }))

  it.effect("divide the groups of each optimizer step if an update has several", () =>
    Effect.gen(function*() {
      const world = { batches: [evenly(5)], trainSeconds: 0, publishSeconds: 0 }
      const ran = yield* Schedules.run(world, Pace.streaming({ minibatches: 2 }), {
        overrides: { update: { substeps: 2 } }
      })
      assert.deepStrictEqual(submitted(ran), [[0, 0], [1, 1], "step", [2, 2], [3, 3, 4, 4], "step"])
    }))

  it.effect("wait for a group that may not become older, although no more groups are sampled for their update", () =>
    Effect.gen(function*() {
      const seconds = [1, 1.1, 20, 1.2, 1, 10, 1, 1.1]
      const groups = seconds.map((seconds, index) => ({ seconds, isConstant: index === 4 }))
      const world = { batches: Schedules.inBatches(groups, 2), trainSeconds: 1, publishSeconds: 0 }
      const pace = Pace.async({ maxStepsOffPolicy: 1, onStale: "wait", minibatches: 1 })
      const { records } = yield* Schedules.run(world, pace, {
        overrides: { rollout: { dynamic: { minInformative: 2, maxBatches: 1 } } }
      })
      const updates = records.filter(RunRecord.guards.Credited)
      assert.deepStrictEqual(updates[1]?.groups.map(({ key, verdict }) => `${key} ${verdict}`), [
        "3 informative",
        "2 informative",
        "4 filtered"
      ])
    }))

  it.effect("train the same as synchronous training", () =>
    Effect.gen(function*() {
      const trained = (pace: Pace.Pace) =>
        Effect.gen(function*() {
          const options = yield* Task.options({ epochs: 4, groupSize: 6, update: { learningRate: 0.05 } })
          const records = yield* Stream.runCollect(Rl.run({ ...options, pace }))
          return records.filter(RunRecord.guards.Updated)
        }).pipe(Effect.provide(Task.layer(), { local: true }))
      const expected = yield* trained(Pace.synchronous)
      const found = yield* trained(Pace.streaming({ minibatches: 2 }))
      assert.lengthOf(found, expected.length)
      expected.forEach(({ metrics, reward, updates }, index) => {
        assert.strictEqual(found[index]?.reward?.mean, reward?.mean)
        assert.deepStrictEqual(found[index]?.updates.length, updates.length)
        for (const [name, value] of Object.entries(metrics)) {
          if (name.startsWith("time/")) continue
          assert.approximately(found[index]?.metrics[name] ?? NaN, value, 1e-5 * Math.max(1, Math.abs(value)), name)
        }
      })
      assert.notStrictEqual(expected.at(-1)?.metrics["optim/entropy"], expected[0]?.metrics["optim/entropy"])
    }))

  it.effect("include groups with equal rewards if an estimator judges individual tokens", () =>
    Effect.gen(function*() {
      const world = {
        batches: [evenly(4).map((group) => ({ ...group, isConstant: true }))],
        trainSeconds: 0,
        publishSeconds: 0
      }
      const first = Advantage.perToken("first token", () => (_member, _turn, position) => position === 0 ? 1 : 0)
      const overrides = { update: { credit: Credit.groupRelative(first) } }
      const ran = yield* Schedules.run(world, Pace.streaming({ minibatches: 2 }), { overrides })
      assert.deepStrictEqual(submitted(ran), [[0, 0, 1, 1], [2, 2, 3, 3], "step"])
      const without = yield* Schedules.run(world, Pace.streaming({ minibatches: 2 }))
      assert.deepStrictEqual(submitted(without), [])
    }))

  it.effect("are submitted before later groups have ended", () =>
    Effect.gen(function*() {
      const world = {
        batches: [[{ seconds: 1 }, { seconds: 2 }, { seconds: undefined }]],
        trainSeconds: 0,
        publishSeconds: 0
      }
      const ran = yield* Schedules.run(world, Pace.streaming({ minibatches: 3 }), { options: { deadline: "1 hour" } })
      assert.deepStrictEqual(
        ran.calls.flatMap((call) => call._tag === "ForwardBackward" ? [call.data.length] : []),
        [2, 2]
      )
    }))

  it.effect("train on the same groups in the same order, whichever groups end first and are replaced", () =>
    Effect.gen(function*() {
      const trainedOn = (seconds: (index: number) => number) => {
        const groups = Array.from(
          { length: 8 },
          (_, index) => ({ seconds: seconds(index), isConstant: index % 3 === 1 })
        )
        const world = { batches: Schedules.inBatches(groups, 4), trainSeconds: 1, publishSeconds: 0 }
        const overrides = { rollout: { dynamic: { minInformative: 3 } }, run: { iterations: 1 } }
        return Effect.map(
          Schedules.run(world, Pace.streaming({ minibatches: 2 }), { overrides }),
          ({ records }) => records.filter(RunRecord.guards.Credited).map(({ datums, groups }) => ({ datums, groups }))
        )
      }
      const inOrder = yield* trainedOn((index) => 1 + index)
      assert.deepStrictEqual(inOrder[0]?.groups.map(({ key, verdict }) => `${key} ${verdict}`), [
        "0 informative",
        "2 informative",
        "3 informative",
        "1 filtered"
      ])
      assert.deepStrictEqual(yield* trainedOn((index) => 9 - index), inOrder)
      assert.deepStrictEqual(yield* trainedOn((index) => 1 + (index * 5) % 8), inOrder)
    }))

  it.effect("report the same credit metrics as a single minibatch", () =>
    Effect.gen(function*() {
      const informative = Credit.groupRelative(Advantage.centered)
      const credit: Credit.Credit = {
        ...informative,
        assign: (results, memory, weights) =>
          Effect.map(informative.assign(results, memory, weights), (assigned) => ({
            ...assigned,
            metrics: { mean_key: Statistics.mean(results.map(({ key }) => Number(key))) }
          }))
      }
      const reported = Effect.fnUntraced(function*(minibatches: number) {
        const world = { batches: [evenly(5)], trainSeconds: 0, publishSeconds: 0 }
        const ran = yield* Schedules.run(world, Pace.streaming({ minibatches }), { overrides: { update: { credit } } })
        return ran.records.find(RunRecord.guards.Updated)?.metrics["mean_key"]
      })
      for (const minibatches of [1, 2, 3, 5]) assert.strictEqual(yield* reported(minibatches), 2, `${minibatches}`)
    }))

  it.effect("are refused if the credit compares the groups of a batch", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const update = { ...options.update, credit: Credit.batchRelative(Advantage.reward) }
      const error = yield* Effect.flip(Rl.validate({ ...options, update, pace: Pace.streaming({ minibatches: 2 }) }))
      assert.strictEqual(
        error.message,
        "pace.minibatches is 2, expected left out: the credit \"batch_relative\" compares the groups of a whole batch"
      )
    }).pipe(Effect.provide(Task.layer())))

  it.effect("are refused with a KL penalty, whose mean covers a whole batch", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({ update: { kl: { coefficient: 0.1 } } })
      const update = { ...options.update, loss: Loss.ppo() }
      for (const pace of [Pace.streaming({ minibatches: 2 }), Pace.async({ minibatches: 2 })]) {
        const error = yield* Effect.flip(Rl.validate({ ...options, update, pace }))
        assert.strictEqual(
          error.message,
          "pace.minibatches is 2, expected left out: the credit \"kl_penalty\" compares the groups of a whole batch"
        )
      }
      yield* Rl.validate({ ...options, update, pace: Pace.async() })
    }).pipe(Effect.provide(Task.layer())))
})

const Case = Schema.Struct({
  id: Schema.String,
  input: Schema.Struct({
    queue: Schema.Array(Schema.Union([Schema.Struct({ group: Schema.Int }), Schema.Null, Schema.Literal("shutdown")])),
    groups_per_batch: Schema.Int,
    num_minibatches: Schema.Int,
    num_substeps: Schema.Int,
    skip_filtered_groups: Schema.Boolean
  }),
  output: Schema.Struct({
    error: Schema.optional(Schema.String),
    calls: Schema.optional(Schema.Array(Schema.Struct({
      call: Schema.optional(Schema.String),
      datums: Schema.optional(Schema.Array(Schema.Tuple([Schema.Int, Schema.Int])))
    })))
  })
})
type Case = typeof Case.Type

const isStream = Schema.is(Schema.Struct({ kind: Schema.Literal("stream") }))

const cases = TrainingVectors.lines("stream.jsonl").filter(isStream).map((line) => Schema.decodeUnknownSync(Case)(line))

/** Groups in the order in which they end. Groups that upstream filters have constant rewards, as do groups that fill its batch. */
const worldOf = ({ input }: Case) => {
  const queue = input.queue.filter((entry) => entry !== "shutdown")
  const groups = Array.from({ length: Math.max(queue.length, input.groups_per_batch) }, (_, index) => ({
    seconds: 1 + index,
    isConstant: (queue[index] ?? null) === null
  }))
  return { batches: Schedules.inBatches(groups, input.groups_per_batch), trainSeconds: 0, publishSeconds: 0 }
}

/** Upstream's calls, by the queue positions of their groups. */
const expected = ({ input, output }: Case) => {
  const place = (group: number) =>
    input.queue.findIndex((entry) => entry !== null && entry !== "shutdown" && entry.group === group)
  return (output.calls ?? []).flatMap(({ call, datums = [] }): ReadonlyArray<ReadonlyArray<number> | "step"> => {
    if (call === "optim_step") return ["step"]
    return call === "forward_backward" ? [[...new Set(datums.map(([group]) => place(group)))]] : []
  })
}

describe("calls recorded from tinker-cookbook", () => {
  it("are all compared, except for the plain step", () => {
    const reason = (line: unknown) =>
      isStream(line) ? undefined : "the plain step splits its substeps between groups here, between datums upstream"
    assert.deepStrictEqual(
      RecordedLines.counted(TrainingVectors.lines("stream.jsonl"), reason),
      RecordedLines.accountOf("core/training/stream.jsonl.gz")
    )
  })

  for (const recorded of cases) {
    const { id, input, output } = recorded
    const calls = Effect.gen(function*() {
      const pace = Pace.async({
        maxStepsOffPolicy: input.skip_filtered_groups ? 1 : 0,
        minibatches: input.num_minibatches
      })
      const dynamic = { minInformative: input.groups_per_batch, maxBatches: 1000 }
      const overrides = {
        run: { iterations: 1 },
        update: { substeps: input.num_substeps },
        rollout: input.skip_filtered_groups ? { dynamic } : {}
      }
      const ran = yield* Schedules.run(worldOf(recorded), pace, { overrides })
      return submitted(ran).map((step) => step === "step" ? step : [...new Set(step)])
    })
    if (output.error === undefined) {
      it.effect(id, () => Effect.map(calls, (calls) => assert.deepStrictEqual(calls, expected(recorded))))
    } else {
      it.effect(`${id}: ends and trains on every group once, where upstream does not: ${output.error}`, () =>
        Effect.map(calls, (calls) => {
          const trained = calls.flatMap((call) => call === "step" ? [] : call)
          assert.deepStrictEqual(trained, input.queue.flatMap((entry, place) => entry === null ? [] : [place]))
          assert.strictEqual(calls.at(-1), "step")
        }))
    }
  }
})
