/** The answer to a training pass: named arrays for each datum, and metrics. */
import { create, toBinary } from "@bufbuild/protobuf"
import { MalformedBody } from "@effect-rl/agent/wire/Json"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Bytes from "./Bytes.ts"
import {
  type ArrayRecord,
  type BatchedTensor,
  DType,
  type ForwardBackwardOutput,
  ForwardBackwardOutputSchema
} from "./gen/TinkerPublic.gen.ts"
import * as Size from "./Size.ts"

/** One array of one datum. All dimensions but the first are equal across data. */
export interface Field {
  readonly data: Float32Array | BigInt64Array
  readonly shape: ReadonlyArray<number>
}

export interface PassResult {
  readonly type: string
  readonly outputs: ReadonlyArray<Readonly<Record<string, Field>>>
  readonly metrics: Readonly<Record<string, number>>
}

const values = (bytes: Uint8Array, dtype: DType): Result.Result<Float32Array | BigInt64Array, string> => {
  switch (dtype) {
    case DType.FLOAT32:
      return Bytes.toFloat32(bytes)
    case DType.BFLOAT16:
      return Bytes.toBfloat16(bytes)
    case DType.INT64:
      return Bytes.toInt64(bytes)
    case DType.INT32:
      return Result.map(Bytes.toInt32(bytes), (array) => BigInt64Array.from(array, BigInt))
    default:
      return Result.fail(`dtype ${dtype} is unknown`)
  }
}

/** The size of one element in bytes, by type. */
const elementSizes = new Map<DType, number>([[DType.FLOAT32, 4], [DType.BFLOAT16, 2], [DType.INT64, 8], [
  DType.INT32,
  4
]])

/** Checks what official SDKs reject about a tensor as a whole, even if it has no rows. */
const check = ({ data, dtype }: BatchedTensor): Result.Result<void, string> => {
  const size = elementSizes.get(dtype)
  if (size === undefined) return Result.fail(`dtype ${dtype} is unknown`)
  return data.length % size === 0
    ? Result.void
    : Result.fail(`${data.length} bytes are no whole number of elements of ${size} bytes`)
}

/** Maximum number of dimensions, because every array of a tensor has its own shape. */
const mostAxes = 8

const slice = (tensor: BatchedTensor, start: number, end: number): Result.Result<Field, string> => {
  const { data, dtype, trailingShape } = tensor
  if (!(start >= 0 && start <= end && end <= data.length)) {
    return Result.fail(`bytes ${start} to ${end} of ${data.length}`)
  }
  if (trailingShape.length >= mostAxes) {
    return Result.fail(`${trailingShape.length} trailing sizes, expected fewer than ${mostAxes}`)
  }
  const trailing = trailingShape.map(Number)
  const cell = trailing.reduce((product, size) => product * size, 1)
  return Result.flatMap(values(data.subarray(start, end), dtype), (array) => {
    const rows = cell === 0 ? 0 : array.length / cell
    return Number.isInteger(rows)
      ? Result.succeed({ data: array, shape: [rows, ...trailing] })
      : Result.fail(`${array.length} values do not fill rows of ${cell}`)
  })
}

const split = (name: string, tensor: BatchedTensor): Result.Result<ReadonlyArray<Field>, string> =>
  Result.mapError(
    Result.gen(function*() {
      yield* check(tensor)
      const offsets = yield* Bytes.toInt64(tensor.offsets)
      const fields: Array<Field> = []
      for (let index = 0; index + 1 < offsets.length; index++) {
        fields.push(yield* slice(tensor, Number(offsets[index]), Number(offsets[index + 1])))
      }
      return fields
    }),
    (detail) => `${name}: ${detail}`
  )

const maximumDatums = 2 ** 20

/** Maximum number of arrays in one result. Eight bytes that mark the end of an array become an object of hundreds of bytes. */
const mostArrays = 500_000

/** The arrays for each name, concatenated over all records. */
const columns = (records: ReadonlyArray<ArrayRecord>): Result.Result<Map<string, Array<Field>>, string> =>
  Result.gen(function*() {
    const found = new Map<string, Array<Field>>()
    let bytesLeft = mostArrays * BigInt64Array.BYTES_PER_ELEMENT
    for (const { fields } of records) {
      for (const [name, tensor] of Object.entries(fields)) {
        bytesLeft -= tensor.offsets.length
        if (bytesLeft < 0) return yield* Result.fail(`it has more than ${mostArrays} arrays`)
        const column = found.get(name) ?? []
        for (const field of yield* split(name, tensor)) column.push(field)
        found.set(name, column)
      }
    }
    return found
  })

/** One output per datum. If the number of data is not given, the first column determines the number. */
const outputs = (records: ReadonlyArray<ArrayRecord>): Result.Result<PassResult["outputs"], string> =>
  Result.gen(function*() {
    const found = yield* columns(records)
    const [first = []] = found.values()
    const said = Number(records.reduce((total, { numDatums }) => total + numDatums, 0n))
    const count = said === 0 ? first.length : said
    if (!(count >= 0 && count <= maximumDatums)) return yield* Result.fail(`num_datums is ${count}`)
    const rows = Array.from({ length: count }, (): Record<string, Field> => ({}))
    for (const [name, column] of found) {
      for (const [index, row] of rows.entries()) {
        const field = column[index]
        if (field === undefined) return yield* Result.fail(`${name}: ${column.length} arrays, expected ${count}`)
        row[name] = field
      }
    }
    return rows
  })

