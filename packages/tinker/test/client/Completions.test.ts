import { Draw } from "@effect-rl/core/testing"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Schema } from "effect"
import { request, sampler } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

/** How the service treats a sample after it is posted. */
interface Fate {
  /** Milliseconds. */
  readonly takes: number
  readonly ends: "finished" | "failed" | "lost"
  /** Whether the service lists the sample among the finished ones. */
  readonly isListed: boolean
}

interface Plan {
  /** The fate of the `index`-th sample. */
  readonly fate: (index: number) => Fate
  /** The period in which the service answers only with errors. */
  readonly down?: readonly [from: number, until: number]
  readonly has?: boolean
}

const RetrieveMany = Schema.Struct({
  prev_cursor: Schema.Int,
  retrieved_request_ids: Schema.Array(Schema.String)
})
const decodeMany = Schema.decodeUnknownSync(RetrieveMany)

const config = { sample_use_retrieve_futures: true, sample_max_concurrent_requests: 1000 }

const answerOf = (index: number) =>
  new Response(
    new Uint8Array(SampleResult.encode({
      sequences: [{ tokens: Int32Array.of(index), logprobs: Float32Array.of(-1), stopReason: "stop" }]
    })),
    { headers: { "content-type": "application/x-protobuf" } }
  )

const indexOf = (id: unknown) => Number(String(id).slice("sample-".length))

/** A service that follows the plan and lists newly finished samples at each poll, except those that their fate keeps off the list. */
const plannedService = ({ down: [from, until] = [0, 0], fate, has = true }: Plan) => {
  const postedAt = new Map<number, number>()
  const told: Array<string> = []
  const retrieved = new Set<string>()
  const cancelled = new Set<string>()
  const given: Array<number> = []
  let samplers = 0
  const isOver = (index: number, now: number) => now - (postedAt.get(index) ?? Infinity) >= fate(index).takes
  const up =
    (answer: (body: Readonly<Record<string, unknown>>, at: number) => Response): FakeService.Routes[string] =>
    (body, { at }) => at >= from && at < until ? FakeService.json({ detail: "down" }, 503) : answer(body, at)
  const service = FakeService.make({
    config,
    delay: (path) => path === "/retrieve_futures" ? "1 second" : undefined,
    routes: {
      "/client/dynamic_config": () => FakeService.json({ refresh_interval_sec: 300, sample_cancel_enabled: true }),
      "/create_sampling_session": () => FakeService.json({ sampling_session_id: String(samplers++) }),
      "/asample": up(({ sampling_session_id, seq_id }, at) => {
        const index = 1000 * Number(sampling_session_id) + Number(seq_id)
        if (!postedAt.has(index)) postedAt.set(index, at)
        return FakeService.json({ request_id: `sample-${index}` })
      }),
      "/cancel_future": ({ request_id }) => {
        cancelled.add(String(request_id))
        return FakeService.json({})
      },
      "/retrieve_futures": up((body, at) => {
        if (!has) return FakeService.json({ detail: "Not Found" }, 404)
        const { prev_cursor, retrieved_request_ids } = decodeMany(body)
        for (const id of retrieved_request_ids) retrieved.add(id)
        const due = [...postedAt.keys()].filter((index) => fate(index).isListed && isOver(index, at))
        for (const id of due.map((index) => `sample-${index}`)) if (!told.includes(id)) told.push(id)
        const completions = told.slice(prev_cursor).map((request_id) => ({
          request_id,
          state: fate(indexOf(request_id)).ends === "finished" ? "finished" : "failed"
        }))
        return FakeService.json({ completions, cursor: told.length })
      }),
      "/retrieve_future": up(({ request_id }, at) => {
        const index = indexOf(request_id)
        if (!isOver(index, at)) return FakeService.json({ type: "try_again", request_id }, 408)
        const { ends } = fate(index)
        if (ends === "lost") return FakeService.json({ detail: "no longer kept" }, 410)
        given.push(index)
        return ends === "failed" ? FakeService.json({ error: `sample ${index}`, category: "user" }) : answerOf(index)
      })
    }
  })
  const pathsOf = (path: string) => service.received.filter((received) => received.path === path)
  return { service, pathsOf, given, retrieved, cancelled }
}

const tokenOf = (exit: Exit.Exit<{ readonly sequences: ReadonlyArray<{ readonly tokens: Int32Array }> }, unknown>) =>
  Option.getOrUndefined(Option.map(Exit.getSuccess(exit), ({ sequences }) => sequences[0]?.tokens[0]))

const soon: Fate = { takes: 500, ends: "finished", isListed: true }

const all = (count: number) =>
  Effect.flatMap(
    sampler,
    (client) =>
      Effect.forEach(Array.from({ length: count }), () => Effect.exit(client.sample(request)), {
        concurrency: "unbounded"
      })
  )

