/** A training pass on the wire: the caller's data as protobuf. */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import type { MalformedBody } from "@effect-rl/agent/wire/Json"
import type { Loss } from "@effect-rl/core"
import type { Datum, ModelInput, TrainingClient } from "@effect-rl/core/backend"
import type * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Bytes from "./Bytes.ts"
import {
  DType,
  type ForwardBackwardRequest,
  ForwardBackwardRequestSchema,
  type TensorSchema
} from "./gen/TinkerPublic.gen.ts"
import * as Provenance from "./Provenance.ts"
import * as Size from "./Size.ts"

/** A protobuf message. A request in JSON is converted to the same message. */
export type PassRequest = ForwardBackwardRequest

export interface Pass {
  readonly modelId: string
  readonly seqId: number
  readonly data: ReadonlyArray<Datum.Datum<Datum.Kind>>
  readonly loss: Loss.Loss<Datum.Kind>
  /** Whether to compute outputs without gradients. */
  readonly forwardOnly: boolean
}

type Tensor = MessageInitShape<typeof TensorSchema>

const int64 = (values: Int32Array, shape: ReadonlyArray<number>): Tensor => ({
  encoding: { case: "dense", value: Bytes.int64(values) },
  dtype: DType.INT64,
  shape: shape.map(BigInt)
})

const float32 = (values: Float32Array, shape: ReadonlyArray<number>): Tensor => ({
  encoding: { case: "dense", value: Bytes.of(values) },
  dtype: DType.FLOAT32,
  shape: shape.map(BigInt)
})

/** Replaces the log-probabilities of masked tokens by 0, so missing values do not propagate as NaN. */
const present = (logprobs: Float32Array, mask: Float32Array) => {
  const sent = logprobs.slice()
  for (let t = 0; t < sent.length; t++) {
    if (mask[t] === 0) sent[t] = 0
  }
  return sent
}

const tensors = (
  inputs: Datum.Inputs[Datum.Kind],
  { name }: Loss.Loss<Datum.Kind>,
  sendsMask: boolean
): Record<string, Tensor> => {
  const size = inputs.targetTokens.length
  const shape = "candidates" in inputs ? [size / inputs.candidates, inputs.candidates] : [size]
  const target_tokens = int64(inputs.targetTokens, shape)
  if ("weights" in inputs) return { target_tokens, weights: float32(inputs.weights, shape) }
  const { advantages, logprobs, mask } = inputs
  return {
    target_tokens,
    logprobs: float32(present(logprobs, mask), shape),
    advantages: float32(advantages, shape),
    ...(sendsMask ? { weights: float32(mask, shape) } : {}),
    ...(name === "gspo" ? { sequence_ratio_mask: float32(mask, shape) } : {})
  }
}

const chunk = (chunk: ModelInput.Chunk) =>
  chunk._tag === "EncodedText"
    ? { chunk: { case: "encodedText" as const, value: { tokens: Bytes.of(chunk.tokens) } } }
    : {
      chunk: {
        case: "image" as const,
        value: { data: chunk.data, format: chunk.format, expectedTokens: chunk.expectedTokens }
      }
    }

/** A pass with the loss that the service stores under `lossId`. */
export const fromGraphPass = (
  data: ReadonlyArray<TrainingClient.GraphDatum>,
  lossId: string,
  modelId: string
): PassRequest =>
  create(ForwardBackwardRequestSchema, {
    modelId,
    data: data.map(({ inputs, modelInput, targetTokens }) => ({
      modelInput: modelInput.chunks.map(chunk),
      lossFnInputs: {
        ...Record.map(inputs, ({ data, shape }) => float32(Float32Array.from(data), shape)),
        target_tokens: int64(targetTokens, [targetTokens.length])
      }
    })),
    lossFn: "custom",
    lossFnConfigV2: { loss_id: { value: { case: "text", value: lossId } } }
  })

/** Encodes a pass. The mask is sent only if the server wants it as `weights`, or gspo needs it for its mean. */
export const fromPass = ({ data, forwardOnly, loss, modelId, seqId }: Pass, sendsMask = false): PassRequest =>
  create(ForwardBackwardRequestSchema, {
    modelId,
    seqId,
    data: data.map(({ inputs, modelInput, provenance }) => ({
      modelInput: modelInput.chunks.map(chunk),
      lossFnInputs: tensors(inputs, loss, sendsMask),
      ...(provenance === undefined ? {} : Provenance.fromDatum(provenance))
    })),
    lossFn: loss.name,
    lossFnConfig: { ...loss.config },
    forwardOnly
  })

export const encode = (request: PassRequest): Uint8Array => toBinary(ForwardBackwardRequestSchema, request)

/** Maximum number of protobuf fields in a pass: data, chunks, tensors and settings. */
const mostFields = 500_000

export const decode = (bytes: Uint8Array): Effect.Effect<PassRequest, MalformedBody> =>
  Size.decode(ForwardBackwardRequestSchema, bytes, mostFields)
