import { Loss } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import * as Blocks from "@effect-rl/tinker/server/Blocks"
import * as PassThread from "@effect-rl/tinker/server/PassThread"
import * as PassWork from "@effect-rl/tinker/server/PassWork"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "./Api.ts"

const numbers = (count: number, value: (at: number) => number) => Array.from({ length: count }, (_, at) => value(at))

const vector = (data: ReadonlyArray<number>, dtype = "float32") => ({ data, dtype, shape: [data.length] })

const ids = numbers(500, (at) => at % 50)

/** A pass of 0.5 MB as JSON. */
const body = (model_id: string, more: object = {}, count = 20) => ({
  model_id,
  seq_id: 1,
  forward_backward_input: {
    data: Array.from({ length: count }, () => ({
      model_input: { chunks: [{ type: "encoded_text", tokens: ids }] },
      loss_fn_inputs: {
        target_tokens: vector(ids, "int64"),
        logprobs: vector(numbers(500, (at) => -Math.log(at + 1.5))),
        advantages: vector(numbers(500, (at) => Math.sin(at)))
      }
    })),
    loss_fn: "importance_sampling",
    ...more
  }
})

/** Blocks with their own memory, as they are received; numbers and names are split across blocks. */
const inBlocks = (bytes: Uint8Array, most = 99_991) =>
  Array.from({ length: Math.ceil(bytes.length / most) }, (_, at) => bytes.slice(at * most, (at + 1) * most))

const copied = (order: PassWork.Order): PassWork.Order => ({
  ...order,
  blocks: order.blocks.map((block) => block.slice())
})

const asJson = (value: object): PassWork.Order => ({
  format: "forward_backward",
  blocks: inBlocks(new TextEncoder().encode(JSON.stringify(value)))
})

const datum = Datum.policyTokens(ModelInput.fromTokens(ids), {
  targetTokens: Int32Array.from(ids),
  logprobs: new Float32Array(500).fill(-1),
  advantages: new Float32Array(500).fill(0.5),
  mask: new Float32Array(500).fill(1)
})

const protobuf = (count: number): PassWork.Order => ({
  format: "protobuf",
  blocks: inBlocks(PassRequest.encode(PassRequest.fromPass({
    modelId: "model",
    seqId: 3,
    forwardOnly: false,
    loss: Loss.ppo(),
    data: Array.from({ length: count }, () => datum)
  })))
})

const large: Readonly<Record<string, PassWork.Order>> = {
  "JSON": asJson(body("model")),
  "protobuf": protobuf(20),
  "with a loss of the session's own": asJson(body("model", { loss_fn: "custom", loss_fn_config: { loss_id: "mine" } })),
  "with a loss that no backend has": asJson(body("model", { loss_fn: "none" })),
  "with a field that is not read": asJson({ ...body("model"), more: 1 }),
  "without data": asJson({
    model_id: "model",
    seq_id: 1,
    forward_backward_input: { data: ids, filler: numbers(40_000, () => 1) }
  }),
  "torn": { format: "protobuf", blocks: protobuf(20).blocks.slice(0, 1) }
}

describe("the pass thread", () => {
  layer(Api.server(), { excludeTestServices: true })((it) => {
    it.effect("reads large passes as the server reads small ones", () =>
      Effect.gen(function*() {
        const thread = yield* PassThread.make
        for (const [name, order] of Object.entries(large)) {
          assert.isAbove(Blocks.size(order.blocks), 65_536)
          const expected = yield* PassWork.compute(copied(order))
          const read = yield* thread.read("ann", copied(order))
          assert.strictEqual(JSON.stringify(read, plain), JSON.stringify(expected, plain), name)
        }
      }))

    it.effect("refuses a pass with more parts than fit in a thread's memory, before it creates them", () =>
      Effect.gen(function*() {
        const thread = yield* PassThread.make
        const names = asJson(Object.fromEntries(numbers(500_001, (at) => at).map((at) => [`name${at}`, 0])))
        const lists = asJson({ model_id: numbers(500_001, () => 1).map(() => []) })
        const ones = asJson(numbers(2 ** 24 + 2, () => 1))
        for (
          const [order, detail] of [
            [names, "more than 500000 names within objects"],
            [lists, "more than 500000 arrays and objects"],
            [ones, "more than 16777216 values"]
          ] as const
        ) {
          const read = yield* thread.read("ann", order)
          assert.include(read._tag === "Malformed" ? read.detail : "", detail)
        }
      }))

    it.effect("trains with a large pass as with its data in small passes", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const whole = yield* Effect.flatMap(Api.post("/forward_backward", body(model_id)), Api.result)
        const outputs = whole["loss_fn_outputs"] as ReadonlyArray<object>
        const alone = { ...body(model_id, {}, 1), seq_id: 2 }
        const part = yield* Effect.flatMap(Api.post("/forward_backward", alone), Api.result)
        const [expected] = part["loss_fn_outputs"] as ReadonlyArray<object>
        assert.lengthOf(outputs, 20)
        for (const output of outputs) assert.deepStrictEqual(output, expected)
      }))

    it.effect("does not hold up the next request after an unreadable large pass", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const refused = yield* Api.post("/forward_backward", body(model_id, { loss_fn: 7 }))
        assert.strictEqual(refused.status, 422)
        assert.include(String(refused.body["detail"]), "loss_fn")
        const next = yield* Effect.flatMap(Api.step(model_id, 2), Api.result)
        assert.property(next, "metrics")
      }))
  })

  layer(Api.server())((it) => {
    it.effect("is used only for passes: a large body of another request is refused by its size", () =>
      Effect.gen(function*() {
        const filler = numbers(600_000, () => 1)
        for (const path of ["/optim_step", "/create_session", "/create_custom_loss"]) {
          const refused = yield* Api.post(path, { filler })
          assert.strictEqual(refused.status, 413)
          assert.include(
            String(refused.body["detail"]),
            "the request body is too large, expected at most 1048576 bytes"
          )
        }
        const names = Object.fromEntries(filler.slice(0, 50_000).map((_, at) => [`name${at}`, at]))
        const many = yield* Api.post("/optim_step", names)
        assert.include(String(many.body["detail"]), "more than 30000 names within objects")
        const prompt = { chunks: numbers(20_000, () => 1).map((token) => ({ tokens: [token] })) }
        const chunks = yield* Api.post("/asample", { prompt, sampling_params: {} })
        assert.include(String(chunks.body["detail"]), "more than 10000 arrays and objects")
      }))
  })
})

/** Writes typed arrays as lists, and 64-bit integers as text. */
const plain = (_: string, value: unknown) =>
  typeof value === "bigint"
    ? String(value)
    : value instanceof Float32Array || value instanceof Int32Array || value instanceof Uint8Array
    ? Array.from(value)
    : value