describe("samples of a service that can list finished requests", () => {
  it.effect("are fetched once each when they finish, and then released", () =>
    Effect.gen(function*() {
      const { given, pathsOf, retrieved, service } = plannedService({
        fate: (index) => ({ ...soon, takes: 1000 * (index % 5) })
      })
      const exits = yield* withTinker(service, all(50))
      assert.deepStrictEqual(exits.map(tokenOf), Array.from({ length: 50 }, (_, index) => index))
      assert.sameMembers(given, Array.from({ length: 50 }, (_, index) => index))
      assert.isAtMost(pathsOf("/retrieve_future").length, 75)
      assert.isAtMost(pathsOf("/retrieve_futures").length, 20)
      assert.isAbove(retrieved.size, 0)
    }))

  it.effect("do not wait for slower samples", () =>
    Effect.gen(function*() {
      const { service } = plannedService({ fate: (index) => ({ ...soon, takes: index === 0 ? 600_000 : 500 }) })
      const exits = yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* sampler
          const slow = yield* Effect.forkChild(client.sample(request))
          yield* Effect.sleep("1 second")
          const quick = yield* Effect.exit(client.sample(request)).pipe(Effect.timeoutOption("10 seconds"))
          yield* Fiber.interrupt(slow)
          return quick
        })
      )
      assert.strictEqual(Option.getOrUndefined(Option.map(exits, tokenOf)), 1)
    }))

  it.effect("fail independently", () =>
    Effect.gen(function*() {
      const { service } = plannedService({
        fate: (index) => index === 3 ? { ...soon, ends: "failed" } : soon
      })
      const exits = yield* withTinker(service, all(8))
      assert.deepStrictEqual(exits.flatMap((exit, index) => Exit.isFailure(exit) ? index : []), [3])
    }))

  it.effect("are cancelled when their caller stops waiting, and the others continue", () =>
    Effect.gen(function*() {
      const { cancelled, pathsOf, service } = plannedService({
        fate: (index) => ({ ...soon, takes: index === 0 ? 60_000 : 20_000 })
      })
      yield* withTinker(
        service,
        Effect.gen(function*() {
          const client = yield* sampler
          const fibers = yield* Effect.forEach([0, 1], () => Effect.forkChild(client.sample(request)))
          yield* Effect.sleep("5 seconds")
          const [first, second] = fibers
          if (first !== undefined) yield* Fiber.interrupt(first)
          if (second !== undefined) yield* Fiber.join(second)
          const asked = pathsOf("/retrieve_futures").length
          yield* Effect.sleep("5 minutes")
          assert.isAtMost(pathsOf("/retrieve_futures").length, asked + 1)
        })
      )
      assert.deepStrictEqual([...cancelled], ["sample-0"])
    }))

  it.effect("are polled individually if the service turns out to lack the call, which is tried once", () =>
    Effect.gen(function*() {
      const { pathsOf, service } = plannedService({ has: false, fate: () => ({ ...soon, takes: 3000 }) })
      const exits = yield* withTinker(service, Effect.andThen(all(20), all(20)))
      assert.isTrue(exits.every(Exit.isSuccess))
      assert.strictEqual(pathsOf("/retrieve_futures").length, 1)
    }))

  it.effect("are polled individually if the service does not announce the call", () =>
    Effect.gen(function*() {
      const service = FakeService.make()
      yield* withTinker(service, all(3))
      assert.notInclude(service.received.map(({ path }) => path), "/retrieve_futures")
    }))

  it.effect("are polled individually if the sampler's scope closes while they are in progress", () =>
    Effect.gen(function*() {
      const { service } = plannedService({ fate: () => ({ ...soon, takes: 30_000 }) })
      const exit = yield* withTinker(
        service,
        Effect.gen(function*() {
          const fiber = yield* Effect.scoped(Effect.gen(function*() {
            const client = yield* sampler
            const fiber = yield* Effect.forkDetach(Effect.exit(client.sample(request)))
            yield* Effect.sleep("5 seconds")
            return fiber
          }))
          return yield* Fiber.join(fiber)
        })
      )
      assert.strictEqual(tokenOf(exit), 0)
    }))

  it.effect(
    "all end correctly if the service forgets some and callers stop waiting",
    () =>
      Effect.forEach(Array.from({ length: 30 }, (_, seed) => seed), (seed) =>
        Effect.gen(function*() {
          const draw = Draw.make(seed, "samples")
          const count = draw.integer(1, 30)
          const fates = Array.from({ length: 4 * count + 40 }, (_, index): Fate => ({
            takes: draw.integer(0, 40_000),
            ends: draw.chance(0.1) ? "failed" : index < count && draw.chance(0.1) ? "lost" : "finished",
            isListed: !draw.chance(0.1)
          }))
          const from = draw.integer(2000, 30_000)
          const patience = Array.from({ length: count }, () => draw.chance(0.2) ? draw.integer(0, 40_000) : undefined)
          const { cancelled, pathsOf, service } = plannedService({
            fate: (index) => fates[index] ?? soon,
            ...(draw.chance(0.5) ? { down: [from, from + draw.integer(1000, 60_000)] as const } : {}),
            has: !draw.chance(0.1)
          })
          const exits = yield* withTinker(
            service,
            Effect.flatMap(sampler, (client) =>
              Effect.forEach(patience, (millis) => {
                const sampled = Effect.exit(client.sample(request))
                return millis === undefined
                  ? Effect.map(sampled, Option.some)
                  : Effect.timeoutOption(sampled, millis)
              }, { concurrency: "unbounded" }))
          )
          const tokens = exits.flatMap((exit) => Option.toArray(Option.map(exit, tokenOf))).filter((one) =>
            one !== undefined
          )
          assert.strictEqual(new Set(tokens).size, tokens.length, `seed ${seed}: a result was given twice`)
          for (const token of tokens) assert.strictEqual(fates[token]?.ends, "finished", `seed ${seed}`)
          const failed = exits.filter((exit) => Option.exists(exit, Exit.isFailure)).length
          const posted = new Set(pathsOf("/asample").map(({ body }) => Number(body["seq_id"])))
          const mayFail = [...posted].filter((index) => fates[index]?.ends === "failed").length
          assert.isAtMost(failed, mayFail, `seed ${seed}: a sample failed with another`)
          const interrupted = exits.filter(Option.isNone).length
          assert.isAtMost(cancelled.size, interrupted, `seed ${seed}: a sample was cancelled that was waited for`)
        }), { discard: true })
  )
})
