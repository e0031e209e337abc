/**
 * What stands between an agent and its model costs: the same conversations with the same backend, called in this process, through the
 * `fetch` of an agent's session, and over HTTP. Client, gateway and backend share one thread. Then 1,000 sessions at the same time, whose
 * agents think between their requests. Prints Markdown. `--sessions` measures the second part alone.
 */
import { AgentEnv, AgentGateway } from "@effect-rl/agent"
import { ChatModel, type Policy, Rollout } from "@effect-rl/core"
import { Draw } from "@effect-rl/core/testing"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Console, Effect, Layer } from "effect"
import { createServer } from "node:http"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"

const answer = "The room is 512, on the second floor, beside the stairs."

/** The parts of a conversation: instructions, a tool, and as many questions as there are requests. */
const system = { role: "system", content: "You answer questions about a building. Use the tool where it helps." }
const tools = [{
  type: "function",
  function: {
    name: "search",
    description: "Finds people and rooms.",
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] }
  }
}]
const question = (turn: number) => ({ role: "user", content: `Which room is number ${turn} of the list in?` })

/** A backend that takes 40 to 60 ms for each request, or no time. */
const backend = (model: ChatModel.ChatModel, busy: boolean): Policy.Policy => {
  const tokens = model.tokenizer.encode(`${answer}<|im_end|>`)
  const sampled = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.1), stopReason: "stop" } as const
  const draw = Draw.make(0, "backend")
  return {
    act: () => busy ? Effect.delay(Effect.succeed(sampled), draw.integer(40, 60)) : Effect.succeed(sampled)
  }
}

const key = { iteration: 0, group: "latency", member: 0, attempt: 0 }

/** Milliseconds of each request. */
type Times = Array<number>

const timed = (times: Times) => <A>(ask: () => Promise<A>) => {
  const began = performance.now()
  return ask().then((answered) => {
    times.push(performance.now() - began)
    return answered
  })
}

const chat = async ({ baseUrl, fetch, signal }: AgentEnv.Session, model: string, messages: ReadonlyArray<object>) => {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages, tools }),
    signal
  })
  const text = await response.text()
  if (!text.includes(answer)) throw new Error(`status ${response.status}: ${text}`)
  return { role: "assistant", content: answer }
}

interface Load {
  /** Requests of one session, each after the answer of the last. */
  readonly requests: number
  /** Milliseconds before a request; none unless given. */
  readonly think?: () => number
  /** Told when a session has had its answers; its episode ends after that. */
  readonly done?: () => Promise<void>
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const agent = (model: string, { done, requests, think }: Load, times: Times) => async (session: AgentEnv.Session) => {
  const messages: Array<object> = [system]
  const time = timed(times)
  for (let turn = 0; turn < requests; turn++) {
    if (think !== undefined) await pause(think())
    messages.push(question(turn))
    messages.push(await time(() => chat(session, model, messages)))
  }
  await done?.()
  return 1
}

/** Asks the backend without anything between: no conversation is written, and no answer is read. */
const direct = (policy: Policy.Policy, { requests }: Load, times: Times) =>
  Effect.gen(function*() {
    const time = timed(times)
    const context = yield* Effect.context<never>()
    const prompt = { chunks: [], length: 0 }
    for (let turn = 0; turn < requests; turn++) {
      const request = { key: { ...key, turn }, prompt, stop: [], maxTokens: 64 }
      yield* Effect.promise(() => time(() => Effect.runPromiseWith(context)(policy.act(request))))
    }
  })

type Way = "called in this process" | "fetch of the session" | "HTTP"

const session = (way: Way, model: ChatModel.ChatModel, policy: Policy.Policy, load: Load, times: Times) => {
  if (way === "called in this process") return direct(policy, load, times)
  const options = { model, run: agent(model.name, load, times) }
  return Effect.gen(function*() {
    const env = yield* way === "HTTP" ? AgentGateway.env(options) : AgentEnv.make(options)
    yield* Rollout.episode(env, policy, key)
  }).pipe(Effect.scoped, Effect.orDie)
}

const quantile = (times: Times, share: number) =>
  times.toSorted((left, right) => left - right)[Math.floor(share * (times.length - 1))] ?? NaN

const milliseconds = (value: number) => value.toFixed(2)

const requests = 10

/** Sessions after each other, so many at a time. */
const measure = Effect.fnUntraced(function*(way: Way, model: ChatModel.ChatModel, inFlight: number, busy: boolean) {
  const policy = backend(model, busy)
  const run = (sessions: number, times: Times) =>
    Effect.forEach(Array.from({ length: sessions }), () => session(way, model, policy, { requests }, times), {
      concurrency: inFlight,
      discard: true
    })
  yield* run(inFlight + 5, [])
  const times: Times = []
  const before = process.cpuUsage()
  yield* run(Math.max(20, 5 * inFlight), times)
  const { system, user } = process.cpuUsage(before)
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), cpu: (user + system) / 1000 / times.length }
})

const added = Effect.fnUntraced(function*(model: ChatModel.ChatModel) {
  const rows: Array<ReadonlyArray<string>> = []
  for (const inFlight of [1, 20]) {
    const base = yield* measure("called in this process", model, inFlight, true)
    const baseRow = [base.p50, base.p99].map(milliseconds)
    rows.push([`called in this process, ${inFlight} in flight`, ...baseRow, "", "", milliseconds(base.cpu)])
    for (const way of ["fetch of the session", "HTTP"] as const) {
      const { cpu, p50, p99 } = yield* measure(way, model, inFlight, true)
      const cells = [p50, p99, p50 - base.p50, p99 - base.p99, cpu]
      rows.push([`${way}, ${inFlight} in flight`, ...cells.map(milliseconds)])
    }
  }
  return Report.table(["", "median, ms", "p99, ms", "added median", "added p99", "CPU a request"], rows)
})

const sessions = 1000
const requestsEach = 20
/** Seconds between an answer and the next request. */
const thinks = [2, 8] as const

const held = () => {
  globalThis.gc?.()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const many = Effect.fnUntraced(function*(model: ChatModel.ChatModel, way: Way) {
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
  const load = { requests: requestsEach, think: () => 1000 * draw.integer(...thinks), done }
  const began = performance.now()
  yield* Effect.forEach(
    Array.from({ length: sessions }),
    () => session(way, model, backend(model, true), load, times),
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
  yield* Console.log(Report.machine())
  if (!process.argv.includes("--sessions")) yield* Console.log(`\n${yield* added(model)}`)
  const rows = [yield* many(model, "fetch of the session"), yield* many(model, "HTTP")]
  yield* Console.log(
    `\n${
      Report.table(["", "answers", "median, ms", "p99, ms", "KiB a session", "seconds"], rows)
    }\n\n${Report.machine()}`
  )
}).pipe(Effect.provide(gateway))

OnEngine.runMain(program)
