/**
 * Measures the latency that the gateway adds between an agent and its model. The same conversations run against the same backend in three
 * ways: called in this thread, through the session's `fetch`, and over HTTP from agents in a worker thread, compared with an HTTP server
 * that ignores the request. Then 1,000 concurrent sessions run, whose agents pause between requests. Prints Markdown. `--added` runs only
 * the first part, `--sessions` only the second. `--processor` measures neither, but the processor time of requests that a backend answers
 * at once, which also tells versions apart on a busy machine.
 */
import { AgentEnv, AgentGateway } from "@effect-rl/agent"
import { ChatModel, type Policy, Rollout } from "@effect-rl/core"
import { Draw } from "@effect-rl/core/testing"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Console, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { threadCpuUsage } from "node:process"
import { Worker } from "node:worker_threads"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Talking from "./Talking.ts"

type Times = Talking.Times

/** Seeded random durations of answers, in milliseconds. */
const durations = () => {
  const draw = Draw.make(0, "backend")
  return () => draw.integer(40, 60)
}

/** A backend that answers each request after 40 to 60 ms, or at once if `isBusy` is false. */
const backend = (model: ChatModel.ChatModel, isBusy = true): Policy.Policy => {
  const tokens = model.tokenizer.encode(`${Talking.answer}<|im_end|>`)
  const sampled = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.1), stopReason: "stop" } as const
  const duration = durations()
  return { act: () => isBusy ? Effect.delay(Effect.succeed(sampled), duration()) : Effect.succeed(sampled) }
}

const key = { iteration: 0, group: "latency", member: 0, attempt: 0 }

/** Starts a worker thread. The returned function runs one session of an agent in it and returns the time of each request. */
const openThread = () => {
  const thread = new Worker(new URL("Talking.ts", import.meta.url))
  const waiting = new Map<number, (told: Talking.Told) => void>()
  let last = 0
  thread.on("message", (told: Talking.Told) => waiting.get(told.id)?.(told))
  thread.unref()
  return async (model: Talking.Model, requests: number, pauses: ReadonlyArray<number> = []) => {
    const id = last++
    const told = new Promise<Talking.Told>((resolve) => waiting.set(id, resolve))
    thread.postMessage({ ...model, id, requests, pauses } satisfies Talking.Asked)
    const { failed, times } = await told
    waiting.delete(id)
    if (failed !== undefined) throw new Error(failed)
    return times
  }
}

type Thread = ReturnType<typeof openThread>

