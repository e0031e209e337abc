import {
  Executor,
  Policy,
  ProblemEnv,
  ProblemGroupBuilder,
  Rollout,
  RolloutTask,
  TaskRegistry,
  Tinker,
  TinkerError
} from "@effect-rl/core"
import { Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import * as Task from "../train/Task.ts"
import * as Scripted from "./Scripted.ts"

/** A group asks for one of the known sums. */
const sums = RolloutTask.make("sums", {
  payload: Schema.Struct({ index: Schema.Int, size: Schema.Int }),
  builder: Effect.fnUntraced(function*({ index, size }) {
    const model = yield* Task.model
    const [question, answer] = Task.sums[index] ?? ["", ""]
    const env = () =>
      ProblemEnv.make({ model, question, referenceAnswer: answer, checkAnswer: (text) => text.trim() === answer })
    return ProblemGroupBuilder.make({ key: `sum/${index}`, size, env })
  })
})

class Sandbox extends Context.Service<Sandbox, { readonly name: string }>()("test/Sandbox") {}

const broken = RolloutTask.make("broken", {
  payload: Schema.Literals(["fails", "throws"]),
  builder: (how) =>
    Effect.map(Sandbox, ({ name }) =>
      Scripted.group({
        key: `${name}/${how}`,
        size: 2,
        env: () => how === "throws" ? Scripted.throwing : Scripted.failing()
      }))
})

const skipping = RolloutTask.make("skipping", {
  payload: Schema.Null,
  builder: () => Effect.succeed(Scripted.group({ size: 2, env: () => Scripted.failing() })),
  rollout: { onFailure: Scripted.always("skip") }
})

const Sent = Schema.toCodecJson(Executor.Job)

/** A worker in this process, to which jobs are sent as text. */
const executor = Effect.map(TaskRegistry.TaskRegistry, (registry): Executor.Executor => ({
  others: "fail",
  roll: (job) =>
    Schema.encodeEffect(Sent)(job).pipe(
      Effect.flatMap((sent) => Schema.decodeUnknownEffect(Sent)(JSON.parse(JSON.stringify(sent)))),
      Effect.orDie,
      Effect.flatMap(registry.roll)
    )
}))

const policy = Effect.map(
  Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })),
  (client) => Policy.fromSamplingClient(client, { maxTokens: 8, seed: 5 })
)

const registry = TaskRegistry.TaskRegistry.layer(sums, skipping)

const answers = Task.layer({ sample: Task.answersHalf })

const withSums = Effect.provide(Layer.provideMerge(registry, answers))

