/**
 * Measures the latency that the gateway adds between an agent and its model. The same conversations run against the same backend in three
 * ways: called in this thread, through the session's `fetch`, and over HTTP from agents in a worker thread, compared with an HTTP server
 * that ignores the request. A request's latency is the time that it takes beyond the backend's own. Then 1,000 concurrent sessions run,
 * whose agents pause between requests. Prints Markdown. `--added` runs only the first part, `--sessions` only the second. `--processor`
 * measures neither, but the processor time of requests that a backend answers at once, which also tells versions apart on a busy machine.
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

/** How long the backend takes for each answer of a session, in milliseconds. */
type Durations = ReadonlyArray<number>

/** Durations of 40 to 60 ms. They depend only on the session's index, so every way waits for the same answers. */
const durationsOf = (session: number, { requests }: Load): Durations => {
  const draw = Draw.make(session, "backend")
  return Array.from({ length: requests }, () => draw.integer(40, 60))
}

/** A backend that answers each turn after its duration, and at once if there are no durations. */
const backend = (model: ChatModel.ChatModel, durations: Durations): Policy.Policy => {
  const tokens = model.tokenizer.encode(`${Talking.answer}<|im_end|>`)
  const sampled = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.1), stopReason: "stop" } as const
  return {
    act: ({ key: { turn } }) => {
      const duration = durations[turn]
      return duration === undefined ? Effect.succeed(sampled) : Effect.delay(Effect.succeed(sampled), duration)
    }
  }
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

interface BareServer {
  /** Opens an address whose requests are answered after these durations. */
  readonly open: (durations: Durations) => string
  readonly close: () => void
}

/** An HTTP server that ignores the request and sends a fixed answer after the backend's duration. */
const bareServer = Effect.acquireRelease(
  Effect.callback<BareServer>((resume) => {
    const choices = [{ message: { role: "assistant", content: Talking.answer }, finish_reason: "stop", index: 0 }]
    const left = new Map<string, Array<number>>()
    const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
      const duration = left.get(request.url?.split("/")[1] ?? "")?.shift() ?? 0
      request.resume().on("end", () => setTimeout(() => response.end(JSON.stringify({ choices })), duration))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      const open = (durations: Durations) => {
        const name = String(left.size)
        left.set(name, [...durations])
        return `http://127.0.0.1:${port}/${name}`
      }
      resume(Effect.succeed({ open, close: () => server.close() }))
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
  readonly bare: BareServer
}

/** One session, which adds the time of each of its requests to `times`. */
const session = ({ bare, model, thread }: Setup, way: Way, durations: Durations, load: Load, times: Times) => {
  const { done, pauses, requests } = load
  const policy = backend(model, durations)
  if (way === "called in this thread") return direct(policy, load, times)
  if (way === "a bare HTTP server") {
    const to = { baseUrl: bare.open(durations), model: model.name }
    return Effect.map(Effect.promise(() => thread(to, requests, pauses)), (own) => void times.push(...own))
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

/** The time that each request takes beyond the backend's own, and the processor time of this thread for each request. */
interface Measured {
  readonly beyond: Times
  readonly cpu: number
}

/** Runs the sessions of some loads, at most `inFlight` of them concurrently. */
const run = Effect.fnUntraced(function*(
  setup: Setup,
  way: Way,
  loads: ReadonlyArray<Load>,
  { inFlight, isInstant = false }: { readonly inFlight: number; readonly isInstant?: boolean }
) {
  const beyond: Times = []
  // Otherwise the first requests would pay for the garbage of earlier ones.
  globalThis.gc?.()
  const before = threadCpuUsage()
  const one = Effect.fnUntraced(function*(load: Load, index: number) {
    const durations = isInstant ? [] : durationsOf(index, load)
    const times: Times = []
    yield* session(setup, way, durations, load, times)
    for (const [turn, time] of times.entries()) beyond.push(time - (durations[turn] ?? 0))
  })
  yield* Effect.forEach(loads, one, { concurrency: inFlight, discard: true })
  const { system, user } = threadCpuUsage(before)
  return { beyond, cpu: (user + system) / 1000 / beyond.length } satisfies Measured
})

/** Sessions of 10 requests without pauses. */
const loadsOf = (sessions: number): ReadonlyArray<Load> => Array.from({ length: sessions }, () => ({ requests: 10 }))

const measure = Effect.fnUntraced(function*(setup: Setup, way: Way, inFlight: number) {
  yield* run(setup, way, loadsOf(inFlight + 5), { inFlight })
  const { beyond, cpu } = yield* run(setup, way, loadsOf(Math.max(20, 5 * inFlight)), { inFlight })
  return { p50: quantile(beyond, 0.5), p99: quantile(beyond, 0.99), cpu }
})

const base: Way = "called in this thread"
const others: ReadonlyArray<Way> = ["a bare HTTP server", "`fetch` of the session", "HTTP gateway"]

const instant = { inFlight: 20, isInstant: true }

/** A table of the latency of each way. Before, each way answers 3,000 requests of an instant backend, so its code is compiled. */
const added = Effect.fnUntraced(function*(setup: Setup) {
  for (const way of [base, ...others]) yield* run(setup, way, loadsOf(300), instant)
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
  const columns = ["", "beyond the backend: median, ms", "p99, ms", "added median", "added p99", "CPU a request, ms"]
  return Report.table(columns, rows)
})

/** A table of the processor time of this thread for each request to a backend that answers at once, 20 of them in flight. */
const processor = Effect.fnUntraced(function*(setup: Setup) {
  const rows: Array<ReadonlyArray<string>> = []
  for (const way of others.slice(1)) {
    yield* run(setup, way, loadsOf(300), instant)
    const { cpu } = yield* run(setup, way, loadsOf(300), instant)
    rows.push([way, milliseconds(cpu)])
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
  const loads = Array.from({ length: sessions }, () => ({ requests: requestsEach, pauses: pauses(), done }))
  const { beyond } = yield* run(setup, way, loads, { inFlight: sessions })
  return [
    way,
    String(beyond.length),
    milliseconds(quantile(beyond, 0.5)),
    milliseconds(quantile(beyond, 0.99)),
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
  const setup: Setup = { model, bare: yield* bareServer, thread: openThread() }
  yield* Console.log(Report.machine())
  if (process.argv.includes("--processor")) return yield* Console.log(`\n${yield* processor(setup)}`)
  if (!process.argv.includes("--sessions")) yield* Console.log(`\n${yield* added(setup)}`)
  if (process.argv.includes("--added")) return
  const rows = [yield* many(setup, "`fetch` of the session"), yield* many(setup, "HTTP gateway")]
  yield* Console.log(
    `\n${
      Report.table(
        ["", "answers", "beyond the backend: median, ms", "p99, ms", "KiB a session", "seconds"],
        rows
      )
    }\n\n${Report.machine()}`
  )
}).pipe(Effect.provide(gateway))

OnEngine.runMain(program)
