/**
 * The GGUF format of llama.cpp: metadata, then each tensor's name, shape and type, then the data.
 *
 * @see https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as GgufHeader from "./GgufHeader.ts"
import * as OpenFile from "./OpenFile.ts"
import * as TensorType from "./TensorType.ts"

/** The file is not GGUF, is damaged, or lacks the requested tensor. */
export class GgufError extends Schema.TaggedError<GgufError>()("GgufError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

/** A tensor whose data range has been checked against the file. */
export interface Tensor {
  readonly name: string
  /** The dimensions, number of rows first as in safetensors. GGUF itself stores the row length first. */
  readonly shape: ReadonlyArray<number>
  readonly type: TensorType.TensorType
  /** Byte offset from the start of the file. */
  readonly start: number
  readonly bytes: number
}

/** An open file. */
export interface Reader {
  readonly file: string
  readonly metadata: GgufHeader.Metadata
  readonly has: (name: string) => boolean
  readonly names: ReadonlyArray<string>
  /** Fails if the tensor is missing, has another shape, or has a type that the engine does not read. */
  readonly find: (name: string, shape: ReadonlyArray<number>) => Effect.Effect<Tensor, GgufError>
  /** Fills `into` with a tensor's bytes, starting at `offset`. */
  readonly read: (tensor: Tensor, offset: number, into: Uint8Array) => Effect.Effect<void, GgufError>
}

/** The size of the first read, which usually covers the whole header. */
const firstBytes = 1 << 22
const largestHeader = 1 << 28

/** Checks a header entry against the file. Returns the tensor, or a description of what is wrong. */
const checked = (
  { dataStart, tensors }: GgufHeader.Header,
  name: string,
  fileBytes: number
): Tensor | string => {
  const entry = tensors.get(name)
  if (entry === undefined) return `tensor ${name}: is missing; the file has ${tensors.size} others`
  const { offset, shape, typeId } = entry
  const type = TensorType.ofId(typeId)
  if (type === undefined) {
    return `tensor ${name}: its type is ${GgufHeader.typeName(typeId)}, expected one of ${TensorType.names.join(", ")}`
  }
  const [row = 1] = shape
  if (row % TensorType.blockValues(type) !== 0) {
    return `tensor ${name}: its rows have ${row} values, expected a multiple of ${
      TensorType.blockValues(type)
    } for ${type}`
  }
  const bytes = TensorType.bytesOf(type, shape.reduce((product, size) => product * size, 1))
  const start = dataStart + offset
  if (start + bytes > fileBytes) {
    return `tensor ${name}: ends at byte ${start + bytes}, but the file has ${fileBytes} bytes: ` +
      "it may be truncated: copy or download it again"
  }
  return { name, shape: shape.toReversed(), type, start, bytes }
}

/** Opens a file and checks its header. The scope closes the file. */
export const open = Effect.fnUntraced(function*(file: string) {
  const fail = (detail: string) => new GgufError({ file, detail })
  const { bytes: fileBytes, fill } = yield* OpenFile.open(file, fail)

  const readHeader = (size: number): Effect.Effect<GgufHeader.Header, GgufError> =>
    Effect.gen(function*() {
      const bytes = new Uint8Array(Math.min(size, fileBytes))
      yield* fill(0, bytes)
      const parsed = GgufHeader.parse(bytes)
      if (parsed._tag === "Parsed") return parsed.header
      if (parsed._tag === "Malformed") return yield* fail(parsed.detail)
      if (size >= fileBytes) return yield* fail(`the file has only ${fileBytes} bytes: it may be truncated`)
      if (size >= largestHeader) return yield* fail(`its header is larger than ${largestHeader} bytes`)
      return yield* readHeader(size * 4)
    })

  const header = yield* readHeader(firstBytes)

  const find: Reader["find"] = (name, shape) => {
    const found = checked(header, name, fileBytes)
    if (typeof found === "string") return Effect.fail(fail(found))
    if (found.shape.join() === shape.join()) return Effect.succeed(found)
    return Effect.fail(fail(`tensor ${name}: has shape [${found.shape}], expected [${shape}]`))
  }

  return {
    file,
    metadata: header.metadata,
    names: Array.from(header.tensors.keys()),
    has: (name) => header.tensors.has(name),
    find,
    read: (tensor, offset, into) => fill(tensor.start + offset, into)
  } satisfies Reader
})