describe("groups of a task", () => {
  it.effect("X2: come out the same, wherever they are rolled out", () =>
    Effect.gen(function*() {
      const builders = yield* Effect.forEach([0, 1, 2, 3], (index) => sums.builder({ index, size: 4 }))
      const options = { iteration: 3, samplerStep: 2, limits: { maxTurns: 2, rolloutTimeout: "1 minute" } } as const
      const here = yield* Stream.runCollect(Rollout.stream(builders, yield* policy, options))
      const away = { ...options, executor: yield* executor }
      const there = yield* Stream.runCollect(Rollout.stream(builders, yield* policy, away))
      assert.deepStrictEqual(there, here)
      assert.deepStrictEqual(there.map(({ _tag }) => _tag), ["Completed", "Completed", "Completed", "Completed"])
    }).pipe(withSums))

  it.effect("keep a name that they were given later, and with it their seeds", () =>
    Effect.gen(function*() {
      const builder = yield* sums.builder({ index: 0, size: 4 })
      const renamed = { ...builder, key: "again/sum/0" }
      const here = yield* Stream.runCollect(Rollout.stream([renamed], yield* policy))
      const there = yield* Stream.runCollect(Rollout.stream([renamed], yield* policy, { executor: yield* executor }))
      assert.deepStrictEqual(there, here)
      assert.deepStrictEqual(there.map(({ key }) => key), ["again/sum/0"])
    }).pipe(withSums))

  it.effect("may be given endless time", () =>
    Effect.gen(function*() {
      const builder = yield* sums.builder({ index: 0, size: 4 })
      const options = {
        memberTimeout: "Infinity",
        limits: { turnTimeout: "Infinity" },
        executor: yield* executor
      } as const
      const [there] = yield* Stream.runCollect(Rollout.stream([builder], yield* policy, options))
      assert.strictEqual(there?._tag, "Completed")
    }).pipe(withSums))

  it.effect("follow the failure policy of their task", () =>
    Effect.gen(function*() {
      const builder = yield* skipping.builder(null)
      const [result] = yield* Stream.runCollect(Rollout.stream([builder], yield* policy, { executor: yield* executor }))
      assert.strictEqual(result?._tag, "Skipped")
    }).pipe(withSums))

  it.effect.each(
    [
      { how: "fails", says: "Broken in the worker: step broke" },
      { how: "throws", says: "TypeError in the worker: not a function" }
    ] as const
  )("say which error a worker met: $how", ({ how, says }) =>
    Effect.gen(function*() {
      const builder = yield* broken.builder(how)
      const groups = Rollout.stream([builder], yield* policy, { executor: yield* executor })
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(groups))).message, `group "there/${how}": ${says}`)
    }).pipe(
      Effect.provide(Layer.provideMerge(TaskRegistry.TaskRegistry.layer(broken), answers)),
      Effect.provideService(Sandbox, { name: "there" })
    ))

  it.effect("say whether the backend may answer later", () =>
    Effect.gen(function*() {
      const builder = yield* sums.builder({ index: 0, size: 1 })
      const groups = Rollout.stream([builder], yield* policy, { executor: yield* executor })
      const error = yield* Effect.flip(Stream.runDrain(groups))
      assert.include(error.message, "TinkerError in the worker: sample: gone")
      assert.deepInclude("reason" in error ? error.reason : {}, { _tag: "TaskFailed", isRetryable: true })
    }).pipe(Effect.provide(Layer.provideMerge(
      registry,
      Task.layer({
        faults: [Fault.every("Sample", Fault.fail(new TinkerError.Unavailable({ detail: "gone" })))]
      })
    ))))

  it.effect("ask anew for weights that the backend did not give", () =>
    Effect.gen(function*() {
      const builder = yield* sums.builder({ index: 0, size: 1 })
      const there = Stream.runCollect(
        Rollout.stream([builder], yield* policy, { executor: yield* executor })
      )
      assert.include((yield* Effect.flip(there)).message, "TinkerError in the worker")
      const [result] = yield* there
      assert.strictEqual(result?._tag, "Completed")
    }).pipe(Effect.provide(Layer.provideMerge(
      registry,
      Task.layer({
        sample: Task.answersHalf,
        faults: [Fault.call("CreateSamplingClient", 1, Fault.fail(new TinkerError.Unavailable({ detail: "gone" })))]
      })
    ))))

  it.effect("need a worker that knows them", () =>
    Effect.gen(function*() {
      const unknown = RolloutTask.make("unknown", { payload: Schema.Null, builder: () => skipping.builder(null) })
      const builder = yield* unknown.builder(null)
      const groups = Rollout.stream([builder], yield* policy, { executor: yield* executor })
      const error = yield* Effect.flip(Stream.runDrain(groups))
      assert.strictEqual(error.message, `group "group": the worker has no task "unknown", it has: sums, skipping`)
    }).pipe(withSums))
})

describe("a group that cannot be sent", () => {
  const plain = Scripted.group({ key: "plain", size: 1, env: () => Scripted.env() })

  it.effect("is refused, and says what is in the way", () =>
    Effect.gen(function*() {
      const task = yield* skipping.builder(null)
      const sampling = yield* policy
      const away = { executor: yield* executor }
      const message = <A, E extends Error, R>(groups: Stream.Stream<A, E, R>) =>
        Effect.map(Effect.flip(Stream.runDrain(groups)), ({ message }) => message)
      const where = "cannot be sent to where the group is rolled out"
      assert.deepStrictEqual(
        [
          yield* message(Rollout.stream([plain], sampling, away)),
          yield* message(Rollout.stream([task], Scripted.policy, away)),
          yield* message(Rollout.stream([task], sampling, { ...away, onFailure: Scripted.always("skip") }))
        ],
        [
          `group "plain": a group's builder ${where}: make it with a RolloutTask`,
          `group "group": the policy ${where}: make it with Policy.fromSamplingClient`,
          `group "group": onFailure ${where}: give it to the RolloutTask`
        ]
      )
    }).pipe(withSums))

  it.effect("is refused as it would be here, where its options are none", () =>
    Effect.gen(function*() {
      const task = yield* skipping.builder(null)
      const limits = { maxTurns: 1.5 }
      const message = <A, E extends Error, R>(groups: Stream.Stream<A, E, R>) =>
        Effect.map(Effect.flip(Stream.runDrain(groups)), ({ message }) => message)
      const here = yield* message(Rollout.stream([task], yield* policy, { limits }))
      const there = yield* message(Rollout.stream([task], yield* policy, { limits, executor: yield* executor }))
      assert.strictEqual(there, here)
      assert.include(there, "limits.maxTurns is 1.5")
    }).pipe(withSums))

  it.effect("is rolled out here where the executor says so", () =>
    Effect.gen(function*() {
      const here: Executor.Executor = { ...(yield* executor), others: "here" }
      const results = yield* Stream.runCollect(Rollout.stream([plain], Scripted.policy, { executor: here }))
      assert.deepStrictEqual(results.map(({ _tag, key }) => [_tag, key]), [["Completed", "plain"]])
    }).pipe(withSums))
})
