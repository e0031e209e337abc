/** Training data for any language model with a dozen token ids, for the port and in wire format. */
import { Datum, ModelInput } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { decode } from "../wire/Json.ts"
import * as PassResult from "../wire/PassResult.ts"
import type { Reply } from "./RawRequests.ts"

const sequence = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6)

export const input = ModelInput.fromTokens(sequence.subarray(0, -1))
export const targetTokens = sequence.subarray(1)

export const full = (value: number) => new Float32Array(targetTokens.length).fill(value)

export const weighted = (weights: Float32Array = full(1)) => Datum.weightedTokens(input, { targetTokens, weights })

/** How far the trainer's log-probability is from the sampler's, per position: some within the bounds of clips, some beyond. */
const drifts = Float32Array.of(0.6, -0.6, 0.1, -0.1, 0.3, 0, -0.2)

/** Tokens that a sampler drew whose log-probabilities were those of the trainer but for the drifts. */
export const drifted = (logprobs: Float32Array) =>
  Datum.policyTokens(input, {
    targetTokens,
    logprobs: logprobs.map((value, t) => value - (drifts[t] ?? 0)),
    advantages: Float32Array.of(1, -1, 0.5, -0.5, 2, 1, -2),
    mask: full(1)
  })

/** A prompt as JSON. */
export const prompt = (tokens: ReadonlyArray<number> = [...sequence.subarray(0, -1)]) => ({
  chunks: [{ type: "encoded_text", tokens }]
})

interface Tensors {
  readonly tokens?: ReadonlyArray<number>
  readonly targets?: ReadonlyArray<number>
  readonly weights?: ReadonlyArray<number>
}

/** A datum as JSON. */
export const datum = ({ targets = [...targetTokens], tokens, weights = targets.map(() => 1) }: Tensors = {}) => ({
  model_input: prompt(tokens),
  loss_fn_inputs: {
    target_tokens: { data: targets, dtype: "int64", shape: [targets.length] },
    weights: { data: weights, dtype: "float32", shape: [weights.length] }
  }
})

/** A pass of one datum, number `seq_id` of the model's requests. */
export const pass = (
  model_id: string,
  seq_id: number,
  data: ReadonlyArray<object> = [datum()],
  loss_fn = "cross_entropy"
) => ({
  model_id,
  seq_id,
  forward_backward_input: { data, loss_fn }
})

export const forward = (model_id: string, seq_id: number) => ({
  model_id,
  seq_id,
  forward_input: { data: [datum()], loss_fn: "cross_entropy" }
})

/** Large enough for one step to have a measurable effect on any model. */
export const learningRate = 0.05

export const step = (model_id: string, seq_id: number, learning_rate = learningRate) => ({
  model_id,
  seq_id,
  adam_params: { learning_rate },
  type: "optim_step"
})

export const sample = (sampling_session_id: string, seq_id: number, more: object = {}) => ({
  sampling_session_id,
  seq_id,
  num_samples: 2,
  prompt: prompt(),
  sampling_params: { max_tokens: 8, temperature: 1 },
  type: "sample",
  ...more
})

/** The log-probabilities in the result of a pass of one datum. */
export const logprobsOf = ({ body }: Reply) =>
  Effect.map(decode(PassResult.Body)(body), (found) => {
    const field = PassResult.fromJson(found).outputs[0]?.["logprobs"]?.data
    return field instanceof Float32Array ? field : new Float32Array()
  })
