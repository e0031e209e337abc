import { Tinker } from "@effect-rl/core"
import { Script } from "@effect-rl/core/testing"
import { type RestClient, SamplerHandles, TinkerHttp } from "@effect-rl/tinker"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import * as Api from "../server/Api.ts"
import { request, sampler } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const handles = SamplerHandles.SamplerHandles

type Services = Tinker.Tinker | SamplerHandles.SamplerHandles | RestClient.RestClient

/** A service with one sampler. If `joins`, it numbers the clients that join the sampler. */
const serving = (joins: boolean) => {
  let clients = 0
  return FakeService.make({
    config: { sample_join_sampling_session: joins },
    routes: {
      "/samplers/sampler": () => FakeService.json({ sampler_id: "sampler", base_model: "fake" }),
      "/join_sampling_session": () => FakeService.json({ client_counter: ++clients })
    }
  })
}

const seqIds = ({ received }: FakeService.FakeService) =>
  received.filter(({ path }) => path === "/asample").map(({ body }) => Number(body["seq_id"]))

/** Creates a handle of a new sampler, and two clients from it that draw two samples each. */
const sharing: Effect.Effect<string, unknown, Services> = Effect.scoped(Effect.gen(function*() {
  const { clientOf, handleOf } = yield* handles
  const handle = yield* handleOf(yield* sampler)
  for (const client of [yield* clientOf(handle), yield* clientOf(handle)]) {
    yield* client.sample(request)
    yield* client.sample(request)
  }
  return handle
}))

const encoded = (state: object) => Buffer.from(JSON.stringify(state)).toString("base64url")

describe("a sampler handle", () => {
  it.effect("creates clients that number their requests as the service specifies", () =>
    Effect.gen(function*() {
      const service = serving(true)
      yield* withTinker(service, sharing)
      assert.deepStrictEqual(seqIds(service), [1e9, 1e9 + 1, 2e9, 2e9 + 1])
    }))

  it.effect("creates clients with random numbers if the service specifies none", () =>
    Effect.gen(function*() {
      const service = serving(false)
      yield* withTinker(service, sharing)
      const blocks = seqIds(service).map((id) => Math.floor(id / 1e9))
      assert.strictEqual(new Set(blocks).size, 2)
      assert.isTrue(blocks.every((block) => block >= 1))
      assert.isTrue(seqIds(service).every(Number.isSafeInteger))
    }))

  it.effect("contains no credential, and names the service, the session and the sampler as the official SDK does", () =>
    Effect.gen(function*() {
      const text = Buffer.from(yield* withTinker(serving(true), sharing), "base64url").toString()
      assert.notInclude(text, "tml-secret")
      assert.deepStrictEqual(JSON.parse(text), {
        session_id: "session",
        sampling_session_id: "sampler",
        base_model: "fake",
        record_stability_info: false,
        holder: {
          base_url: "http://fake/prefix",
          default_headers_overrides: {},
          client_config: {},
          client_dynamic_config: {},
          api_key: null
        }
      })
    }))

  it.effect("keeps the session of its sampler alive", () =>
    Effect.gen(function*() {
      const holder = {
        base_url: "http://fake/prefix/",
        default_headers_overrides: {},
        client_config: { sample_max_concurrent_requests: 7 },
        client_dynamic_config: {},
        api_key: null
      }
      const handle = encoded({ session_id: "theirs", sampling_session_id: "sampler", base_model: "fake", holder })
      const service = serving(true)
      yield* withTinker(
        service,
        Effect.scoped(Effect.andThen(handles.use(({ clientOf }) => clientOf(handle)), Effect.sleep("25 seconds")))
      )
      const beats = service.received.filter(({ path }) => path === "/session_heartbeat")
      assert.strictEqual(beats.filter(({ body }) => body["session_id"] === "theirs").length, 2)
    }))

  it.effect("from another service, or an invalid one, is refused", () =>
    Effect.gen(function*() {
      const holder = {
        base_url: "http://elsewhere",
        default_headers_overrides: {},
        client_config: {},
        client_dynamic_config: {}
      }
      const foreign = encoded({ session_id: "s", sampling_session_id: "sampler", base_model: "fake", holder })
      const refused = (handle: string) =>
        Effect.flip(withTinker(serving(true), Effect.scoped(handles.use(({ clientOf }) => clientOf(handle)))))
      const { message } = yield* refused(foreign)
      assert.include(message, "the handle is of the service at http://elsewhere, expected http://fake/prefix")
      for (const handle of ["", "@", encoded({ session_id: "s" })]) {
        assert.include((yield* refused(handle)).message, "the handle cannot be read")
      }
    }))

  it.effect("cannot be created for a client of another service", () =>
    Effect.gen(function*() {
      const theirs = { modelPath: "fake", sample: () => Effect.never, computeLogprobs: () => Effect.never }
      const error = yield* Effect.flip(
        withTinker(serving(true), handles.use(({ handleOf }) => handleOf(theirs)))
      )
      assert.strictEqual(error.reason._tag, "Unsupported")
    }))
})

describe("a sampler of this project's server", () => {
  layer(Api.server(), { excludeTestServices: true })((it) => {
    it.effect("can be shared through its handle with a separate client", () =>
      Effect.gen(function*() {
        const { address } = yield* HttpServer.HttpServer
        const client = TinkerHttp.layerOptions({
          baseUrl: HttpServer.formatAddress(address),
          apiKey: Redacted.make("tml-test")
        }).pipe(Layer.provide(FetchHttpClient.layer), Layer.fresh)
        const first = Effect.gen(function*() {
          const { createSamplingClient } = yield* Tinker.Tinker
          const made = yield* createSamplingClient({ baseModel: Script.defaultModel })
          return [made, yield* handles.use(({ handleOf }) => handleOf(made))] as const
        })
        yield* Effect.gen(function*() {
          const [made, handle] = yield* first
          const asked = { ...request, params: { ...request.params, seed: 1 } }
          const again = yield* Effect.scoped(Effect.gen(function*() {
            const { clientOf } = yield* handles
            return yield* (yield* clientOf(handle)).sample(asked)
          })).pipe(Effect.provide(client, { local: true }))
          const sampled = yield* made.sample(asked)
          assert.deepStrictEqual(again.sequences[0]?.tokens, sampled.sequences[0]?.tokens)
        }).pipe(Effect.scoped, Effect.provide(client, { local: true }))
      }))
  })
})
