/** The data of a received pass, as a backend takes them. Every field that is not read is refused by name. */
import { Datum, Loss, ModelInput, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import type { Chunk } from "./gen/TinkerPublic.gen.ts"
import * as Input from "./Input.ts"
import type { Pass, PassRequest } from "./PassRequest.ts"
import * as Provenance from "./Provenance.ts"
import * as Tensor from "./Tensor.ts"

const rejected = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail }))

const orReject = <A>(field: string, result: Result.Result<A, string>) =>
  Result.isSuccess(result) ? Effect.succeed(result.success) : rejected(`${field}: ${result.failure}`)

const toChunk = (chunk: Chunk["chunk"], index: number): Effect.Effect<ModelInput.Chunk, TinkerError.Rejected> => {
  const at = `model_input[${index}]`
  if (chunk.case === "encodedText") {
    return Effect.map(orReject(`${at}.tokens`, Bytes.toInt32(chunk.value.tokens)), (tokens) => ({
      _tag: "EncodedText",
      tokens
    }))
  }
  if (chunk.case !== "image") return rejected(`${at} is ${chunk.case ?? "empty"}, expected encoded_text or image`)
  const { data, expectedTokens, format, overrideDimensions } = chunk.value
  return overrideDimensions === undefined
    ? Input.image(at, data, format, expectedTokens)
    : rejected(`${at}.override_dimensions is not supported by this server, expected none`)
}

const modelInput = (chunks: ReadonlyArray<Chunk>) =>
  Effect.map(Effect.forEach(chunks, ({ chunk }, index) => toChunk(chunk, index)), ModelInput.fromChunks)

/** A token without advantage and log-probability only fills the place of a prompt token. */
const maskOf = (advantages: Float32Array, logprobs: Float32Array) =>
  advantages.map((advantage, t) => advantage === 0 && logprobs[t] === 0 ? 0 : 1)

const inputsOf: Readonly<Record<Datum.Kind, ReadonlyArray<string>>> = {
  PolicyTokens: ["target_tokens", "logprobs", "advantages", "weights"],
  WeightedTokens: ["target_tokens", "weights"],
  WeightedCandidates: ["target_tokens", "weights"]
}

/** gspo's mean goes over the tokens of its own mask. */
const inputNames = ({ kind, name }: Loss.Loss<Datum.Kind>) =>
  name === "gspo" ? [...inputsOf[kind], "sequence_ratio_mask"] : inputsOf[kind]

/** The tensors of one datum by name. */
const makeTensors = (received: PassRequest["data"][number], positions: number, allowance: Tensor.Allowance) => {
  const find = (name: string) => Option.getOrUndefined(Record.get(received.lossFnInputs, name))
  const field = (name: string) => `loss_fn_inputs.${name}`
  const missing = (name: string) => rejected(`${field(name)} is missing`)
  const floats = (name: string) => {
    const found = find(name)
    return found === undefined ? undefined : orReject(field(name), Tensor.floats(found, positions, allowance))
  }
  return {
    targets: Effect.suspend(() => {
      const found = find("target_tokens")
      return found === undefined
        ? missing("target_tokens")
        : orReject(field("target_tokens"), Tensor.tokens(found, positions, allowance))
    }),
    optional: floats,
    required: (name: string) => floats(name) ?? missing(name)
  }
}

const isMask = (weights: Float32Array) => weights.every((weight) => weight === 0 || weight === 1)

const policyDatum = Effect.fnUntraced(function*(
  input: ModelInput.ModelInput,
  targetTokens: Int32Array,
  tensors: ReturnType<typeof makeTensors>
) {
  const logprobs = (yield* tensors.required("logprobs")).values
  const advantages = (yield* tensors.required("advantages")).values
  const given = tensors.optional("weights") ?? tensors.optional("sequence_ratio_mask")
  const mask = given === undefined ? maskOf(advantages, logprobs) : (yield* given).values
  if (!isMask(mask)) {
    return yield* rejected("loss_fn_inputs: the mask of a policy loss has another number, expected 0 or 1")
  }
  return Datum.policyTokens(input, { targetTokens, logprobs, advantages, mask })
})

