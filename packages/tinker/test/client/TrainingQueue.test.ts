import { Loss } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { datum, run, step, train } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

describe("a training client", () => {
  it.effect("takes only one step if the answer to the step is lost", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/optim_step", "unanswered", 3) })
      const { metrics } = yield* withTinker(service, step)
      assert.deepStrictEqual(metrics, { grad_norm: 1 })
      assert.deepStrictEqual(service.steps, [1])
    }))

  it.effect("stops using a model whose state is unknown after an unanswered step", () =>
    Effect.gen(function*() {
      const lost: FakeService.Faults = (path) => path === "/optim_step" ? "unanswered" : undefined
      const service = FakeService.make({ faults: lost })
      const [unknown, after] = yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* train
          const unknown = yield* Effect.flip(run(client.optimStep({ learningRate: 1e-3 })))
          return [unknown, yield* Effect.flip(run(client.optimStep({ learningRate: 1e-3 })))] as const
        })
      )
      assert.strictEqual(unknown.reason._tag, "Unavailable")
      assert.strictEqual(after.reason._tag, "Closed")
      assert.include(after.message, "checkpoint")
      assert.deepStrictEqual(service.steps, [1])
    }))

  it.effect("takes no step after a refused pass whose failure was not awaited", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/forward_backward", { status: 400 }) })
      const [refused, skipped] = yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* train
          const pass = yield* client.forwardBackward([datum], Loss.crossEntropy)
          const step = yield* client.optimStep({ learningRate: 1e-3 })
          const skipped = yield* Effect.flip(step.await)
          const refused = yield* Effect.flip(pass.await)
          return [refused, skipped] as const
        })
      )
      assert.strictEqual(refused.reason._tag, "Rejected")
      assert.strictEqual(skipped.reason._tag, "Closed")
      assert.deepStrictEqual(service.steps, [])
    }))

  it.effect.each(
    [
      { fault: "silent", datums: [datum, datum, datum], failure: "Unavailable" },
      { fault: { status: 400 }, datums: [datum], failure: "Rejected" }
    ] as const
  )(
    "does not step behind a pass that fails as $failure while both are awaited",
    ({ datums, failure, fault }) =>
      Effect.gen(function*() {
        const service = FakeService.make({
          faults: (path) => path === "/forward_backward" ? fault : undefined,
          delay: (path) => path === "/forward_backward" ? "1 second" : undefined
        })
        const [pass, step] = yield* withTinker(
          service,
          Effect.gen(function*() {
            const client = yield* train
            const pass = yield* client.forwardBackward(datums, Loss.crossEntropy)
            const step = yield* client.optimStep({ learningRate: 1e-3 })
            return yield* Effect.all([Effect.flip(pass.await), Effect.flip(step.await)], { concurrency: 2 })
          })
        )
        assert.strictEqual(pass.reason._tag, failure)
        assert.strictEqual(step.reason._tag, "Closed")
        assert.deepStrictEqual(service.steps, [])
      })
  )

  it.effect("stops after a refused request whose first attempt may have been carried out", () =>
    Effect.gen(function*() {
      const faults: FakeService.Faults = (path, index) =>
        path !== "/optim_step" ? undefined : index === 0 ? "unanswered" : { status: 400 }
      const service = FakeService.make({ faults })
      const [refused, after] = yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* train
          const refused = yield* Effect.flip(run(client.optimStep({ learningRate: 1e-3 })))
          return [refused, yield* Effect.flip(run(client.optimStep({ learningRate: 1e-3 })))] as const
        })
      )
      assert.strictEqual(refused.reason._tag, "Rejected")
      assert.strictEqual(after.reason._tag, "Closed")
      assert.deepStrictEqual(service.steps, [1])
    }))

  it.effect("continues after a failure that was awaited", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/forward_backward", { status: 400 }) })
      yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* train
          yield* Effect.flip(run(client.forwardBackward([datum], Loss.crossEntropy)))
          yield* run(client.forwardBackward([datum], Loss.crossEntropy))
          yield* run(client.optimStep({ learningRate: 1e-3 }))
        })
      )
      assert.deepStrictEqual(service.steps, [3])
    }))

  it.effect("finds the checkpoint that it saved if the answer to the save was lost", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/save_weights", "unanswered") })
      const { path } = yield* withTinker(service, Effect.flatMap(train, (client) => run(client.saveState("one"))))
      assert.strictEqual(path, "tinker://model/weights/one")
    }))

  it.effect("is refused a checkpoint name that another client has taken", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ faults: FakeService.first("/save_weights", { status: 409 }) })
      const refused = yield* Effect.flip(
        withTinker(service, Effect.flatMap(train, (client) => run(client.saveState("one"))))
      )
      assert.strictEqual(refused.reason._tag, "Rejected")
    }))
})
