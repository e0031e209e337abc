import { create } from "@bufbuild/protobuf"
import { Loss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Chunks from "@effect-rl/tinker/client/Chunks"
import { ForwardBackwardRequestSchema } from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as PassData from "@effect-rl/tinker/wire/PassData"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import * as PassRequestJson from "@effect-rl/tinker/wire/PassRequestJson"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Vectors from "../Vectors.ts"

const specified =
  "0a016d10011a88010a100a0e0a0c01000000020000000300000012300a0d7461726765745f746f6b656e73121f0a18020000000000000003000000" +
  "0000000004000000000000001802220103121f0a086c6f6770726f627312130a0c00000000000000bf000080be180122010312210a0a616476616e" +
  "746167657312130a0c000000000000803f0000803f18012201032213696d706f7274616e63655f73616d706c696e67"

const datum = Datum.policyTokens(ModelInput.fromTokens([1, 2, 3]), {
  targetTokens: Int32Array.of(2, 3, 4),
  logprobs: Float32Array.of(NaN, -0.5, -0.25),
  advantages: Float32Array.of(0, 1, 1),
  mask: Float32Array.of(0, 1, 1)
})

const request = PassRequest.fromPass({
  modelId: "m",
  seqId: 1,
  data: [datum],
  loss: Loss.importanceSampling,
  forwardOnly: false
})

/** Whether every list has a dtype; the SDK completes the others before sending. */
const isComplete = ({ input }: { readonly input: unknown }) =>
  !JSON.stringify(input, (_, value: unknown) => typeof value === "bigint" ? Number(value) : value).includes("\"raw\"")

const vectors = Vectors.load(
  "requests",
  Schema.Any,
  Schema.Struct({ hexSortedMaps: Schema.String, estimatedDatumBytes: Schema.Array(Schema.Int) })
).filter(isComplete)

const decodeInput = Schema.decodeUnknownEffect(Schema.Struct({
  ...PassRequestJson.PassInput.fields,
  model_id: Schema.String,
  seq_id: Schema.optionalKey(Schema.Int),
  forward_only: Schema.optionalKey(Schema.Boolean)
}))

const toMessage = (input: unknown) =>
  Effect.flatMap(decodeInput(input), (body) => PassRequestJson.toRequest(body, body, body.forward_only ?? false))

describe("a training pass", () => {
  it("is encoded as specified, without its mask", () => {
    assert.strictEqual(Vectors.hex(PassRequest.encode(request)), specified)
  })

  it.effect("decodes as it was sent, with the mask derived from tokens that are not trained", () =>
    Effect.gen(function*() {
      const pass = yield* PassData.toPass(yield* PassRequest.decode(Vectors.bytes(specified)))
      const logprobs = Float32Array.of(0, -0.5, -0.25)
      assert.deepStrictEqual(pass.data, [{ ...datum, inputs: { ...datum.inputs, logprobs } }])
      assert.deepStrictEqual(pass.loss, Loss.importanceSampling)
    }))

  it.effect("with candidates keeps their shape", () =>
    Effect.gen(function*() {
      const soft: Datum.Datum<"WeightedCandidates"> = {
        kind: "WeightedCandidates",
        modelInput: ModelInput.fromTokens([1, 2]),
        inputs: { targetTokens: Int32Array.of(2, 3, 4, 5), weights: Float32Array.of(0.5, 0.5, 1, 0), candidates: 2 }
      }
      const sent = { modelId: "m", seqId: 1, data: [soft], loss: Loss.crossEntropyCandidates, forwardOnly: true }
      assert.deepStrictEqual(yield* PassData.toPass(PassRequest.fromPass(sent)), sent)
    }))

  it.effect("with an unknown loss is refused, and the error names the loss", () =>
    Effect.gen(function*() {
      const refused = yield* Effect.flip(PassData.toPass({ ...request, lossFn: "reinforce" }))
      assert.include(refused.message, "reinforce")
    }))

  describe.each([
    ["a loss of the hosted service alone", { lossFn: "stable_reinforce" }, "stable_reinforce"],
    ["a loss named like a property of every object", { lossFn: "constructor" }, "loss_fn is \"constructor\""],
    [
      "a setting that is text",
      { lossFnConfigV2: { loss_id: { value: { case: "text", value: "mine" } } } },
      "loss_fn_config.loss_id is text \"mine\", expected a number"
    ]
  ])("with %s", (_, change, expected) => {
    it.effect("with an invalid field is refused, and the error names the field", () =>
      Effect.gen(function*() {
        const message = create(ForwardBackwardRequestSchema, { ...request, ...change } as typeof request)
        assert.include((yield* Effect.flip(PassData.toPass(message))).message, expected)
      }))
  })

  it.effect("has at most half a million fields, because each takes more memory than its encoding", () =>
    Effect.gen(function*() {
      const repeated = (count: number, ...bytes: ReadonlyArray<number>) =>
        Uint8Array.from({ length: count * bytes.length }, (_, index) => bytes[index % bytes.length] ?? 0)
      const within = (field: number, content: Uint8Array) => {
        const length = [0, 7, 14, 21].map((shift, index) => ((content.length >> shift) & 127) | (index < 3 ? 128 : 0))
        const all = new Uint8Array(content.length + 5)
        all.set([8 * field + 2, ...length])
        all.set(content, 5)
        return all
      }
      const datums = repeated(600_000, 0x1a, 0)
      const chunks = within(3, repeated(600_000, 0x0a, 0))
      const unknown = within(3, within(1, repeated(600_000, 0x78, 0)))
      const shape = within(3, within(2, within(2, within(4, repeated(600_000, 1)))))
      for (const bytes of [datums, chunks, unknown, shape]) {
        const refused = yield* Effect.flip(PassRequest.decode(bytes))
        assert.include(refused.message, "it has more than 500000 fields")
      }
      assert.lengthOf((yield* PassRequest.decode(repeated(1000, 0x1a, 0))).data, 1000)
    }))

  it.effect("that is truncated cannot be read", () =>
    Effect.gen(function*() {
      const torn = yield* Effect.flip(PassRequest.decode(Vectors.bytes(specified).subarray(0, 100)))
      assert.strictEqual(torn._tag, "MalformedBody")
    }))

  it.effect.each(vectors)("as JSON is the official SDK's protobuf: $id", ({ expect, input }) =>
    Effect.gen(function*() {
      if (Vectors.isError(expect)) {
        assert.isTrue(yield* Effect.isFailure(toMessage(input)))
        return
      }
      const message = yield* toMessage(input)
      const theirs = yield* PassRequest.decode(Vectors.bytes(expect.hexSortedMaps))
      assert.deepStrictEqual(yield* PassRequest.decode(PassRequest.encode(message)), theirs)
      assert.deepStrictEqual(message.data.map(Chunks.datumBytes), expect.estimatedDatumBytes)
    }))
})
