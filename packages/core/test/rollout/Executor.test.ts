import { EnvGroupBuilder, FailurePolicy, Policy, ProblemEnv, Rollout, Tinker, TinkerError } from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { Executor, RolloutTask, TaskRegistry } from "@effect-rl/core/program"
import { Call, Fault, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Scripted from "./Scripted.ts"

/** A task whose group asks for one of the known sums. */
const sums = RolloutTask.make("sums", {
  payload: Schema.Struct({ index: Schema.Int, size: Schema.Int.check(Schema.isLessThan(100)) }),
  builder: ({ index, size }) => {
    const [question, answer] = Task.sums[index] ?? ["", ""]
    return EnvGroupBuilder.make({
      key: `sum/${index}`,
      size,
      makeEnv: () =>
        Effect.map(
          Task.model,
          (model) =>
            ProblemEnv.make({ model, question, referenceAnswer: answer, checkAnswer: (text) => text.trim() === answer })
        )
    })
  }
})

class Sandbox extends Context.Service<Sandbox, { readonly name: string }>()("test/Sandbox") {}

const broken = RolloutTask.make("broken", {
  payload: Schema.Literals(["fails", "throws"]),
  builder: (how) =>
    EnvGroupBuilder.make({
      key: how,
      size: 2,
      makeEnv: () => Effect.map(Sandbox, () => how === "throws" ? Scripted.throwing : Scripted.failing())
    })
})

const skipping = RolloutTask.make("skipping", {
  payload: Schema.Null,
  builder: () => Scripted.group({ size: 2, env: () => Scripted.failing() }),
  rollout: { onFailure: Scripted.always("skip") }
})

const Sent = Schema.toCodecJson(Executor.Job)

/** A worker in the current process that receives jobs as text. */
const executor = Effect.map(TaskRegistry.TaskRegistry, (registry): Executor.Executor => ({
  roll: (job) =>
    Schema.encodeEffect(Sent)(job).pipe(
      Effect.flatMap((sent) => Schema.decodeUnknownEffect(Sent)(JSON.parse(JSON.stringify(sent)))),
      Effect.orDie,
      Effect.flatMap(registry.roll)
    )
}))

const away = <A, E, R>(groups: Stream.Stream<A, E, R>) =>
  Effect.flatMap(executor, (executor) => Stream.runCollect(Stream.provideService(groups, Executor.Executor, executor)))

const policy = Effect.map(
  Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })),
  (client) => Policy.fromSamplingClient(client, { maxTokens: 8, seed: 5 })
)

const registry = TaskRegistry.TaskRegistry.layer(sums, skipping)

const answers = Task.layer({ sample: Task.answersHalf })

const withSums = Effect.provide(Layer.provideMerge(registry, answers))

describe("an executor's tokens", () => {
  it.effect("are counted by the caller's metering", () =>
    Effect.gen(function*() {
      const { metering, used } = Metering.counter()
      const groups = Rollout.stream([sums.builder({ index: 0, size: 3 })], yield* policy)
      yield* Effect.provideService(away(groups), Metering.Metering, metering)
      const samples = (yield* Call.CallLog.use(({ calls }) => calls)).flatMap((call) =>
        call._tag === "Sample" ? [call] : []
      )
      const prefilled = samples.reduce((sum, { request }) => sum + request.prompt.length, 0)
      assert.lengthOf(samples, 3)
      const [[model, tokens] = assert.fail("nothing was counted")] = used()
      assert.strictEqual(model, Script.defaultModel)
      assert.strictEqual(tokens?.prefilled, prefilled)
    }).pipe(withSums))
})