const typeOf = ({ lossFnOutputType, lossFnOutputs }: ForwardBackwardOutput) =>
  lossFnOutputs.length > 0
    ? lossFnOutputType.slice(lossFnOutputType.lastIndexOf(":") + 1)
    : lossFnOutputType === ""
    ? "ArrayRecord"
    : lossFnOutputType

const fromMessage = (message: ForwardBackwardOutput): Result.Result<PassResult, string> =>
  Result.map(
    outputs(message.lossFnOutputs),
    (rows) => ({ type: typeOf(message), outputs: rows, metrics: message.metrics })
  )

/** Maximum number of protobuf fields: records, array descriptions and metrics. */
const mostFields = 500_000

export const decode = (bytes: Uint8Array): Effect.Effect<PassResult, MalformedBody> =>
  Effect.flatMap(
    Size.decode(ForwardBackwardOutputSchema, bytes, mostFields),
    (message) => Effect.mapError(Effect.fromResult(fromMessage(message)), (detail) => new MalformedBody({ detail }))
  )

const type = "TorchLossReturn"

/** The outputs of one datum of a pass. */
export interface SentOutput {
  /** Log-probabilities `[T]`, or `[T, K]` with K `candidates`. */
  readonly logprobs: Float32Array
  readonly candidates?: number
  /** The loss at each position, `[T]`. */
  readonly elementwiseLoss?: Float32Array
}

/** A pass result as a server sends it. */
export interface Sent {
  readonly outputs: ReadonlyArray<SentOutput>
  readonly metrics: Readonly<Record<string, number>>
}

/** Concatenates the arrays of all data; each is a number of rows with `columns` columns. */
const batched = (arrays: ReadonlyArray<Float32Array>, columns: number | undefined) => {
  const offsets = new BigInt64Array(arrays.length + 1)
  const data = new Uint8Array(arrays.reduce((size, array) => size + array.byteLength, 0))
  let at = 0
  for (const [index, array] of arrays.entries()) {
    data.set(Bytes.of(array), at)
    at += array.byteLength
    offsets[index + 1] = BigInt(at)
  }
  const trailingShape = columns === undefined ? [] : [BigInt(columns)]
  return { data, offsets: Bytes.of(offsets), dtype: DType.FLOAT32, trailingShape }
}

/** Groups adjacent outputs with the same number of log-probability columns, because only those can share a record. */
const runs = (outputs: ReadonlyArray<SentOutput>): ReadonlyArray<Arr.NonEmptyArray<SentOutput>> => {
  const found: Array<Arr.NonEmptyArray<SentOutput>> = []
  for (const output of outputs) {
    const last = found.at(-1)
    if (last !== undefined && last[0].candidates === output.candidates) last.push(output)
    else found.push([output])
  }
  return found
}

const record = (outputs: Arr.NonEmptyArray<SentOutput>) => {
  const losses = outputs.flatMap(({ elementwiseLoss }) => elementwiseLoss ?? [])
  return {
    typeTag: type,
    fields: {
      logprobs: batched(outputs.map(({ logprobs }) => logprobs), outputs[0].candidates),
      ...(losses.length === outputs.length ? { elementwise_loss: batched(losses, undefined) } : {})
    },
    numDatums: BigInt(outputs.length)
  }
}

/** Whether a metric key has exactly one colon; official SDKs fail on any other key. */
const isReducible = ([key]: readonly [string, number]) => key.split(":").length === 2

const metricsOf = (metrics: Sent["metrics"]) => Object.fromEntries(Object.entries(metrics).filter(isReducible))

export const encode = ({ metrics, outputs }: Sent): Uint8Array =>
  toBinary(
    ForwardBackwardOutputSchema,
    create(ForwardBackwardOutputSchema, {
      lossFnOutputType: type,
      lossFnOutputs: runs(outputs).map(record),
      metrics: metricsOf(metrics)
    })
  )

const Tensor = Schema.Struct({
  data: Schema.Array(Schema.NullOr(Schema.Number)),
  dtype: Schema.Literals(["float32", "int64"]),
  shape: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Int)))
})

/** The result of a training pass as JSON. */
export const Body = Schema.Struct({
  loss_fn_output_type: Schema.String,
  loss_fn_outputs: Schema.Array(Schema.Record(Schema.String, Tensor)),
  metrics: Schema.Record(Schema.String, Schema.Number)
})

const field = ({ data, dtype, shape }: typeof Tensor.Type): Field => ({
  data: dtype === "int64"
    ? BigInt64Array.from(data, (value) => BigInt(Math.trunc(value ?? 0)))
    : Float32Array.from(data, (value) => value ?? NaN),
  shape: shape ?? [data.length]
})

export const fromJson = (body: typeof Body.Type): PassResult => ({
  type: body.loss_fn_output_type,
  outputs: body.loss_fn_outputs.map((fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, tensor]) => [name, field(tensor)]))
  ),
  metrics: body.metrics
})

const finiteOrNull = (value: number) => Number.isFinite(value) ? value : null

const floatTensor = (values: Float32Array, columns: number | undefined): typeof Tensor.Type => ({
  data: Array.from(values, finiteOrNull),
  dtype: "float32",
  shape: columns === undefined ? [values.length] : [values.length / columns, columns]
})

export const toJson = ({ metrics, outputs }: Sent): typeof Body.Type => ({
  loss_fn_output_type: type,
  loss_fn_outputs: outputs.map(({ candidates, elementwiseLoss, logprobs }) => ({
    logprobs: floatTensor(logprobs, candidates),
    ...(elementwiseLoss === undefined ? {} : { elementwise_loss: floatTensor(elementwiseLoss, undefined) })
  })),
  metrics: Object.fromEntries(Object.entries(metricsOf(metrics)).filter(([, value]) => Number.isFinite(value)))
})
