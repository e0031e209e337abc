import { Tinker } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const offering = (...supported_models: ReadonlyArray<object>) =>
  FakeService.make({ routes: { "/get_server_capabilities": () => FakeService.json({ supported_models }) } })

const tinker = Tinker.Tinker

describe("a model", () => {
  it.effect("is refused for training if the service calls it not trainable, and for sampling if it calls it not sampleable", () =>
    Effect.gen(function*() {
      const service = offering(
        { model_name: "old", trainable: false, sampleable: true },
        { model_name: "new", trainable: true, sampleable: false }
      )
      const refused = <A>(use: Effect.Effect<A, unknown, Tinker.Tinker>) => Effect.flip(withTinker(service, use))
      const trained = yield* refused(
        Effect.scoped(Effect.flatMap(tinker, (_) => _.createLoraTrainingClient({ baseModel: "old" })))
      )
      assert.include(String(trained), "trainable")
      assert.include(String(trained), "the service says so of \"old\"")
      const sampled = yield* refused(
        Effect.scoped(Effect.flatMap(tinker, (_) => _.createSamplingClient({ baseModel: "new" })))
      )
      assert.include(String(sampled), "sampleable")
      assert.notInclude(service.received.map(({ path }) => path), "/create_model")
    }))

  it.effect("that the service lacks is refused with a list of its models", () =>
    Effect.gen(function*() {
      const service = offering({ model_name: "a" }, { model_name: "b", max_context_length: null })
      const error = yield* Effect.flip(withTinker(service, Effect.flatMap(tinker, (_) => _.capabilities("c"))))
      assert.deepInclude(error.reason, { _tag: "NotFound", name: "c", available: ["a", "b"] })
    }))
})
