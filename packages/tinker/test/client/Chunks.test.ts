import { create } from "@bufbuild/protobuf"
import * as Chunks from "@effect-rl/tinker/client/Chunks"
import { DatumSchema } from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Vectors from "../Vectors.ts"

const Sizes = Schema.Struct({
  textTokens: Schema.Array(Schema.Int),
  imageBytes: Schema.optionalKey(Schema.Int),
  dmelBytes: Schema.optionalKey(Schema.Int),
  tensors: Schema.Record(
    Schema.String,
    Schema.Struct({
      dtype: Schema.Literals(["int64", "float32"]),
      length: Schema.Int,
      crow: Schema.optionalKey(Schema.Int),
      col: Schema.optionalKey(Schema.Int)
    })
  ),
  repeat: Schema.optionalKey(Schema.Int)
})

const vectors = Vectors.load(
  "chunking",
  Schema.Struct({
    maxChunkLen: Schema.Int,
    maxChunkBytes: Schema.Int,
    datums: Schema.Array(Sizes),
    repeat: Schema.optionalKey(Schema.Int)
  }),
  Schema.Struct({ chunks: Schema.Array(Schema.Struct({ count: Schema.Int, bytes: Schema.Int })) })
)

const blank = (length: number) => new Uint8Array(length)

const tensor = ({ col, crow, dtype, length }: (typeof Sizes.Type)["tensors"][string]) => {
  const values = blank(length * (dtype === "int64" ? 8 : 4))
  return {
    encoding: crow === undefined || col === undefined
      ? { case: "dense" as const, value: values }
      : {
        case: "sparseCsr" as const,
        value: { values, crowIndices: blank(crow * 8), colIndices: blank(col * 8) }
      }
  }
}

const datum = ({ dmelBytes, imageBytes, tensors, textTokens }: typeof Sizes.Type) =>
  create(DatumSchema, {
    modelInput: [
      ...textTokens.map((tokens) => ({
        chunk: { case: "encodedText" as const, value: { tokens: blank(tokens * 4) } }
      })),
      ...(imageBytes === undefined ? [] : [{ chunk: { case: "image" as const, value: { data: blank(imageBytes) } } }]),
      ...(dmelBytes === undefined ? [] : [{ chunk: { case: "dmel" as const, value: { dmel: blank(dmelBytes) } } }])
    ],
    lossFnInputs: Object.fromEntries(Object.entries(tensors).map(([name, sizes]) => [name, tensor(sizes)]))
  })

const repeated = <A>(values: ReadonlyArray<A>, times = 1) => Array.from({ length: times }, () => values).flat()

describe("chunks", () => {
  it.each(vectors)("end where the official SDK ends them: $id", ({ expect, input }) => {
    const data = repeated(input.datums.flatMap((sizes) => repeated([datum(sizes)], sizes.repeat)), input.repeat)
    const limits = { maximumDatums: input.maxChunkLen, maximumBytes: input.maxChunkBytes }
    const chunks = Chunks.split(data, limits).map((chunk) => ({
      count: chunk.length,
      bytes: chunk.reduce((total, one) => total + Chunks.datumBytes(one), 0)
    }))
    assert.deepStrictEqual(chunks, Vectors.isError(expect) ? [] : expect.chunks.map((chunk) => ({ ...chunk })))
  })
})
