/** Training data for any language model with at least a dozen token ids, for the port and in wire format. */
import { decode } from "@effect-rl/agent/wire/Json"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { sdk_version } from "../client/ClientConfig.ts"
import * as PassResult from "../wire/PassResult.ts"
import type { Reply } from "./RawRequests.ts"

const sequence = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6)

export const tokens = sequence.subarray(0, -1)
export const input = ModelInput.fromTokens(tokens)
export const targetTokens = sequence.subarray(1)

export const full = (value: number) => new Float32Array(targetTokens.length).fill(value)

export const weighted = (weights: Float32Array = full(1)) => Datum.weightedTokens(input, { targetTokens, weights })

/** A datum of the first `length` tokens of the examples. */
export const ofLength = (length: number) =>
  Datum.weightedTokens(ModelInput.fromTokens(tokens.subarray(0, length)), {
    targetTokens: targetTokens.subarray(0, length),
    weights: new Float32Array(length).fill(1)
  })

/** A datum for a text, with a weight for each position. */
export const ofText = (text: ReadonlyArray<number>, weight: (at: number) => number = () => 1) =>
  Datum.weightedTokens(ModelInput.fromTokens(text.slice(0, -1)), {
    targetTokens: Int32Array.from(text.slice(1)),
    weights: Float32Array.from(text.slice(1), (_, at) => weight(at))
  })

/**
 * Advantages, and how far the trainer's log-probabilities are from the sampler's per position: some within the clip bounds, some beyond.
 */
const near = {
  drifts: [0.6, -0.6, 0.1, -0.1, 0.3, 0, -0.2],
  advantages: Float32Array.of(1, -1, 0.5, -0.5, 2, 1, -2)
}

/** A datum of sampled tokens whose sampler log-probabilities differ from the trainer's by the drifts. */
export const drifted = (logprobs: Float32Array, { advantages, drifts } = near) =>
  Datum.policyTokens(input, {
    targetTokens,
    logprobs: logprobs.map((value, t) => value - (drifts[t] ?? 0)),
    advantages,
    mask: full(1)
  })

/** The body of a request that creates a session. */
export const session = { tags: ["certify"], user_metadata: {}, sdk_version, type: "create_session" }

/** A prompt as JSON. */
export const prompt = (text: ReadonlyArray<number> = [...tokens]) => ({
  chunks: [{ type: "encoded_text", tokens: text }]
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

/** The body of a training pass, with sequence number `seq_id` among the model's requests. */
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

export const forward = (model_id: string, seq_id: number, data: ReadonlyArray<object> = [datum()]) => ({
  model_id,
  seq_id,
  forward_input: { data, loss_fn: "cross_entropy" }
})

/** A learning rate large enough for one step to have a measurable effect on any model. */
export const learningRate = 0.05

export const adam = {
  learning_rate: learningRate,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-12,
  weight_decay: 0,
  grad_clip_norm: 0
}

export const step = (model_id: string, seq_id: number, params: object = {}) => ({
  model_id,
  seq_id,
  adam_params: { ...adam, ...params },
  type: "optim_step"
})

export const sampling = { max_tokens: 8, temperature: 1, top_k: -1, top_p: 1 }

export const sample = (sampling_session_id: string, seq_id: number, more: object = {}) => ({
  sampling_session_id,
  seq_id,
  num_samples: 2,
  prompt: prompt(),
  sampling_params: sampling,
  prompt_logprobs: false,
  topk_prompt_logprobs: 0,
  topk_sample_logprobs: 0,
  prompt_alt_tokens_k: 0,
  type: "sample",
  ...more
})

/** The body of a request that creates a model, the first in its session. */
export const adapter = (session_id: string, base_model: string, lora: object = {}) => ({
  session_id,
  model_seq_id: 0,
  base_model,
  lora_config: { rank: 8, train_unembed: true, train_mlp: true, train_attn: true, ...lora },
  optimizer_config: { type: "adamw" },
  type: "create_model"
})

const Sequences = Schema.Struct({
  sequences: Schema.Array(Schema.Struct({ tokens: Schema.Array(Schema.Int), logprobs: Schema.Array(Schema.Number) }))
})

/** The sequences of a sampling result; none if the body is not one. */
export const sequencesOf = (body: Reply["body"]) => Schema.is(Sequences)(body) ? body.sequences : []

/** The log-probabilities `[T]` of a prompt's tokens after the first, from a sampling result. */
export const promptLogprobsOf = ({ body: { prompt_logprobs } }: Reply) =>
  Array.isArray(prompt_logprobs) ? Float32Array.from(prompt_logprobs.slice(1), Number) : new Float32Array()

/** Sampling options that request only the log-probabilities of the examples. */
export const scoring = {
  prompt: prompt([...sequence]),
  num_samples: 1,
  prompt_logprobs: true,
  sampling_params: { ...sampling, max_tokens: 1 }
}

/** Decodes the result of a pass. Fails if the reply is not such a result. */
export const outputOf = ({ body }: Reply) => Effect.map(decode(PassResult.Body)(body), PassResult.fromJson)

/** The log-probabilities in the result of a pass over one datum. */
export const logprobsOf = (reply: Reply) =>
  Effect.map(outputOf(reply), ({ outputs: [output] }) => {
    const field = output?.["logprobs"]?.data
    return field instanceof Float32Array ? field : new Float32Array()
  })
