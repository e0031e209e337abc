import { PolicyLoss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import type { LossExpression, LossGraph } from "@effect-rl/core/losses"
import { Pass } from "@effect-rl/core/program"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Client from "../Client.ts"
import * as Api from "./Api.ts"

/** Our client of the server. */
const remote = Layer.provide(Client.layer(), FetchHttpClient.layer)

const datum = Datum.policyTokens(ModelInput.fromTokens([1, 2, 3, 4]), {
  targetTokens: Int32Array.of(2, 3, 4, 5),
  logprobs: Float32Array.of(0, -1, -2, -3),
  advantages: Float32Array.of(0, 1, -0.5, 2),
  mask: Float32Array.of(0, 1, 1, 1)
})

const losses = [
  PolicyLoss.gspo({ clipLow: 0.5, clipHigh: 1.5 }),
  PolicyLoss.dppo(),
  PolicyLoss.sapo(),
  PolicyLoss.gmpo()
]

/** The gradient of one pass as measured by an optimizer step, and the loss. */
const train = Effect.fnUntraced(function*(loss: LossExpression.LossExpression) {
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: Script.defaultModel, loraRank: 4, seed: 1 })
  const { pending, route } = yield* Pass.submit(client, [datum, datum], loss)
  const { logprobs, metrics } = yield* pending.await
  const step = yield* Effect.flatMap(client.optimStep({ learningRate: 0.1 }), (pending) => pending.await)
  return { route, logprobs, loss: metrics["loss:sum"] ?? NaN, norm: step.metrics["grad_norm"] ?? NaN }
})

describe("losses that our client sends to our server", () => {
  layer(Api.server(), { excludeTestServices: true })((it) => {
    for (const loss of losses) {
      it.effect(`train as they do locally: ${loss.name}`, () =>
        Effect.gen(function*() {
          const there = yield* Effect.scoped(Effect.provide(train(loss), remote))
          const here = yield* Effect.scoped(train(loss))
          assert.strictEqual(there.route, loss.equivalent === undefined ? "graph" : "name")
          assert.deepStrictEqual(there.logprobs, here.logprobs)
          assert.closeTo(there.loss, here.loss, 1e-6)
          assert.closeTo(there.norm, here.norm, 1e-6)
        }))
    }
  })
})

const graphOf = ({ graph }: LossExpression.LossExpression): LossGraph.LossGraph => graph

const vector = (data: ReadonlyArray<number>, more: object = { shape: [data.length] }) => ({
  data,
  dtype: "float32",
  ...more
})

const inputs = {
  target_tokens: { data: [2, 3], dtype: "int64", shape: [2] },
  sampler_logprobs: vector([-1, -2]),
  advantages: vector([1, -1]),
  mask: vector([1, 1])
}

const create = (session_id: string, graph: object, custom_loss_seq_id = 0) =>
  Effect.flatMap(Api.post("/create_custom_loss", { session_id, custom_loss_seq_id, ...graph }), Api.result)

const passOf = (
  model_id: string,
  seq_id: number,
  loss_id: unknown,
  more: object = {},
  path: "/forward" | "/forward_backward" = "/forward_backward",
  count = 1
) => {
  const datum = { model_input: { chunks: [{ tokens: [1, 2] }] }, loss_fn_inputs: { ...inputs, ...more } }
  const input = {
    data: Array.from({ length: count }, () => datum),
    loss_fn: "custom",
    loss_fn_config: { loss_id }
  }
  const key = path === "/forward" ? "forward_input" : "forward_backward_input"
  return Effect.flatMap(Api.post(path, { model_id, seq_id, [key]: input }), Api.result)
}

const text = (body: Api.Body, key: string) => String(body[key])

type Metrics = Readonly<Record<string, number>>

const node = (name: string, target: string, ...args: LossGraph.Node["args"]): LossGraph.Node => ({
  op: "call_function",
  name,
  target,
  args,
  kwargs: {}
})

/** A loss with additional nodes whose results are not used. */
const graphWith = (more: ReadonlyArray<LossGraph.Node>): LossGraph.LossGraph => {
  const { graph, inputs, name } = graphOf(PolicyLoss.dppo())
  const inputsEnd = graph.nodes.findLastIndex(({ op }) => op === "placeholder") + 1
  return { name, inputs, graph: { ...graph, nodes: graph.nodes.toSpliced(inputsEnd, 0, ...more) } }
}

const wide = node("wide", "torch.zeros", 1_500_000)

const again = (count: number, target: string, ...args: LossGraph.Node["args"]) =>
  Array.from({ length: count }, (_, index) => node(`again_${index}`, target, { ref: "wide" }, ...args))

