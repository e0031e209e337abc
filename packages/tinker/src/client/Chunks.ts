/** Splits the data of a pass into requests of bounded size. */
import type { PassRequest } from "../wire/PassRequest.ts"

type Datum = PassRequest["data"][number]

const inputBytes = ({ chunk }: Datum["modelInput"][number]) => {
  switch (chunk.case) {
    case "encodedText":
      return chunk.value.tokens.length
    case "image":
      return chunk.value.data.length
    case "dmel":
      return chunk.value.dmel.length
    default:
      return 0
  }
}

const tensorBytes = ({ encoding }: Datum["lossFnInputs"][string]) => {
  if (encoding.case === "dense") return encoding.value.length
  if (encoding.case === undefined) return 0
  const { colIndices, crowIndices, values } = encoding.value
  return values.length + colIndices.length + crowIndices.length
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

/** Payload bytes of one datum, excluding protobuf overhead. */
export const datumBytes = ({ lossFnInputs, modelInput }: Datum) =>
  sum(modelInput.map(inputBytes)) + sum(Object.values(lossFnInputs).map(tensorBytes))

export interface Limits {
  readonly maximumDatums: number
  readonly maximumBytes: number
}

/** Splits the data in order. A datum larger than the limit forms its own chunk. */
export const split = (data: ReadonlyArray<Datum>, limits: Limits): ReadonlyArray<ReadonlyArray<Datum>> => {
  const chunks: Array<Array<Datum>> = []
  let last: Array<Datum> = []
  let bytes = 0
  for (const datum of data) {
    const size = datumBytes(datum)
    if (last.length === 0 || last.length === limits.maximumDatums || bytes + size > limits.maximumBytes) {
      last = []
      bytes = 0
      chunks.push(last)
    }
    last.push(datum)
    bytes += size
  }
  return chunks
}