const datum = Effect.fnUntraced(function*(
  received: PassRequest["data"][number],
  loss: Loss.Loss<Datum.Kind>,
  allowance: Tensor.Allowance
) {
  const { kind, name } = loss
  const input = yield* modelInput(received.modelInput)
  const read = inputNames(loss)
  const unread = Object.keys(received.lossFnInputs).find((key) => !read.includes(key))
  if (unread !== undefined) {
    return yield* rejected(`loss_fn_inputs.${unread} is not read by ${name}, expected ${read.join(", ")}`)
  }
  const tensors = makeTensors(received, input.length, allowance)
  const { columns, values: targetTokens } = yield* tensors.targets
  yield* orReject("provenance", Provenance.check(received, input.length, targetTokens.length / (columns ?? 1)))
  if (kind === "PolicyTokens") return yield* policyDatum(input, targetTokens, tensors)
  const weights = tensors.optional("weights")
  const inputs = {
    targetTokens,
    weights: weights === undefined ? new Float32Array(targetTokens.length).fill(1) : (yield* weights).values
  }
  return columns === undefined
    ? Datum.weightedTokens(input, inputs)
    : { kind: "WeightedCandidates" as const, modelInput: input, inputs: { ...inputs, candidates: columns } }
})

const losses = new Map<string, Loss.Loss<Datum.Kind>>([
  ["cross_entropy", Loss.crossEntropy],
  ["importance_sampling", Loss.importanceSampling],
  ["ppo", Loss.ppo()],
  ["cispo", Loss.cispo()],
  ["dro", Loss.dro()],
  ["gspo", Loss.gspo()]
])

/** Losses of the API that need what no backend of this project has. */
const absent = new Map([
  ["stable_reinforce", "it needs what the hosted service records when it samples"],
  ["custom", "graphs of custom losses are not run here; let the client compute it"]
])

const lossOf = (name: string) => {
  const found = losses.get(name)
  if (found !== undefined) return Effect.succeed(found)
  const known = [...losses.keys()].join(", ")
  const because = absent.get(name)
  const detail = because === undefined
    ? `loss_fn is "${name}", expected one of ${known}`
    : `loss_fn is "${name}": ${because}; expected one of ${known}`
  return Effect.fail(new TinkerError.Unsupported({ capability: "loss", detail }))
}

/** Newer clients send all settings as `loss_fn_config_v2`, and its numbers as `loss_fn_config` too. */
const configOf = Effect.fnUntraced(function*({ lossFnConfig, lossFnConfigV2 }: PassRequest) {
  const config: Record<string, number> = { ...lossFnConfig }
  for (const [key, { value }] of Object.entries(lossFnConfigV2)) {
    if (value.case !== "number") {
      const given = value.case === "text" ? `text "${value.value}"` : "empty"
      return yield* rejected(`loss_fn_config.${key} is ${given}, expected a number`)
    }
    config[key] = value.value
  }
  return config
})

/** What is to be done, or which field of it is wrong. */
export const toPass = Effect.fnUntraced(function*(
  request: PassRequest
): Effect.fn.Return<Pass, TinkerError.Rejected | TinkerError.Unsupported> {
  const { forwardOnly, lossFn, modelId, seqId } = request
  const loss = yield* lossOf(lossFn)
  const config = { ...loss.config, ...yield* configOf(request) }
  const allowance = { cells: Tensor.mostCells }
  const data = yield* Effect.forEach(request.data, (one) => datum(one, loss, allowance))
  const kind = data.some((one) => one.kind === "WeightedCandidates") ? "WeightedCandidates" : loss.kind
  return { modelId, seqId, data, loss: { ...loss, kind, config }, forwardOnly }
})