/** An HTTP server that ignores the request and sends a fixed answer after the backend's delay. */
const bareServer = Effect.acquireRelease(
  Effect.callback<{ readonly close: () => void; readonly baseUrl: string }>((resume) => {
    const duration = durations()
    const choices = [{ message: { role: "assistant", content: Talking.answer }, finish_reason: "stop", index: 0 }]
    const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
      request.resume().on("end", () => setTimeout(() => response.end(JSON.stringify({ choices })), duration()))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      resume(Effect.succeed({ baseUrl: `http://127.0.0.1:${port}`, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

interface Load {
  /** Number of requests in a session. Each is sent after the previous answer. */
  readonly requests: number
  /** Milliseconds before each request. Default: none. */
  readonly pauses?: ReadonlyArray<number>
  /** Called when a session has all its answers; its episode then ends. */
  readonly done?: () => Promise<void>
}

/** Calls the backend directly, without rendering a conversation or parsing an answer. */
const direct = (policy: Policy.Policy, { requests }: Load, times: Times) =>
  Effect.gen(function*() {
    const time = Talking.timed(times)
    const context = yield* Effect.context<never>()
    const prompt = { chunks: [], length: 0 }
    for (let turn = 0; turn < requests; turn++) {
      const request = { key: { ...key, turn }, prompt, stop: [], maxTokens: 64 }
      yield* Effect.promise(() => time(() => Effect.runPromiseWith(context)(policy.act(request))))
    }
  })

type Way = "called in this thread" | "a bare HTTP server" | "`fetch` of the session" | "HTTP gateway"

interface Setup {
  readonly model: ChatModel.ChatModel
  readonly thread: Thread
  readonly bareUrl: string
}

const session = ({ bareUrl, model, thread }: Setup, way: Way, policy: Policy.Policy, load: Load, times: Times) => {
  const { done, pauses, requests } = load
  if (way === "called in this thread") return direct(policy, load, times)
  if (way === "a bare HTTP server") {
    const talked = Effect.promise(() => thread({ baseUrl: bareUrl, model: model.name }, requests, pauses))
    return Effect.map(talked, (own) => void times.push(...own))
  }
  const run = async ({ baseUrl, fetch }: AgentEnv.Session) => {
    const to = { baseUrl, model: model.name }
    const own = way === "HTTP gateway"
      ? await thread(to, requests, pauses)
      : await Talking.talk({ ...to, fetch }, requests, pauses)
    times.push(...own)
    await done?.()
    return 1
  }
  return Effect.gen(function*() {
    const env = yield* way === "HTTP gateway" ? AgentGateway.env({ model, run }) : AgentEnv.make({ model, run })
    yield* Rollout.episode(env, policy, key)
  }).pipe(Effect.scoped, Effect.orDie)
}

const quantile = (times: Times, share: number) =>
  times.toSorted((left, right) => left - right)[Math.floor(share * (times.length - 1))] ?? NaN

const milliseconds = (value: number) => value.toFixed(2)

const requests = 10

/** Runs sessions, at most `inFlight` of them concurrently, and returns the time of each request. */
const run = (setup: Setup, way: Way, policy: Policy.Policy, inFlight: number, sessions: number) => {
  const times: Times = []
  const all = Effect.forEach(
    Array.from({ length: sessions }),
    () => session(setup, way, policy, { requests }, times),
    { concurrency: inFlight, discard: true }
  )
  return Effect.as(all, times)
}

const measure = Effect.fnUntraced(function*(setup: Setup, way: Way, inFlight: number) {
  const policy = backend(setup.model)
  yield* run(setup, way, policy, inFlight, inFlight + 5)
  const before = threadCpuUsage()
  const times = yield* run(setup, way, policy, inFlight, Math.max(20, 5 * inFlight))
  const { system, user } = threadCpuUsage(before)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), cpu: (user + system) / 1000 / times.length }
})

const base: Way = "called in this thread"
const others: ReadonlyArray<Way> = ["a bare HTTP server", "`fetch` of the session", "HTTP gateway"]

/** A table of the latency of each way. Before, each way answers 3,000 requests of an instant backend, so its code is compiled. */
const added = Effect.fnUntraced(function*(setup: Setup) {
  const instant = backend(setup.model, false)
  for (const way of [base, ...others]) yield* run(setup, way, instant, 20, 300)
  const rows: Array<ReadonlyArray<string>> = []
  for (const inFlight of [1, 20]) {
    const direct = yield* measure(setup, base, inFlight)
    const directCells = [direct.p50, direct.p99].map(milliseconds)
    rows.push([`${base}, ${inFlight} in flight`, ...directCells, "", "", milliseconds(direct.cpu)])
    for (const way of others) {
      const { cpu, p50, p99 } = yield* measure(setup, way, inFlight)
      const cells = [p50, p99, p50 - direct.p50, p99 - direct.p99, cpu]
      rows.push([`${way}, ${inFlight} in flight`, ...cells.map(milliseconds)])
    }
  }
  return Report.table(["", "median, ms", "p99, ms", "added median", "added p99", "CPU a request, ms"], rows)
})

/** A table of the processor time of this thread for each request to a backend that answers at once, 20 of them in flight. */
const processor = Effect.fnUntraced(function*(setup: Setup) {
  const instant = backend(setup.model, false)
  const rows: Array<ReadonlyArray<string>> = []
  for (const way of others.slice(1)) {
    yield* run(setup, way, instant, 20, 300)
    const before = threadCpuUsage()
    const times = yield* run(setup, way, instant, 20, 300)
    const { system, user } = threadCpuUsage(before)
    rows.push([way, milliseconds((user + system) / 1000 / times.length)])
  }
  return Report.table(["", "CPU a request, ms"], rows)
})

const sessions = 1000
const requestsEach = 20
/** Range of the pause between an answer and the next request, in seconds. */
const thinks = [2, 8] as const

const held = () => {
  globalThis.gc?.()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const many = Effect.fnUntraced(function*(setup: Setup, way: Way) {
  const times: Times = []
  const draw = Draw.make(0, "think")
  const before = held()
  let finished = 0
  let bytes = 0
  let open = () => {}
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  const done = () => {
    finished++
    if (finished === sessions) {
      bytes = held() - before
      open()
    }
    return all
  }
  const pauses = () => Array.from({ length: requestsEach }, () => 1000 * draw.integer(...thinks))
  const began = performance.now()
  yield* Effect.forEach(
    Array.from({ length: sessions }),
    () => session(setup, way, backend(setup.model), { requests: requestsEach, pauses: pauses(), done }, times),
    { concurrency: "unbounded", discard: true }
  )
  return [
    way,
    String(times.length),
    milliseconds(quantile(times, 0.5)),
    milliseconds(quantile(times, 0.99)),
    (bytes / sessions / 1024).toFixed(0),
    ((performance.now() - began) / 1000).toFixed(0)
  ]
})

const gateway = AgentGateway.AgentGateway.layer.pipe(
  Layer.provide(NodeHttpServer.layer(() => createServer({ keepAliveTimeout: 120_000 }), { host: "127.0.0.1", port: 0 }))
)

const program = Effect.gen(function*() {
  const preset = yield* ChatModel.resolve("effect-rl/tiny-tasks")
  const model = { ...preset, capabilities: { ...preset.capabilities, contextLength: 32_768 } }
  const { baseUrl: bareUrl } = yield* bareServer
  const setup: Setup = { model, bareUrl, thread: openThread() }
  yield* Console.log(Report.machine())
  if (process.argv.includes("--processor")) return yield* Console.log(`\n${yield* processor(setup)}`)
  if (!process.argv.includes("--sessions")) yield* Console.log(`\n${yield* added(setup)}`)
  if (process.argv.includes("--added")) return
  const rows = [yield* many(setup, "`fetch` of the session"), yield* many(setup, "HTTP gateway")]
  yield* Console.log(
    `\n${
      Report.table(["", "answers", "median, ms", "p99, ms", "KiB a session", "seconds"], rows)
    }\n\n${Report.machine()}`
  )
}).pipe(Effect.provide(gateway))

OnEngine.runMain(program)
