import { Tinker } from "@effect-rl/core"
import { Activity, CredentialCommand, TinkerHttp } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, ConfigProvider, Effect, Layer, Redacted, Stream } from "effect"
import { inspect } from "node:util"
import { elapse, withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A token that expires at `exp` seconds after the epoch, where TestClock starts. */
const token = (exp: number) => `eyJ${base64({ alg: "none" }).slice(3)}.${base64({ sub: "user", exp })}.signature-${exp}`

/** A service that exchanges keys for tokens with this lifetime in seconds, and fails in some seconds. */
const exchanging = (lifetime: number, fails: (second: number) => boolean = () => false, config: object = {}) =>
  FakeService.make({
    config: { pjwt_auth_enabled: true, ...config },
    routes: {
      "/auth/token": (_, { at }) =>
        fails(at / 1000)
          ? FakeService.json({ detail: "no token today" }, 403)
          : FakeService.json({ jwt: token(at / 1000 + lifetime) })
    }
  })

const keysOf = ({ received }: FakeService.FakeService, path: string) =>
  received.filter((request) => request.path === path).map(({ headers }) => headers["x-api-key"])

const timesOf = ({ received }: FakeService.FakeService, path: string) =>
  received.filter((request) => request.path === path).map(({ at }) => at / 1000)

const key = Redacted.make("tml-secret")

describe("a key", () => {
  it.effect("of an unknown format is refused before anything is sent, and not shown", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      const refused = yield* Effect.flip(withTinker(service, Effect.void, { apiKey: Redacted.make("sk-other") }))
      assert.strictEqual(refused.reason._tag, "Rejected")
      assert.include(refused.message, "tml-")
      assert.notInclude(inspect(refused), "sk-other")
      assert.deepStrictEqual(service.received, [])
    }))

  it.effect("is sent unchanged if the service does not use tokens", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      yield* withTinker(service, Effect.void)
      assert.deepStrictEqual([...new Set(service.received.map(({ headers }) => headers["x-api-key"]))], ["tml-secret"])
    }))
})

describe("a token", () => {
  it.effect("is obtained before any other request", () =>
    Effect.gen(function*() {
      const service = exchanging(3600)
      yield* withTinker(service, Effect.void)
      assert.deepStrictEqual(keysOf(service, "/auth/token"), ["tml-secret"])
      assert.deepStrictEqual(keysOf(service, "/create_session"), [token(3600)])
    }))

  it.effect("is renewed in the background five minutes before it expires", () =>
    Effect.gen(function*() {
      const service = exchanging(3600)
      yield* withTinker(service, Effect.sleep("70 minutes"))
      assert.deepStrictEqual(timesOf(service, "/auth/token"), [0, 3300])
      assert.strictEqual(keysOf(service, "/session_heartbeat").at(-1), token(6900))
    }))

  it.effect("is requested every minute while the service refuses, and the old one is used in the meantime", () =>
    Effect.gen(function*() {
      const service = exchanging(3600, (second) => second > 0)
      const failed = yield* withTinker(
        service,
        Effect.gen(function*() {
          const { events } = yield* Activity.Activity
          const failed: Array<number> = []
          yield* events.pipe(
            Stream.filter(({ _tag }) => _tag === "TokenRefreshFailed"),
            Stream.runForEach(() => Effect.map(Clock.currentTimeMillis, (now) => failed.push(now / 1000))),
            Effect.forkScoped
          )
          yield* Effect.sleep("3490 seconds")
          return failed
        })
      )
      assert.deepStrictEqual(failed, [3300, 3360, 3420, 3480])
      assert.strictEqual(keysOf(service, "/session_heartbeat").at(-1), token(3600))
    }))

  it.effect("that is about to expire is renewed once, however many requests need it", () =>
    Effect.gen(function*() {
      const service = exchanging(3600, (second) => second > 0 && second < 3575)
      yield* withTinker(
        service,
        Effect.gen(function*() {
          const { models } = yield* Tinker.Tinker
          yield* Effect.sleep("3575 seconds")
          const before = timesOf(service, "/auth/token").length
          yield* Effect.all(Array.from({ length: 50 }, () => models), { concurrency: "unbounded" })
          assert.deepStrictEqual(timesOf(service, "/auth/token").slice(before), [3575])
        })
      )
      assert.strictEqual(keysOf(service, "/get_server_capabilities").at(-1), token(7175))
    }))

  it.effect("given as the key is itself exchanged, even if there is a command", () =>
    Effect.gen(function*() {
      const service = exchanging(3600, undefined, { credential_default_source: "credential_cmd" })
      const own = token(99)
      yield* withTinker(service, Effect.void, { apiKey: Redacted.make(own), credentialCommand: Redacted.make("false") })
      assert.deepStrictEqual(keysOf(service, "/auth/token"), [own])
    }))
})

