import { Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as Client from "../Client.ts"
import * as Api from "./Api.ts"

const poll = (sampling_session_id: string, more: object = {}) =>
  Api.post("/retrieve_futures", { target: { type: "sampling_session", sampling_session_id }, ...more })

const idsOf = ({ body }: { readonly body: Api.Body }) =>
  (body["completions"] as ReadonlyArray<Record<string, string>>).map(({ request_id, state }) => [request_id, state])

describe("one poll for all requests of a sampling session", () => {
  layer(Api.server())((it) => {
    it.effect("lists what finished after its cursor, in order of completion", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const first = yield* Api.sample(sampler, 0)
        yield* Api.result(first)
        const second = yield* Api.sample(sampler, 1)
        yield* Api.result(second)
        const all = yield* poll(sampler)
        assert.deepStrictEqual(idsOf(all), [
          [String(first.body["request_id"]), "finished"],
          [String(second.body["request_id"]), "finished"]
        ])
        const none = yield* poll(sampler, { prev_cursor: all.body["cursor"], timeout: 0 })
        assert.deepStrictEqual(none.body, { completions: [], cursor: all.body["cursor"] })
      }))

    it.effect("lists only the requests of one client if several share the sampling session", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const own = yield* Api.sample(sampler, 3)
        const clone = yield* Api.sample(sampler, 2_000_000_003)
        yield* Effect.all([Api.result(own), Api.result(clone)])
        const target = { type: "sampling_session", sampling_session_id: sampler, cloned_sampler_id: 2 }
        assert.deepStrictEqual(idsOf(yield* Api.post("/retrieve_futures", { target })), [
          [String(clone.body["request_id"]), "finished"]
        ])
      }))

    it.effect("gives each client that joins a session the next number, and refuses unknown sessions", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const join = (sampling_session_id: string) => Api.post("/join_sampling_session", { sampling_session_id })
        assert.deepStrictEqual((yield* join(sampler)).body, { type: "join_sampling_session", client_counter: 1 })
        assert.strictEqual((yield* join(sampler)).body["client_counter"], 2)
        const other = yield* Api.sampler(yield* Api.session)
        assert.strictEqual((yield* join(other)).body["client_counter"], 1)
        assert.strictEqual((yield* join("nothing")).status, 404)
      }))

    it.effect("releases results that the client says it has received", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const sent = yield* Api.sample(sampler, 0)
        yield* Api.result(sent)
        yield* poll(sampler, { retrieved_request_ids: [sent.body["request_id"]], timeout: 0 })
        assert.strictEqual((yield* Api.poll(sent)).status, 410)
      }))

    it.effect("is used by this project's client to wait for samples", () =>
      Effect.gen(function*() {
        const paths: Array<string> = []
        const client = Layer.provide(
          Client.layer(),
          Layer.effect(
            HttpClient.HttpClient,
            Effect.map(HttpClient.HttpClient, HttpClient.tapRequest(({ url }) => Effect.sync(() => paths.push(url))))
          )
        ).pipe(Layer.provide(FetchHttpClient.layer))
        const asked = (path: string) => paths.filter((url) => url.endsWith(path)).length
        const sampled = Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          const { sample } = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
          return yield* Effect.forEach(
            Array.from({ length: 20 }),
            () => sample({ prompt: ModelInput.fromTokens([1, 2]), params: { maxTokens: 2 } }),
            { concurrency: "unbounded" }
          )
        })
        const samples = yield* Effect.scoped(Effect.provide(sampled, client))
        assert.strictEqual(samples.length, 20)
        assert.strictEqual(asked("/asample"), 20)
        assert.strictEqual(asked("/retrieve_future"), 20)
        assert.isAbove(asked("/retrieve_futures"), 0)
      }))

    it.effect("for a session that does not exist is refused", () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* poll("nothing")).status, 404)
      }))
  })
})

describe("the most likely tokens of a sample", () => {
  layer(Api.server())((it) => {
    it.effect("are those of the same tokens in a prompt", () =>
      Effect.gen(function*() {
        const sampler = yield* Api.sampler(yield* Api.session)
        const sampled = yield* Api.postText(
          "/asample",
          Api.sampleText(sampler, "0", ",\"seed\":1").replace(
            "\"num_samples\"",
            "\"topk_sample_logprobs\":3,\"num_samples\""
          )
        )
        const body = yield* Api.result(sampled)
        const [sequence] = body["sequences"] as ReadonlyArray<
          { tokens: ReadonlyArray<number>; topk_logprobs: ReadonlyArray<ReadonlyArray<readonly [number, number]>> }
        >
        const tokens = [1, 2, 3, ...sequence?.tokens ?? []]
        const scored = yield* Api.result(
          yield* Api.post("/asample", {
            sampling_session_id: sampler,
            seq_id: 1,
            prompt: { chunks: [{ tokens }] },
            sampling_params: { max_tokens: 1 },
            topk_prompt_logprobs: 3
          })
        )
        assert.deepStrictEqual(
          sequence?.topk_logprobs,
          (scored["topk_prompt_logprobs"] as ReadonlyArray<ReadonlyArray<readonly [number, number]>>).slice(3)
        )
        assert.strictEqual(sequence?.topk_logprobs.length, sequence?.tokens.length)
      }))
  })
})
