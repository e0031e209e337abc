/** The data of a received pass, as a backend takes them. */
import { Datum, Loss, ModelInput, TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import { type Chunk, DType, type Tensor } from "./gen/TinkerPublic.gen.ts"
import * as Input from "./Input.ts"
import type { Pass, PassRequest } from "./PassRequest.ts"
import * as Sparse from "./Sparse.ts"

const rejected = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail }))

const orReject = <A>(field: string, result: Result.Result<A, string>) =>
  Result.isSuccess(result) ? Effect.succeed(result.success) : rejected(`${field}: ${result.failure}`)

/** A rank-2 tensor has its number of columns. */
interface Values {
  readonly values: Float32Array | BigInt64Array
  readonly columns?: number
}

const toArray = (bytes: Uint8Array, dtype: DType): Result.Result<Float32Array | BigInt64Array, string> => {
  if (dtype === DType.FLOAT32) return Bytes.toFloat32(bytes)
  if (dtype === DType.INT64) return Bytes.toInt64(bytes)
  return Result.fail(`dtype is ${dtype}, expected float32 or int64`)
}

const columns = (tensor: Tensor) => tensor.shape.length === 2 ? { columns: Number(tensor.shape[1]) } : {}

const toValues = (tensor: Tensor): Result.Result<Values, string> => {
  const { encoding } = tensor
  if (encoding.case === undefined) return Result.succeed({ values: new Float32Array(), ...columns(tensor) })
  const values = encoding.case === "dense"
    ? toArray(encoding.value, tensor.dtype)
    : Result.flatMap(
      toArray(encoding.value.values, tensor.dtype),
      (array) => Sparse.toDense(array, encoding.value, tensor.shape.map(Number))
    )
  return Result.map(values, (array) => ({ values: array, ...columns(tensor) }))
}

const outOfRange = -1

/** Ids that 32 bits cannot hold become −1, which no vocabulary has. */
const toToken = (value: bigint) => BigInt.asIntN(32, value) === value ? Number(value) : outOfRange

const toTokens = (values: Float32Array | BigInt64Array) =>
  values instanceof Float32Array ? Int32Array.from(values) : Int32Array.from(values, toToken)

const toFloats = (values: Float32Array | BigInt64Array) =>
  values instanceof Float32Array ? values : Float32Array.from(values, Number)

const toChunk = (chunk: Chunk["chunk"], index: number): Effect.Effect<ModelInput.Chunk, TinkerError.Rejected> => {
  const at = `model_input[${index}]`
  if (chunk.case === "encodedText") {
    return Effect.map(orReject(`${at}.tokens`, Bytes.toInt32(chunk.value.tokens)), (tokens) => ({
      _tag: "EncodedText",
      tokens
    }))
  }
  if (chunk.case !== "image") return rejected(`${at} is ${chunk.case ?? "empty"}, expected encoded_text or image`)
  const { data, expectedTokens, format } = chunk.value
  return Input.image(at, data, format, expectedTokens)
}

const modelInput = (chunks: ReadonlyArray<Chunk>) =>
  Effect.map(Effect.forEach(chunks, ({ chunk }, index) => toChunk(chunk, index)), ModelInput.fromChunks)

/** A token without advantage and log-probability only fills the place of a prompt token. */
const maskOf = (advantages: Float32Array, logprobs: Float32Array) =>
  advantages.map((advantage, t) => advantage === 0 && logprobs[t] === 0 ? 0 : 1)

const datum = Effect.fnUntraced(function*(received: PassRequest["data"][number], isPolicy: boolean) {
  const input = yield* modelInput(received.modelInput)
  const tensor = (name: string) => {
    const found = received.lossFnInputs[name]
    return found === undefined ? undefined : orReject(`loss_fn_inputs.${name}`, toValues(found))
  }
  const required = (name: string) => tensor(name) ?? rejected(`loss_fn_inputs.${name} is missing`)
  const targets = yield* required("target_tokens")
  const targetTokens = toTokens(targets.values)
  if (isPolicy) {
    const logprobs = toFloats((yield* required("logprobs")).values)
    const advantages = toFloats((yield* required("advantages")).values)
    return Datum.policyTokens(input, { targetTokens, logprobs, advantages, mask: maskOf(advantages, logprobs) })
  }
  const weights = tensor("weights")
  const inputs = {
    targetTokens,
    weights: weights === undefined ? new Float32Array(targetTokens.length).fill(1) : toFloats((yield* weights).values)
  }
  return targets.columns === undefined
    ? Datum.weightedTokens(input, inputs)
    : {
      kind: "WeightedCandidates" as const,
      modelInput: input,
      inputs: { ...inputs, candidates: targets.columns }
    }
})

const defaults: Readonly<Record<string, Loss.Loss<Datum.Kind>>> = {
  cross_entropy: Loss.crossEntropy,
  importance_sampling: Loss.importanceSampling,
  ppo: Loss.ppo(),
  cispo: Loss.cispo(),
  dro: Loss.dro()
}

/** What is to be done, or which field of it is wrong. */
export const toPass = Effect.fnUntraced(function*(
  request: PassRequest
): Effect.fn.Return<Pass, TinkerError.Rejected | TinkerError.Unsupported> {
  const { forwardOnly, lossFn, lossFnConfig, modelId, seqId } = request
  const loss = defaults[lossFn]
  if (loss === undefined) {
    const detail = `loss_fn is "${lossFn}", expected one of ${Object.keys(defaults).join(", ")}`
    return yield* new TinkerError.Unsupported({ capability: "loss", detail })
  }
  const data = yield* Effect.forEach(request.data, (one) => datum(one, loss.kind === "PolicyTokens"))
  const kind = data.some((one) => one.kind === "WeightedCandidates") ? "WeightedCandidates" : loss.kind
  return { modelId, seqId, data, loss: { ...loss, kind, config: { ...loss.config, ...lossFnConfig } }, forwardOnly }
})
