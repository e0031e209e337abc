import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Vectors from "../Vectors.ts"

const specified =
  "0a0f546f7263684c6f737352657475726e124b0a0f546f7263684c6f737352657475726e12360a086c6f6770726f6273122a0a0c000000bf000080be" +
  "000080bf1218000000000000000008000000000000000c00000000000000180118021a130a086c6f73733a73756d11000000000000f83f"

const output = {
  outputs: [{ logprobs: Float32Array.of(-0.5, -0.25) }, { logprobs: Float32Array.of(-1) }],
  metrics: { "loss:sum": 1.5 }
}

/** A datum with two candidates per position, between data with one. */
const mixed = {
  outputs: [
    { logprobs: Float32Array.of(-0.5, -0.25), elementwiseLoss: Float32Array.of(1, 2) },
    { logprobs: Float32Array.of(-1, -2, -3, -4), candidates: 2, elementwiseLoss: Float32Array.of(3, 4) },
    { logprobs: Float32Array.of(-5), elementwiseLoss: Float32Array.of(5) }
  ],
  metrics: { "loss:sum": 15 }
}

const Field = Schema.Struct({ dtype: Schema.String, shape: Schema.Array(Schema.Int), data: Schema.Array(Schema.Any) })

const vectors = Vectors.load(
  "fwdbwd_outputs",
  Schema.Struct({ hex: Schema.String }),
  Schema.Struct({
    loss_fn_output_type: Schema.String,
    loss_fn_outputs: Schema.Array(Schema.Record(Schema.String, Field)),
    metrics: Schema.Record(Schema.String, Schema.Number)
  })
)

/** Numbers as recorded in the vectors: integers exactly, others as doubles. */
const recorded = ({ data, shape }: PassResult.Field) => ({
  dtype: data instanceof Float32Array ? "float32" : "int64",
  shape,
  data: data instanceof Float32Array
    ? Array.from(data)
    : Array.from(data, (value) => Number.isSafeInteger(Number(value)) ? Number(value) : value)
})

describe("the result of a training pass", () => {
  it("is encoded as specified", () => {
    assert.strictEqual(Vectors.hex(PassResult.encode(output)), specified)
  })

  it("omits metrics on which official SDKs fail", () => {
    const metrics = { "loss:sum": 1.5, grad_norm: 2, "a:b:sum": 3 }
    assert.strictEqual(Vectors.hex(PassResult.encode({ ...output, metrics })), specified)
  })

  it.effect("contains the log-probability of every candidate, and the loss at every position", () =>
    Effect.gen(function*() {
      const { outputs } = yield* PassResult.decode(PassResult.encode(mixed))
      assert.deepStrictEqual(outputs.map(({ logprobs }) => logprobs?.shape), [[2], [2, 2], [1]])
      assert.deepStrictEqual(outputs.map(({ elementwise_loss }) => elementwise_loss?.shape), [[2], [2], [1]])
      assert.deepStrictEqual(outputs[1]?.["logprobs"]?.data, mixed.outputs[1]?.logprobs)
      assert.deepStrictEqual(PassResult.fromJson(PassResult.toJson(mixed)).outputs, outputs)
    }))

  it.effect("is the same whether it is decoded from JSON or from protobuf", () =>
    Effect.gen(function*() {
      const json = PassResult.fromJson(PassResult.toJson(output))
      assert.deepStrictEqual(json, yield* PassResult.decode(PassResult.encode(output)))
    }))

  it.effect("is refused for an unknown dtype, and for bytes that are not whole numbers, even without rows", () =>
    Effect.gen(function*() {
      const detail = (hex: string) =>
        Effect.map(Effect.flip(PassResult.decode(Vectors.bytes(hex))), (error) => error.detail)
      const unknown = yield* detail("121b0a015412160a086c6f6770726f6273120a12080000000000000000")
      assert.strictEqual(unknown, "logprobs: dtype 0 is unknown")
      const ragged = yield* detail("12220a0154121d0a086c6f6770726f627312110a03000000120800000000000000001801")
      assert.strictEqual(ragged, "logprobs: 3 bytes are no whole number of elements of 4 bytes")
    }))

  it.effect.each(vectors)("is read as the official SDK reads it: $id", ({ expect, input }) =>
    Effect.gen(function*() {
      const decoded = PassResult.decode(Vectors.bytes(input.hex))
      if (Vectors.isError(expect)) {
        assert.strictEqual((yield* Effect.flip(decoded))._tag, "MalformedBody")
        return
      }
      const { metrics, outputs, type } = yield* decoded
      assert.strictEqual(type, expect.loss_fn_output_type)
      assert.deepStrictEqual(metrics, { ...expect.metrics })
      assert.deepStrictEqual(
        outputs.map((fields) =>
          Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, recorded(field)]))
        ),
        expect.loss_fn_outputs.map((fields) => ({ ...fields }))
      )
    }))
})