const commands = (run: CredentialCommand.Run) => Layer.succeed(CredentialCommand.CredentialCommand, run)

describe("a credential command", () => {
  const connect = (
    service: FakeService.FakeService,
    options: TinkerHttp.TinkerHttpOptions,
    run: CredentialCommand.Run
  ) =>
    elapse(Effect.scoped(Layer.build(
      TinkerHttp.layerOptions({ baseUrl: "http://fake/prefix", ...options }).pipe(
        Layer.provide([service.layer, commands(run)])
      )
    )))

  it.effect("is run if the service prefers it, and its token is exchanged instead of the key", () =>
    Effect.gen(function*() {
      const service = exchanging(3600, undefined, { credential_default_source: "credential_cmd" })
      const run: Array<string> = []
      yield* connect(
        service,
        { apiKey: key, credentialCommand: Redacted.make("print-it") },
        (command) =>
          Effect.sync(() => {
            run.push(Redacted.value(command))
            return Redacted.make("tml-printed")
          })
      )
      assert.deepStrictEqual(run, ["print-it"])
      assert.deepStrictEqual(keysOf(service, "/client/config"), ["tml-secret"])
      assert.deepStrictEqual(keysOf(service, "/auth/token"), ["tml-printed"])
    }))

  it.effect("is not sufficient for a service that requires keys", () =>
    Effect.gen(function*() {
      const refused = yield* Effect.flip(
        connect(FakeService.make(), { credentialCommand: Redacted.make("print-it") }, () =>
          Effect.succeed(Redacted.make("tml-printed")))
      )
      assert.include(refused.message, "TINKER_API_KEY")
    }))

  it.effect("cannot be run on a platform without processes", () =>
    Effect.gen(function*() {
      const refused = yield* Effect.flip(
        withTinker(exchanging(3600, undefined, { credential_default_source: "credential_cmd" }), Effect.void, {
          credentialCommand: Redacted.make("print-it")
        })
      )
      assert.strictEqual(refused.reason._tag, "Unsupported")
      assert.include(refused.message, "CredentialCommand.layer")
    }))
})

const runHere = (command: string) =>
  Effect.flatMap(CredentialCommand.CredentialCommand, (run) => run(Redacted.make(command))).pipe(
    Effect.provide(CredentialCommand.layer),
    Effect.provide(NodeServices.layer)
  )

describe("running a command", () => {
  it.live("returns its output without surrounding whitespace", () =>
    Effect.gen(function*() {
      assert.strictEqual(Redacted.value(yield* runHere("echo ' tml-one '; echo")), "tml-one")
    }))

  it.live("that prints nothing or does not exist is a typed failure without the command's text", () =>
    Effect.gen(function*() {
      for (const command of ["true", "no-such-command-of-mine 2>/dev/null"]) {
        const failure = yield* Effect.flip(runHere(command))
        assert.strictEqual(failure._tag, "Rejected")
        assert.include(failure.message, "TINKER_CREDENTIAL_CMD")
        assert.notInclude(inspect(failure), "no-such-command")
      }
    }))
})

describe("the environment", () => {
  const env = {
    TINKER_API_KEY: "tml-secret",
    TINKER_BASE_URL: "http://fake/prefix",
    TINKER_PROJECT_ID: "project",
    TINKER_TAGS: "one, two,one",
    CLOUDFLARE_ACCESS_CLIENT_ID: "cf-id",
    CLOUDFLARE_ACCESS_CLIENT_SECRET: "cf-secret"
  }

  it.effect("provides the tags, the project and the Cloudflare Access headers", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      yield* elapse(Effect.scoped(Layer.build(Layer.provide(TinkerHttp.layerConfig, service.layer)))).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
      )
      const session = service.received.find(({ path }) => path === "/create_session")
      assert.deepStrictEqual(session?.body["tags"], ["one", "two"])
      assert.strictEqual(session?.body["project_id"], "project")
      assert.strictEqual(session?.headers["cf-access-client-id"], "cf-id")
      assert.strictEqual(session?.headers["cf-access-client-secret"], "cf-secret")
    }))

  it.effect("without a credential is a typed failure", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.exit(
        elapse(Effect.scoped(Layer.build(Layer.provide(TinkerHttp.layerConfig, FakeService.make().layer)))).pipe(
          Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
        )
      )
      assert.strictEqual(failure._tag, "Failure")
      if (failure._tag === "Failure") assert.include(Cause.pretty(failure.cause), "TINKER_API_KEY")
    }))
})
