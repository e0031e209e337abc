/** The safetensors format: an eight-byte header length, a JSON header with each tensor's type, shape and byte range, then the data. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as OpenFile from "./OpenFile.ts"

/** The file is not valid safetensors, or a tensor is missing or not as expected. */
export class SafetensorsError extends Schema.TaggedError<SafetensorsError>()("SafetensorsError", {
  file: Schema.String,
  /** The affected tensor; absent for an error in the header. */
  tensor: Schema.optionalKey(Schema.String),
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.tensor === undefined ? "header" : `tensor ${this.tensor}`}: ${this.detail}`
  }
}

/** Bytes per value of each type that the engine reads. */
const widths = { F32: 4, F16: 2, BF16: 2 } as const

export type DType = keyof typeof widths

export const widthOf = (dtype: DType): number => widths[dtype]

/** A tensor of any type. A file may contain tensors that the model does not use. */
export interface TensorInfo {
  readonly name: string
  readonly dtype: string
  readonly shape: ReadonlyArray<number>
  /** Byte offset from the start of the file. */
  readonly start: number
  readonly bytes: number
}

/** A tensor of a type that the engine reads. */
export interface ReadableTensor extends TensorInfo {
  readonly dtype: DType
}

export interface Header {
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly metadata: Readonly<Record<string, string>>
}

const Size = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Entry = Schema.Struct({
  dtype: Schema.String,
  shape: Schema.Array(Size),
  data_offsets: Schema.Tuple([Size, Size])
})

const isEntry = Schema.is(Entry)
const isMetadata = Schema.is(Schema.Record(Schema.String, Schema.String))
const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

const lengthBytes = 8
const largestHeader = 100_000_000

const isDType = (dtype: string): dtype is DType => Object.hasOwn(widths, dtype)

const headerError = (file: string, detail: string) => new SafetensorsError({ file, detail })

/** Checks one tensor against the data after the header. */
const tensorInfo = (file: string, name: string, entry: unknown, dataStart: number, fileBytes: number) => {
  const fail = (detail: string) => Effect.fail(new SafetensorsError({ file, tensor: name, detail }))
  if (!isEntry(entry)) return fail("expected dtype, shape and data_offsets")
  const { data_offsets: [start, end], dtype, shape } = entry
  const bytes = end - start
  const expected = isDType(dtype) ? shape.reduce((product, size) => product * size, widths[dtype]) : Math.max(0, bytes)
  if (bytes !== expected) {
    return fail(`data_offsets ${start} to ${end} hold ${bytes} bytes, expected ${expected} for ${dtype} [${shape}]`)
  }
  if (dataStart + end > fileBytes) {
    return fail(
      `ends at byte ${
        dataStart + end
      }, but the file has ${fileBytes} bytes: it may be truncated: copy or download it again`
    )
  }
  return Effect.succeed<TensorInfo>({ name, dtype, shape, start: dataStart + start, bytes })
}

/** Checks that tensors cover the data without gaps or overlaps. */
const checkCoverage = (file: string, tensors: ReadonlyArray<TensorInfo>, dataStart: number, fileBytes: number) => {
  let next = dataStart
  for (const { bytes, name, start } of [...tensors].sort((a, b) => a.start - b.start || a.bytes - b.bytes)) {
    if (start !== next) {
      return Effect.fail(
        new SafetensorsError({ file, tensor: name, detail: `starts at byte ${start}, expected ${next}` })
      )
    }
    next += bytes
  }
  return next === fileBytes
    ? Effect.void
    : Effect.fail(headerError(file, `the tensors end at byte ${next}, but the file has ${fileBytes} bytes`))
}

/** Checks the header length at the start of a file of `fileBytes` bytes. */
const headerLength = (file: string, start: Uint8Array, fileBytes: number) => {
  if (start.length < lengthBytes) return Effect.fail(headerError(file, `the file has only ${fileBytes} bytes`))
  const length = Number(new DataView(start.buffer, start.byteOffset, lengthBytes).getBigUint64(0, true))
  const most = Math.min(largestHeader, fileBytes - lengthBytes)
  return length <= most
    ? Effect.succeed(length)
    : Effect.fail(headerError(file, `its length is given as ${length}, expected at most ${most}`))
}

const parseHeader = Effect.fnUntraced(function*(file: string, json: Uint8Array, fileBytes: number) {
  const entries = yield* decodeJson(new TextDecoder().decode(json)).pipe(
    Effect.mapError((error) => headerError(file, error.message))
  )
  const dataStart = lengthBytes + json.length
  const { __metadata__: metadata = {}, ...tensors } = entries
  if (!isMetadata(metadata)) return yield* headerError(file, "__metadata__ must map strings to strings")
  const infos = yield* Effect.forEach(
    Object.entries(tensors),
    ([name, entry]) => tensorInfo(file, name, entry, dataStart, fileBytes)
  )
  yield* checkCoverage(file, infos, dataStart, fileBytes)
  return { metadata, tensors: new Map(infos.map((info) => [info.name, info])) } satisfies Header
})

/** An open file with its parsed header. */
export interface Reader extends Header {
  readonly file: string
  /** Fails if the tensor is missing, has another shape, or has a type that the engine does not read. */
  readonly find: (name: string, shape: ReadonlyArray<number>) => Effect.Effect<ReadableTensor, SafetensorsError>
  /** Fills `into` with a tensor's bytes, starting at `offset`. */
  readonly read: (info: TensorInfo, offset: number, into: Uint8Array) => Effect.Effect<void, SafetensorsError>
}

/** Opens a file and checks its whole header. The scope closes the file. */
export const open = Effect.fnUntraced(function*(file: string) {
  const { bytes: fileBytes, fill } = yield* OpenFile.open(file, (detail) => headerError(file, detail))
  const start = new Uint8Array(Math.min(lengthBytes, fileBytes))
  yield* fill(0, start)
  const json = new Uint8Array(yield* headerLength(file, start, fileBytes))
  yield* fill(lengthBytes, json)
  const header = yield* parseHeader(file, json, fileBytes)
  const find: Reader["find"] = Effect.fnUntraced(function*(name, shape) {
    const info = header.tensors.get(name)
    if (info === undefined) {
      const detail = `is missing; the file has ${header.tensors.size} others`
      return yield* new SafetensorsError({ file, tensor: name, detail })
    }
    const { dtype } = info
    if (info.shape.join() !== shape.join()) {
      const detail = `has shape [${info.shape}], expected [${shape}]`
      return yield* new SafetensorsError({ file, tensor: name, detail })
    }
    if (isDType(dtype)) return { ...info, dtype }
    const detail = `dtype is ${dtype}, expected one of ${Object.keys(widths).join(", ")}`
    return yield* new SafetensorsError({ file, tensor: name, detail })
  })
  const read: Reader["read"] = (info, offset, into) => fill(info.start + offset, into)
  return { ...header, file, find, read } satisfies Reader
})

/** A tensor to write, as the header describes it. */
export interface Described {
  readonly name: string
  readonly dtype: DType
  readonly shape: ReadonlyArray<number>
}

/** A tensor to write. */
export interface Tensor extends Described {
  readonly data: Uint8Array
}

/** The header bytes, and the order in which the tensors' data must follow: wide types first, then by name. */
export const header = <A extends Described>(
  tensors: ReadonlyArray<A>,
  metadata: Readonly<Record<string, string>> = {}
): { readonly bytes: Uint8Array; readonly ordered: ReadonlyArray<A> } => {
  const ordered = [...tensors].sort((a, b) => widths[b.dtype] - widths[a.dtype] || (a.name < b.name ? -1 : 1))
  let end = 0
  const entries = ordered.map(({ dtype, name, shape }) => {
    const start = end
    end += shape.reduce((product, size) => product * size, widths[dtype])
    return [name, { dtype, shape, data_offsets: [start, end] }]
  })
  const text = new TextEncoder().encode(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }))
  const length = Math.ceil(text.length / 8) * 8
  const bytes = new Uint8Array(lengthBytes + length).fill(0x20, lengthBytes)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true)
  bytes.set(text, lengthBytes)
  return { bytes, ordered }
}

/** Encodes a complete file from its tensors. */
export const encode = (
  tensors: ReadonlyArray<Tensor>,
  metadata: Readonly<Record<string, string>> = {}
): Uint8Array => {
  const { bytes, ordered } = header(tensors, metadata)
  const out = new Uint8Array(ordered.reduce((size, { data }) => size + data.length, bytes.length))
  out.set(bytes)
  let next = bytes.length
  for (const { data } of ordered) {
    out.set(data, next)
    next += data.length
  }
  return out
}
