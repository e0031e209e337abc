/** Requests that any language model with at least a few dozen token ids can answer. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Capabilities } from "../../backend/Capabilities.ts"
import type { Pending } from "../../backend/Pending.ts"
import type { SamplingClient } from "../../backend/SamplingClient.ts"
import { type LoraOptions, Tinker } from "../../backend/Tinker.ts"
import type { TinkerError } from "../../backend/TinkerError.ts"
import type { TrainingClient } from "../../backend/TrainingClient.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Case from "./Case.ts"

/** The model to check the contract with. */
export interface Options {
  /** The model to test the backend with. */
  readonly baseModel: string
  /** The model's tokenizer; without it, rules about text are not checked. */
  readonly tokenizer?: Tokenizer
}

const sequence = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6)

export const input = ModelInput.fromTokens(sequence.subarray(0, -1))
export const targetTokens = sequence.subarray(1)
export const size = targetTokens.length

export const full = (value: number) => new Float32Array(size).fill(value)

export const weighted = (weights: Float32Array = full(1)) => Datum.weightedTokens(input, { targetTokens, weights })

/** A second example: the same tokens in reverse. */
export const backwards = (weights: Float32Array = full(1)) =>
  Datum.weightedTokens(ModelInput.fromTokens(sequence.toReversed().subarray(0, -1)), {
    targetTokens: sequence.toReversed().subarray(1),
    weights
  })

export const policy = (changes: Partial<Datum.Inputs["PolicyTokens"]> = {}) =>
  Datum.policyTokens(input, { targetTokens, logprobs: full(-2), advantages: full(1), mask: full(1), ...changes })

/** The learning rate of the cases. It is large enough for one step to have an effect on any model. */
export const learningRate = 0.05

export const capabilities = ({ baseModel }: Options): Effect.Effect<Capabilities, TinkerError, Tinker> =>
  Effect.flatMap(Tinker, (tinker) => tinker.capabilities(baseModel))

/** Runs a check only if the model has the capability in question; otherwise the case is inapplicable. */
export const where = <E, R>(
  options: Options,
  has: (capabilities: Capabilities) => boolean,
  check: Effect.Effect<unknown, E, R>
) =>
  Effect.flatMap(
    capabilities(options),
    (found) => has(found) ? Effect.asVoid(check) : Effect.succeed(Case.inapplicable)
  )

export const sampling = ({ baseModel }: Options): Effect.Effect<SamplingClient, TinkerError, Tinker | Scope.Scope> =>
  Effect.flatMap(Tinker, (tinker) => tinker.createSamplingClient({ baseModel }))

export const training = (
  { baseModel }: Options,
  lora: Omit<LoraOptions, "baseModel"> = { seed: 1, loraRank: 8 }
): Effect.Effect<TrainingClient, TinkerError, Tinker | Scope.Scope> =>
  Effect.flatMap(Tinker, (tinker) => tinker.createLoraTrainingClient({ baseModel, ...lora }))

/** Submits a request and awaits its result. */
export const run = <A, E, R>(submit: Effect.Effect<Pending<A>, E, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

export const step = (client: TrainingClient) => client.optimStep({ learningRate })

/** The trainer's log-probabilities `[T]` of the fixture under the current weights. */
export const logprobs = (client: TrainingClient) =>
  Effect.map(run(client.forward([weighted()], Loss.crossEntropy)), (output) => output.logprobs[0] ?? new Float32Array())

/** A sampler's log-probabilities `[T]` of the fixture's targets. */
export const sampled = (client: SamplingClient) =>
  Effect.map(client.computeLogprobs(ModelInput.fromTokens(sequence)), (logprobs) => logprobs.subarray(1))

/** Takes one step of supervised training on the given data. */
export const learn = Effect.fnUntraced(
  function*(client: TrainingClient, data: Datum.Datum<"WeightedTokens"> = weighted()) {
    yield* run(client.forwardBackward([data], Loss.crossEntropy))
    yield* run(step(client))
  }
)
