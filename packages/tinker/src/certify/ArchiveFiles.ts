/** The files of a downloaded checkpoint, and the values of its adapter. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { RestClient } from "../client/RestClient.ts"

/** Block size of a tar archive in bytes. */
const block = 512

const utf8 = new TextDecoder()

/** The files of a tar archive. */
export const filesOf = (archive: Uint8Array): ReadonlyArray<readonly [name: string, bytes: Uint8Array]> => {
  const files: Array<readonly [name: string, bytes: Uint8Array]> = []
  for (let at = 0; at + block <= archive.length && archive[at] !== 0;) {
    const text = (from: number, to: number) => utf8.decode(archive.subarray(at + from, at + to))
    const size = Number.parseInt(text(124, 136), 8) || 0
    files.push([text(0, 100).split("\0")[0] ?? "", archive.subarray(at + block, at + block + size)])
    at += block + Math.ceil(size / block) * block
  }
  return files
}

/** The bytes of a checkpoint's archive. */
export const downloaded = Effect.fnUntraced(function*(path: string) {
  const rest = yield* RestClient
  const parts = yield* Stream.runCollect(rest.downloadCheckpoint(path))
  const bytes = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0)
  return bytes
})

const Header = Schema.fromJsonString(Schema.Record(
  Schema.String,
  Schema.Struct({
    dtype: Schema.optionalKey(Schema.String),
    data_offsets: Schema.optionalKey(Schema.Tuple([Schema.Int, Schema.Int]))
  })
))

const readHeader = Schema.decodeUnknownOption(Header)

/** The adapter's tensors, ordered by name; undefined if there are none or if any is not float32. */
export const weightsOf = (archive: Uint8Array): Float32Array | undefined => {
  const [, file] = filesOf(archive).find(([name]) => name.endsWith("adapter_model.safetensors")) ?? []
  if (file === undefined || file.length < 8) return undefined
  const size = Number(new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true))
  const header = readHeader(utf8.decode(file.subarray(8, 8 + size)))
  if (header._tag === "None") return undefined
  const tensors = Object.entries(header.value).filter(([name]) => name !== "__metadata__")
    .toSorted(([one], [other]) => one < other ? -1 : 1)
  if (tensors.some(([, { dtype }]) => dtype !== "F32")) return undefined
  const bytes = tensors.flatMap((
    [, { data_offsets: [from, to] = [0, 0] }]
  ) => [file.slice(8 + size + from, 8 + size + to)])
  const values = new Float32Array(bytes.reduce((total, { length }) => total + length / 4, 0))
  bytes.reduce((at, { buffer, length }) => (values.set(new Float32Array(buffer), at), at + length / 4), 0)
  return values.length === 0 ? undefined : values
}
