import * as Effect from "effect/Effect"
import { Tinker } from "../../backend/Tinker.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const missing = "no/such-model"

/** Cases about models and their capabilities. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "models: a backend that answers is healthy",
    Effect.flatMap(Tinker, (tinker) => tinker.health)
  ),
  Case.make(
    "models: the base model is listed",
    Effect.gen(function*() {
      const models = yield* (yield* Tinker).models
      yield* Case.expect(
        models.includes(options.baseModel),
        `models to include ${options.baseModel}`,
        models.join(", ")
      )
    })
  ),
  Case.make(
    "models: capabilities are usable numbers",
    Effect.gen(function*() {
      const { contextLength, loraRank: [min, max], topkPromptLogprobs } = yield* Fixture.capabilities(options)
      yield* Case.expect(Number.isInteger(contextLength) && contextLength > 0, "contextLength above 0", contextLength)
      yield* Case.expect(min >= 1 && max >= min, "loraRank from at least 1", `${min} to ${max}`)
      yield* Case.expect(topkPromptLogprobs >= 0, "topkPromptLogprobs of at least 0", topkPromptLogprobs)
    })
  ),
  Case.make(
    "models: capabilities of an unknown model are NotFound",
    Effect.flatMap(Tinker, (tinker) => Case.expectFailure(tinker.capabilities(missing), "NotFound", missing))
  ),
  Case.make(
    "models: training an unknown model is NotFound",
    Case.expectFailure(Fixture.training({ baseModel: missing }), "NotFound", missing)
  ),
  Case.make(
    "models: sampling an unknown model is NotFound",
    Case.expectFailure(Fixture.sampling({ baseModel: missing }), "NotFound", missing)
  ),
  Case.make(
    "models: a training client's info names what it trains",
    Effect.gen(function*() {
      const { info } = yield* Fixture.training(options, { loraRank: 16 })
      yield* Case.expectEqual("info.baseModel", info.baseModel, options.baseModel)
      yield* Case.expectEqual("info.loraRank", info.loraRank, 16)
      yield* Case.expect(info.modelId.length > 0, "a modelId", info.modelId)
    })
  ),
  Case.make(
    "models: training clients have ids of their own",
    Effect.gen(function*() {
      const first = yield* Fixture.training(options)
      const second = yield* Fixture.training(options)
      yield* Case.expect(first.info.modelId !== second.info.modelId, "two modelIds", first.info.modelId)
    })
  ),
  Case.make(
    "models: a LoRA rank outside the model's range is Unsupported",
    Effect.gen(function*() {
      const { loraRank: [min, max] } = yield* Fixture.capabilities(options)
      yield* Case.expectFailure(Fixture.training(options, { loraRank: min - 1 }), "Unsupported", "rank")
      yield* Case.expectFailure(Fixture.training(options, { loraRank: max + 1 }), "Unsupported", "rank")
    })
  ),
  Case.make(
    "models: a new adapter changes nothing",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const base = yield* Effect.flatMap(Fixture.sampling(options), Fixture.sampled)
        const adapted = yield* Effect.flatMap(Fixture.training(options), Fixture.logprobs)
        yield* Case.expectClose("log-probabilities of an untrained adapter", adapted, base)
      })
    )
  )
]
