/** A training pass as JSON, for older official SDKs and manual requests. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { MalformedBody, SequenceId } from "@effect-rl/agent/wire/Json"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
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
import * as Input from "./Input.ts"
import { TensorData } from "./Matrix.ts"
import type { PassRequest } from "./PassRequest.ts"

const Spans = Schema.optionalKey(Schema.Null)

/** A datum. Provenance exists only in protobuf, because the official SDKs that support it do not send JSON. */
const Datum = Schema.Struct({
  model_input: Input.Input,
  loss_fn_inputs: Schema.Record(Schema.String, TensorData),
  model_input_spans: Spans,
  loss_fn_input_spans: Spans
})
type Datum = typeof Datum.Type

/** The fields shared by both endpoints, each of which nests them under its own key. */
export const PassInput = Schema.Struct({
  data: Schema.Array(Datum),
  loss_fn: Schema.String,
  loss_fn_config: Schema.optionalKey(Schema.NullOr(
    Schema.Record(Schema.String, Schema.Union([Schema.Number, Schema.String]))
  ))
})
export type PassInput = typeof PassInput.Type

const head = { model_id: Schema.String, seq_id: Schema.optionalKey(Schema.NullOr(SequenceId)) }

export const ForwardBackwardBody = Schema.Struct({ ...head, forward_backward_input: PassInput })

export const ForwardBody = Schema.Struct({ ...head, forward_input: PassInput })

const malformed = (detail: string) => Effect.fail(new MalformedBody({ detail }))

const isInt64 = (value: number | bigint) =>
  typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value)

const toBytes = ({ data, dtype }: TensorData) => dtype === "int64" ? Bytes.integers(data) : Bytes.floats(data)

const tensor = (
  name: string,
  value: TensorData
): Effect.Effect<MessageInitShape<typeof TensorSchema>, MalformedBody> => {
  const { data, dtype, shape, sparse_col_indices: columns, sparse_crow_indices: rows } = value
  const strange = dtype === "int64" ? data.findIndex((one) => !isInt64(one)) : -1
  if (strange >= 0) {
    return malformed(`loss_fn_inputs.${name} has a value that is no int64: data[${strange}] is ${data[strange]}`)
  }
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
        value: { values: toBytes(value), crowIndices: Bytes.integers(rows), colIndices: Bytes.integers(columns) }
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

const chunk = (
  value: Input.Chunk,
  index: number
): Effect.Effect<MessageInitShape<typeof ChunkSchema>, MalformedBody> => {
  const at = `model_input.chunks[${index}]`
  if ("tokens" in value) {
    return value.tokens.every(isInt32)
      ? Effect.succeed({ chunk: { case: "encodedText", value: { tokens: Bytes.of(new Int32Array(value.tokens)) } } })
      : malformed(`${at}.tokens has a value that 32 bits cannot hold`)
  }
  if ("dmel" in value) {
    return Effect.map(base64(`${at}.dmel`, value.dmel), (dmel) => ({ chunk: { case: "dmel", value: { dmel } } }))
  }
  if (!("data" in value)) return malformed(`${at}.type is ${Input.otherName(value)}, expected encoded_text or image`)
  if ((value.override_dimensions ?? undefined) !== undefined) {
    return malformed(`${at}.override_dimensions is not supported by this server, expected it to be absent`)
  }
  return Effect.map(base64(`${at}.data`, value.data), (data) => ({
    chunk: {
      case: "image",
      value: { data, format: value.format, expectedTokens: value.expected_tokens ?? undefined }
    }
  }))
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

/** Numbers go into the older settings field, which all clients know; texts go into the newer one. */
const configOf = (config: NonNullable<PassInput["loss_fn_config"]>) => ({
  lossFnConfig: Record.filter(config, Predicate.isNumber),
  lossFnConfigV2: Record.map(
    Record.filter(config, Predicate.isString),
    (value) => ({ value: { case: "text" as const, value } })
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
      ...configOf(input.loss_fn_config ?? {}),
      forwardOnly
    }))