/** Expensive graphs whose results have few elements, or only a small part of what they read. */
const costly: ReadonlyArray<readonly [title: string, ...nodes: ReadonlyArray<LossGraph.Node>]> = [
  ["sums", wide, ...again(40, "torch.sum")],
  ["a product of vectors", wide, node("product", "torch.dot", { ref: "wide" }, { ref: "wide" })],
  [
    "a product of matrices",
    node("matrix", "torch.zeros", 200, 200),
    node("product", "torch.matmul", { ref: "matrix" }, { ref: "matrix" })
  ],
  ["a median", wide, ...again(1, "torch.median")],
  ["the place of an extreme", wide, ...again(3, "torch.argmax")],
  ["differences of differences", wide, ...again(1, "torch.diff", 1_000_000_000)],
  ["sums from the beginning", wide, ...again(7, "torch.cumsum", 0)]
]

describe("a custom loss", () => {
  layer(Api.server())((it) => {
    it.effect("is stored for its session and named by passes", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const made = yield* create(session_id, graphOf(PolicyLoss.dppo()))
        assert.strictEqual(made["loss_id"], `${session_id}:loss:0`)
        const again = yield* create(session_id, graphOf(PolicyLoss.dppo()))
        assert.deepStrictEqual(again, made)
        const output = yield* passOf(model_id, 1, made["loss_id"])
        const metrics = output["metrics"] as Record<string, number>
        assert.isTrue(Number.isFinite(metrics["loss:sum"]))
        const forward = yield* passOf(model_id, 2, made["loss_id"], {}, "/forward")
        assert.closeTo(
          (forward["metrics"] as Record<string, number>)["loss:sum"] ?? NaN,
          metrics["loss:sum"] ?? NaN,
          1e-9
        )
      }))

    it.effect("of another session is unknown", () =>
      Effect.gen(function*() {
        const { session_id } = yield* Api.model
        const made = yield* create(session_id, graphOf(PolicyLoss.dppo()))
        const other = yield* Api.model
        const failed = yield* passOf(other.model_id, 1, made["loss_id"])
        assert.include(text(failed, "error"), "expected one that create_custom_loss gave in this session")
        assert.strictEqual(failed["category"], "user")
      }))

    it.effect("whose graph uses anything but pure arithmetic is refused at creation", () =>
      Effect.gen(function*() {
        const session_id = yield* Api.session
        const node = { op: "call_function", name: "x", target: "os.system", args: ["rm"], kwargs: {} }
        const { graph, inputs, name } = graphOf(PolicyLoss.dppo())
        const placeholders = graph.nodes.filter(({ op }) => op === "placeholder")
        const evil = { name, inputs, graph: { format: 1, nodes: [...placeholders, node] } }
        const failed = yield* create(session_id, evil)
        assert.include(text(failed, "error"), "os.system is not among the operations that this server computes")
      }))

    it.effect("is refused with the input's name if its data lack an input or have one of another rank", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const id = (yield* create(session_id, graphOf(PolicyLoss.dppo())))["loss_id"]
        const wrong: ReadonlyArray<readonly [more: object, message: string]> = [
          [{ mask: undefined }, "loss_fn_inputs.mask is missing"],
          [{ advantages: vector([1, 1], { shape: [1, 2] }) }, "loss_fn_inputs.advantages has rank 2, expected 1"],
          [{ target_tokens: { data: [1, 2], dtype: "int64", shape: [2, 1] } }, "target_tokens has rank 2, expected 1"]
        ]
        for (const [index, [more, message]] of wrong.entries()) {
          const failed = yield* passOf(model_id, index + 1, id, more)
          assert.include(text(failed, "error"), message)
        }
        assert.include(text(yield* passOf(model_id, 4, 7), "error"), "loss_fn_config.loss_id is missing")
      }))

    it.effect("may compute only a limited amount per request, however small the data are", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const large = [0, 1, 2].map((at) => node(`large_${at}`, "torch.zeros", 2048, 512))
        const id = (yield* create(session_id, graphWith(large)))["loss_id"]
        const many = yield* passOf(model_id, 1, id, {}, "/forward_backward", 9)
        assert.match(
          text(many, "error"),
          /takes more than 33554432 numbers for data\[0\] to data\[5\], expected .*: send fewer datums/
        )
        assert.strictEqual(many["category"], "user")
        const small = (yield* create(session_id, graphOf(PolicyLoss.dppo()), 1))["loss_id"]
        assert.property((yield* passOf(model_id, 2, small, {}, "/forward_backward", 9))["metrics"], "loss:sum")
      }))

    it.effect.each(costly)(
      "is refused before it runs, for what it would read and create: %s",
      ([, ...nodes]) =>
        Effect.gen(function*() {
          const { model_id, session_id } = yield* Api.model
          const id = (yield* create(session_id, graphWith(nodes)))["loss_id"]
          const failed = yield* passOf(model_id, 1, id)
          assert.match(text(failed, "error"), /take more than 16777216 numbers to compute: use smaller tensors/)
          assert.strictEqual(failed["category"], "user")
        })
    )

    it.effect("that takes long is computed beside the server, which answers others meanwhile", () =>
      Effect.gen(function*() {
        const { model_id, session_id } = yield* Api.model
        const small = (yield* create(session_id, graphOf(PolicyLoss.dppo())))["loss_id"]
        const large = (yield* create(
          session_id,
          graphWith([
            node("wide", "torch.zeros", 1_000_000),
            node("sorted", "torch.cumsum", { ref: "wide" }, 0)
          ]),
          1
        ))["loss_id"]
        const answered: Array<string> = []
        const pass = yield* Effect.forkChild(
          Effect.tap(passOf(model_id, 1, large), () => Effect.sync(() => answered.push("pass"))),
          { startImmediately: true }
        )
        yield* Effect.tap(Api.get("/healthz"), () => Effect.sync(() => answered.push("other")))
        const output = yield* Fiber.join(pass)
        assert.deepStrictEqual(answered, ["other", "pass"])
        const expected = yield* passOf(model_id, 2, small)
        const forward = yield* passOf(model_id, 3, large, {}, "/forward")
        for (const { metrics } of [output, forward].map((body) => ({ metrics: body["metrics"] as Metrics }))) {
          assert.closeTo(metrics["loss:sum"] ?? NaN, (expected["metrics"] as Metrics)["loss:sum"] ?? NaN, 1e-6)
        }
      }))

    it.effect("has a bounded number of characters, even if few of its nodes are computed", () =>
      Effect.gen(function*() {
        const session_id = yield* Api.session
        const loss = { ...graphOf(PolicyLoss.dppo()), name: "x".repeat(300_000) }
        const refused = yield* Api.post("/create_custom_loss", { session_id, custom_loss_seq_id: 0, ...loss })
        assert.strictEqual(refused.status, 422)
        assert.match(text(refused.body, "detail"), /the loss has 30\d{4} characters, expected at most 262144/)
        const large = { ...graphOf(PolicyLoss.dppo()), name: "x".repeat(250_000) }
        for (let count = 1; count <= 64; count++) {
          assert.property(yield* create(session_id, large, count), "loss_id")
        }
        const other = yield* Api.session
        const full = [yield* create(other, large, 1), yield* create(other, large, 2), yield* create(other, large, 3)]
        assert.include(
          text(full.at(-1) ?? {}, "error"),
          "your sessions have losses of 16777216 characters: finish some"
        )
        yield* Api.post(`/sessions/${session_id}/finish`, {})
        assert.property(yield* create(other, large, 4), "loss_id")
      }))

    it.effect("named gspo counts the tokens in sequence_ratio_mask", () =>
      Effect.gen(function*() {
        const { model_id } = yield* Api.model
        const policy = (seq_id: number, more: object, loss_fn_config: object | null = null) =>
          Effect.flatMap(
            Api.post("/forward_backward", {
              model_id,
              seq_id,
              forward_backward_input: {
                data: [{
                  model_input: { chunks: [{ tokens: [1, 2] }] },
                  loss_fn_inputs: {
                    target_tokens: inputs.target_tokens,
                    logprobs: vector([-1, -2]),
                    advantages: vector([1, 1]),
                    ...more
                  }
                }],
                loss_fn: "gspo",
                loss_fn_config
              }
            }),
            Api.result
          )
        const lossOf = (body: Api.Body) => (body["metrics"] as Record<string, number>)["loss:sum"] ?? NaN
        const wide = { clip_low_threshold: 0.01, clip_high_threshold: 100 }
        const both = yield* policy(1, {}, wide)
        const one = yield* policy(2, { sequence_ratio_mask: vector([1, 0]), advantages: vector([1, 0]) }, wide)
        assert.isTrue(Number.isFinite(lossOf(both)) && Number.isFinite(lossOf(one)))
        assert.notStrictEqual(lossOf(both), lossOf(one))
        const clipped = yield* policy(3, {})
        assert.isAtLeast(lossOf(clipped), -2 * (1 + 4e-4) - 1e-6)
      }))
  })
})
