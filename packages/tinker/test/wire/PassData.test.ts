import { create } from "@bufbuild/protobuf"
import { Loss } from "@effect-rl/core"
import * as Bytes from "@effect-rl/tinker/wire/Bytes"
import { type Datum, DType, ForwardBackwardRequestSchema } from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as PassData from "@effect-rl/tinker/wire/PassData"
import * as PassRequestJson from "@effect-rl/tinker/wire/PassRequestJson"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

type Inputs = Readonly<Record<string, unknown>>

const vector = (data: ReadonlyArray<number>, more: object = {}) => ({ data, dtype: "float32", ...more })
const ids = (data: ReadonlyArray<number | bigint>, more: object = {}) => ({ data, dtype: "int64", ...more })

const twoTokens = { chunks: [{ tokens: [1, 2] }] }

const decode = Schema.decodeUnknownEffect(PassRequestJson.PassInput)

/** The JSON form of a pass with one datum, as received. */
const received = (
  loss_fn_inputs: Inputs,
  loss_fn = "cross_entropy",
  model_input: unknown = twoTokens,
  more: object = {}
) =>
  decode({ data: [{ model_input, loss_fn_inputs, ...more }], loss_fn }).pipe(
    Effect.flatMap((input) => PassRequestJson.toRequest({ model_id: "m" }, input, false))
  )

const refusal = (...pass: Parameters<typeof received>) =>
  Effect.map(Effect.flip(Effect.flatMap(received(...pass), PassData.toPass)), ({ message }) => message)

const weights = vector([1, 1])

const withTensors = (datum: Partial<Datum>, lossFnInputs: Inputs) =>
  create(ForwardBackwardRequestSchema, {
    lossFn: "cross_entropy",
    data: [{
      modelInput: [{ chunk: { case: "encodedText", value: { tokens: Bytes.of(Int32Array.of(1, 2)) } } }],
      ...datum,
      lossFnInputs
    } as Datum]
  })

const targets = {
  target_tokens: {
    encoding: { case: "dense", value: Bytes.int64(Int32Array.of(5, 6)) },
    dtype: DType.INT64,
    shape: [2n]
  }
}

const span = (length: bigint, sequenceId = "s:0") => ({
  span: { case: "sampledTokens" as const, value: { sequenceId, offset: 0n, length } }
})

const ofSpans = (input: ReadonlyArray<ReturnType<typeof span>>, loss: ReadonlyArray<ReturnType<typeof span>>) =>
  PassData.toPass(withTensors({ modelInputSpans: [...input], lossFnInputSpans: [...loss] } as Partial<Datum>, targets))

