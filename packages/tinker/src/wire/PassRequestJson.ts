/** A training pass as JSON, which older official SDKs and people with curl send. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Bytes from "./Bytes.ts"
import {
  type ChunkSchema,
  type DatumSchema,
  DType,
  ForwardBackwardRequestSchema,
  type TensorSchema
} from "./gen/TinkerPublic.gen.ts"
import { MalformedBody, SequenceId } from "./Json.ts"
import type { PassRequest } from "./PassRequest.ts"

const Indices = Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Int)))

const TensorData = Schema.Struct({
  data: Schema.Array(Schema.Union([Schema.Number, Schema.BigInt])),
  dtype: Schema.Literals(["int64", "float32"]),
  shape: Indices,
  sparse_crow_indices: Indices,
  sparse_col_indices: Indices
})
type TensorData = typeof TensorData.Type

const Chunk = Schema.Union([
  Schema.Struct({ type: Schema.Literal("encoded_text"), tokens: Schema.Array(Schema.Int) }),
  Schema.Struct({
    type: Schema.Literal("image"),
    data: Schema.String,
    format: Schema.String,
    expected_tokens: Schema.optionalKey(Schema.NullOr(Schema.Int))
  }),
  Schema.Struct({ type: Schema.Literal("dmel"), dmel: Schema.String })
])
type Chunk = typeof Chunk.Type

const Datum = Schema.Struct({
  model_input: Schema.Struct({ chunks: Schema.Array(Chunk) }),
  loss_fn_inputs: Schema.Record(Schema.String, TensorData)
})
type Datum = typeof Datum.Type

/** What both endpoints take, under a key of their own. */
export const PassInput = Schema.Struct({
  data: Schema.Array(Datum),
  loss_fn: Schema.String,
  loss_fn_config: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Number)))
})
export type PassInput = typeof PassInput.Type

const head = { model_id: Schema.String, seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)) }

export const ForwardBackwardBody = Schema.Struct({ ...head, forward_backward_input: PassInput })

export const ForwardBody = Schema.Struct({ ...head, forward_input: PassInput })

const malformed = (detail: string) => Effect.fail(new MalformedBody({ detail }))

const isInt64 = (value: number | bigint) => typeof value === "bigint" || Number.isSafeInteger(value)

const toInt64 = (values: ReadonlyArray<number | bigint>) => Bytes.of(BigInt64Array.from(values, BigInt))

const toBytes = ({ data, dtype }: TensorData) =>
  dtype === "int64" ? toInt64(data) : Bytes.of(Float32Array.from(data, Number))

const tensor = (
  name: string,
  value: TensorData
): Effect.Effect<MessageInitShape<typeof TensorSchema>, MalformedBody> => {
  const { data, dtype, shape, sparse_col_indices: columns, sparse_crow_indices: rows } = value
  if (dtype === "int64" && !data.every(isInt64)) return malformed(`loss_fn_inputs.${name} has a value that is no int64`)
  const isSparse = rows !== undefined && rows !== null && columns !== undefined && columns !== null
  if (!isSparse && (rows ?? columns ?? undefined) !== undefined) {
    return malformed(`loss_fn_inputs.${name} has one kind of sparse indices, expected both`)
  }
  if (isSparse && (shape === undefined || shape === null)) {
    return malformed(`loss_fn_inputs.${name} is sparse and has no shape`)
  }
  return Effect.succeed({
    encoding: isSparse
      ? {
        case: "sparseCsr",
        value: { values: toBytes(value), crowIndices: toInt64(rows), colIndices: toInt64(columns) }
      }
      : { case: "dense", value: toBytes(value) },
    dtype: dtype === "int64" ? DType.INT64 : DType.FLOAT32,
    shape: (shape ?? []).map(BigInt)
  })
}

const base64 = (field: string, text: string) => {
  const bytes = Base64.decode(text)
  return Result.isSuccess(bytes) ? Effect.succeed(bytes.success) : malformed(`${field} is not base64`)
}

const isInt32 = (value: number) => value === (value | 0)

const chunk = (value: Chunk): Effect.Effect<MessageInitShape<typeof ChunkSchema>, MalformedBody> => {
  switch (value.type) {
    case "encoded_text":
      return value.tokens.every(isInt32)
        ? Effect.succeed({ chunk: { case: "encodedText", value: { tokens: Bytes.of(Int32Array.from(value.tokens)) } } })
        : malformed("tokens has a value that 32 bits cannot hold")
    case "image":
      return Effect.map(base64("image data", value.data), (data) => ({
        chunk: {
          case: "image",
          value: { data, format: value.format, expectedTokens: value.expected_tokens ?? undefined }
        }
      }))
    case "dmel":
      return Effect.map(base64("dmel", value.dmel), (dmel) => ({ chunk: { case: "dmel", value: { dmel } } }))
  }
}

const datum = (value: Datum): Effect.Effect<MessageInitShape<typeof DatumSchema>, MalformedBody> =>
  Effect.all({
    modelInput: Effect.forEach(value.model_input.chunks, chunk),
    lossFnInputs: Effect.map(
      Effect.forEach(
        Object.entries(value.loss_fn_inputs),
        ([name, data]) => Effect.map(tensor(name, data), (made) => [name, made] as const)
      ),
      (entries) => Object.fromEntries(entries)
    )
  })

export const toRequest = (
  body: { readonly model_id: string; readonly seq_id?: SequenceId | null },
  input: PassInput,
  forwardOnly: boolean
): Effect.Effect<PassRequest, MalformedBody> =>
  Effect.map(Effect.forEach(input.data, datum), (data) =>
    create(ForwardBackwardRequestSchema, {
      modelId: body.model_id,
      seqId: Number(body.seq_id ?? 0),
      data,
      lossFn: input.loss_fn,
      lossFnConfig: input.loss_fn_config ?? {},
      forwardOnly
    }))