describe("groups of a task", () => {
  it.effect("have the same results wherever they are rolled out", () =>
    Effect.gen(function*() {
      const builders = [0, 1, 2, 3].map((index) => sums.builder({ index, size: 4 }))
      const options = { iteration: 3, samplerStep: 2, limits: { maxTurns: 2, rolloutTimeout: "1 minute" } } as const
      const here = yield* Stream.runCollect(Rollout.stream(builders, yield* policy, options))
      const there = yield* away(Rollout.stream(builders, yield* policy, options))
      assert.deepStrictEqual(there, here)
      assert.deepStrictEqual(there.map(({ _tag }) => _tag), ["Completed", "Completed", "Completed", "Completed"])
    }).pipe(withSums))

  it.effect("keep a name that was assigned later, and the seeds derived from it", () =>
    Effect.gen(function*() {
      const builder = sums.builder({ index: 0, size: 4 })
      const renamed = { ...builder, key: "again/sum/0" }
      const here = yield* Stream.runCollect(Rollout.stream([renamed], yield* policy))
      const there = yield* away(Rollout.stream([renamed], yield* policy))
      assert.deepStrictEqual(there, here)
      assert.deepStrictEqual(there.map(({ key }) => key), ["again/sum/0"])
    }).pipe(withSums))

  it.effect("can have no time limit", () =>
    Effect.gen(function*() {
      const builder = sums.builder({ index: 0, size: 4 })
      const options = { memberTimeout: "Infinity", limits: { turnTimeout: "Infinity" } } as const
      const [there] = yield* away(Rollout.stream([builder], yield* policy, options))
      assert.strictEqual(there?._tag, "Completed")
    }).pipe(withSums))

  it.effect("follow their task's failure policy", () =>
    Effect.gen(function*() {
      const builder = skipping.builder(null)
      const [result] = yield* away(Rollout.stream([builder], yield* policy))
      assert.strictEqual(result?._tag, "Skipped")
    }).pipe(withSums))

  it.effect.each(
    [
      { how: "fails", says: "Broken in the worker: step broke" },
      { how: "throws", says: `Error in the worker: iteration 1, group "throws", member 0: TypeError: not a function` }
    ] as const
  )("report a worker's error: $how", ({ how, says }) =>
    Effect.gen(function*() {
      const builder = broken.builder(how)
      const groups = Rollout.stream([builder], yield* policy)
      assert.strictEqual((yield* Effect.flip(away(groups))).message, `group "${how}": ${says}`)
    }).pipe(
      Effect.provide(Layer.provideMerge(TaskRegistry.TaskRegistry.layer(broken), answers)),
      Effect.provideService(Sandbox, { name: "there" })
    ))

  it.effect("fail with a retryable error if the worker's backend is unavailable", () =>
    Effect.gen(function*() {
      const builder = sums.builder({ index: 0, size: 1 })
      const groups = Rollout.stream([builder], yield* policy)
      const error = yield* Effect.flip(away(groups))
      assert.include(error.message, "TinkerError in the worker: sample: gone")
      assert.deepInclude("reason" in error ? error.reason : {}, { _tag: "TaskFailed", isRetryable: true })
    }).pipe(Effect.provide(Layer.provideMerge(
      registry,
      Task.layer({
        faults: [Fault.every("Sample", Fault.fail(new TinkerError.Unavailable({ detail: "gone" })))]
      })
    ))))

  it.effect("request the weights again after a failed request", () =>
    Effect.gen(function*() {
      const builder = sums.builder({ index: 0, size: 1 })
      const there = away(Rollout.stream([builder], yield* policy))
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

  it.effect("fail if the worker does not have their task", () =>
    Effect.gen(function*() {
      const unknown = RolloutTask.make("unknown", { payload: Schema.Null, builder: () => skipping.builder(null) })
      const builder = unknown.builder(null)
      const groups = Rollout.stream([builder], yield* policy)
      const error = yield* Effect.flip(away(groups))
      assert.strictEqual(error.message, `group "group": the worker has no task "unknown", it has: sums, skipping`)
    }).pipe(withSums))
})

describe("a group that cannot be sent", () => {
  const plain = Scripted.group({ key: "plain", size: 1, env: () => Scripted.env() })

  it.effect("is refused with a reason", () =>
    Effect.gen(function*() {
      const task = skipping.builder(null)
      const sampling = yield* policy
      const message = <A, E extends Error, R>(groups: Stream.Stream<A, E, R>) =>
        Effect.map(Effect.flip(away(groups)), ({ message }) => message)
      const where = "cannot be sent to where the group is rolled out"
      assert.deepStrictEqual(
        [
          yield* message(Rollout.stream([plain], sampling)),
          yield* message(Rollout.stream([task], Scripted.policy)),
          yield* message(Rollout.stream([task], sampling, { onFailure: Scripted.always("skip") }))
        ],
        [
          `group "plain": a group's builder ${where}: make it with a RolloutTask`,
          `group "group": the policy ${where}: make it with Policy.fromSamplingClient`,
          `group "group": onFailure ${where}: make it with FailurePolicy.fromDescription, or give it to the RolloutTask`
        ]
      )
    }).pipe(withSums))

  it.effect("is refused for an invalid option, as it would be in the caller's process", () =>
    Effect.gen(function*() {
      const task = skipping.builder(null)
      const groups = Rollout.stream([task], yield* policy, { limits: { maxTurns: 1.5 } })
      const here = yield* Effect.flip(Stream.runDrain(groups))
      assert.deepStrictEqual(yield* Effect.flip(away(groups)), here)
      assert.strictEqual(here.message, "limits.maxTurns is 1.5, expected a whole number of at least 1")
    }).pipe(withSums))

  it.effect("is refused on opening or sending if its payload does not match the task's schema", () =>
    Effect.gen(function*() {
      const groups = Rollout.stream([sums.builder({ index: 0, size: 100 })], yield* policy)
      const here = yield* Effect.flip(Stream.runDrain(groups))
      assert.strictEqual(here._tag, "InvalidOption")
      assert.include(here.message, `payload of "sums"`)
      assert.deepStrictEqual(yield* Effect.flip(away(groups)), here)
    }).pipe(withSums))
})

describe("a failure policy", () => {
  it.effect.each([
    { name: "retryOnFailure", onFailure: FailurePolicy.retryOnFailure({ maxRetries: 1 }) },
    { name: "minViableGroup", onFailure: FailurePolicy.minViableGroup({ maxRetries: 1 }) },
    { name: "minViableGroup of one", onFailure: FailurePolicy.minViableGroup({ minSuccessful: 1 }) }
  ])("that is plain data applies wherever the group is rolled out: $name", ({ onFailure }) =>
    Effect.gen(function*() {
      const groups = Rollout.stream([skipping.builder(null)], yield* policy, { onFailure })
      const here = yield* Stream.runCollect(groups)
      assert.deepStrictEqual(yield* away(groups), here)
      assert.strictEqual(here[0]?._tag, "Skipped")
    }).pipe(withSums))

  it("has no description if it is a copy, so it cannot be sent", () => {
    assert.isDefined(FailurePolicy.description(FailurePolicy.failFast))
    assert.isUndefined(FailurePolicy.description({ ...FailurePolicy.failFast }))
  })
})