describe("the data in a training pass", () => {
  it.effect("cannot contain a token that does not fit in 64 bits", () =>
    Effect.gen(function*() {
      assert.include(yield* refusal({ target_tokens: ids([18446744073709551617n, 1]), weights }), "target_tokens")
    }))

  it.effect("specify the tokens over which gspo takes its mean", () =>
    Effect.gen(function*() {
      const inputs = {
        target_tokens: ids([5, 6]),
        logprobs: vector([0, -1]),
        advantages: vector([0, 1]),
        sequence_ratio_mask: vector([1, 1])
      }
      const { data: [datum], loss } = yield* Effect.flatMap(received(inputs, "gspo"), PassData.toPass)
      assert.deepStrictEqual(loss, Loss.gspo())
      assert.deepStrictEqual(datum?.inputs, {
        targetTokens: Int32Array.of(5, 6),
        logprobs: Float32Array.of(0, -1),
        advantages: Float32Array.of(0, 1),
        mask: Float32Array.of(1, 1)
      })
      assert.include(yield* refusal(inputs, "ppo"), "loss_fn_inputs.sequence_ratio_mask is not read by ppo")
    }))

  it.effect("have as many values as their shape requires", () =>
    Effect.gen(function*() {
      const tooFew = ids([5, 6], { shape: [3] })
      assert.strictEqual(
        yield* refusal({ target_tokens: tooFew, weights }),
        "loss_fn_inputs.target_tokens: data has 2 values, expected 3 of shape [3]"
      )
      const tooMany = vector([1, 1, 1], { shape: [2] })
      assert.include(yield* refusal({ target_tokens: ids([5, 6]), weights: tooMany }), "data has 3 values, expected 2")
      const negative = ids([5, 6], { shape: [-1] })
      assert.include(yield* refusal({ target_tokens: negative, weights }), "shape is [-1]")
    }))

  it.effect("have a known type, even if a tensor has no rows", () =>
    Effect.gen(function*() {
      const empty = { encoding: { case: "dense", value: new Uint8Array() }, dtype: 7, shape: [0n] }
      const { message } = yield* Effect.flip(PassData.toPass(withTensors({ modelInput: [] }, { target_tokens: empty })))
      assert.include(message, "dtype is 7, expected int64")
    }))

  it.effect("must have integer tokens", () =>
    Effect.gen(function*() {
      assert.include(yield* refusal({ target_tokens: vector([5, 6]), weights }), "dtype is float32, expected int64")
    }))

  it.effect("have 32-bit tokens; a refusal quotes the number that was sent", () =>
    Effect.gen(function*() {
      for (const sent of [2 ** 31, 2 ** 32 + 5, -(2 ** 31) - 1, 2 ** 40]) {
        assert.strictEqual(
          yield* refusal({ target_tokens: ids([5, sent]), weights }),
          `loss_fn_inputs.target_tokens: data[1] is ${sent}, expected an id of a token, which has 32 bits`
        )
      }
    }))

  it.effect("have one row per token if they are sparse, whatever shape they declare", () =>
    Effect.gen(function*() {
      const sparse = ids([], { shape: [1, 2 ** 26], sparse_crow_indices: [0, 0], sparse_col_indices: [] })
      assert.include(yield* refusal({ target_tokens: sparse, weights }), "shape is [1, 67108864], expected 2 rows")
      const wide = ids([], { shape: [2, 2 ** 26], sparse_crow_indices: [0, 0, 0], sparse_col_indices: [] })
      assert.include(yield* refusal({ target_tokens: wide, weights }), "expected at most 8388608 cells")
    }))

  it.effect("are limited in total cells per request", () =>
    Effect.gen(function*() {
      const shape = [2, 2 ** 21]
      const sparse = { shape, sparse_crow_indices: [0, 0, 0], sparse_col_indices: [] }
      const one = {
        model_input: twoTokens,
        loss_fn_inputs: { target_tokens: ids([], sparse), weights: vector([], sparse) }
      }
      const input = yield* decode({ data: [one, one], loss_fn: "cross_entropy" })
      const request = yield* PassRequestJson.toRequest({ model_id: "m" }, input, false)
      assert.include((yield* Effect.flip(PassData.toPass(request))).message, "expected at most 0 cells")
    }))

  it.effect("are refused if the indices of a sparse tensor are out of range or out of order", () =>
    Effect.gen(function*() {
      const again = ids([7, 8], { shape: [2, 3], sparse_crow_indices: [0, 2, 2], sparse_col_indices: [0, 3] })
      assert.include(yield* refusal({ target_tokens: again, weights }), "column index 3, expected 0 to 2")
      const falling = ids([7, 8], { shape: [2, 3], sparse_crow_indices: [0, 3, 2], sparse_col_indices: [0, 1] })
      assert.include(yield* refusal({ target_tokens: falling, weights }), "column index")
      const skipping = ids([7, 8], { shape: [2, 3], sparse_crow_indices: [1, 1, 2], sparse_col_indices: [0, 1] })
      assert.include(yield* refusal({ target_tokens: skipping, weights }), "do not rise from 0")
    }))

  it.effect("are refused if they have an input that the loss does not read", () =>
    Effect.gen(function*() {
      const inputs = { target_tokens: ids([5, 6]), weights }
      assert.strictEqual(
        yield* refusal({ ...inputs, sequence_ratio_mask: weights }),
        "loss_fn_inputs.sequence_ratio_mask is not read by cross_entropy, expected target_tokens, weights"
      )
      const policy = { target_tokens: ids([5, 6]), logprobs: vector([0, -1]), advantages: vector([0, 1]) }
      assert.include(yield* refusal({ ...policy, clip_low_threshold: weights }, "ppo"), "clip_low_threshold")
    }))

  it.effect("may give the mask of a policy loss as weights", () =>
    Effect.gen(function*() {
      const policy = { target_tokens: ids([5, 6]), logprobs: vector([0, 0]), advantages: vector([0, 0]) }
      const pass = yield* Effect.flatMap(received({ ...policy, weights: vector([0, 1]) }, "ppo"), PassData.toPass)
      assert.deepNestedPropertyVal(pass.data[0], "inputs.mask", Float32Array.of(0, 1))
      assert.include(yield* refusal({ ...policy, weights: vector([0, 0.5]) }, "ppo"), "expected 0 or 1")
    }))

  it.effect("are refused with the reason if they contain an image or audio", () =>
    Effect.gen(function*() {
      const inputs = { target_tokens: ids([5, 6]), weights }
      const image = { type: "image", data: "AAAA", format: "png" }
      const of = (chunk: object) => refusal(inputs, "cross_entropy", { chunks: [chunk] })
      assert.include(yield* of(image), "model_input[0] is an image without expected_tokens")
      assert.include(yield* of({ ...image, override_dimensions: { width: 1, height: 1 } }), "override_dimensions")
      assert.include(
        yield* of({ type: "dmel", dmel: "AAAA" }),
        "model_input[0] is dmel, expected encoded_text or image"
      )
      assert.include(yield* of({ location: "s3://x" }), "type is image_asset_pointer")
    }))

  it.effect("may name the sequences from which they were sampled, with spans that cover every position", () =>
    Effect.gen(function*() {
      yield* ofSpans([span(1n), span(1n, "s:1")], [span(2n)])
      const failure = (...spans: Parameters<typeof ofSpans>) =>
        Effect.map(Effect.flip(ofSpans(...spans)), ({ message }) => message)
      assert.include(yield* failure([span(3n)], [span(2n)]), "model_input_spans covers 3 positions, expected 2")
      assert.include(yield* failure([span(2n)], []), "loss_fn_input_spans covers 0 positions, expected 2")
      assert.include(yield* failure([span(2n, "")], [span(2n)]), "model_input_spans[0].sequence_id is empty")
    }))

  it.effect("name the sequences from which they were sampled only in protobuf", () =>
    Effect.gen(function*() {
      const inputs = { target_tokens: ids([5, 6]), weights }
      assert.include(yield* refusal(inputs, "cross_entropy", twoTokens, { model_input_spans: [] }), "model_input_spans")
    }))
})
