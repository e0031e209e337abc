/**
 * Measures how long another caller's request waits while the server reads a body of the maximum size or cost. Each body is sent several
 * times. The shortest of the longest waits is reported, because other programs disturbed it least. Needs Node 24 for the processor time of
 * a thread.
 */
import { PolicyLoss } from "@effect-rl/core"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import * as Report from "../Report.ts"

const attempts = 3

const folder = mkdtempSync(join(tmpdir(), "waits-"))
const serve = ["packages/cli/src/bin.ts", "serve", "--port", "0", "--workers", "1", "--checkpoints", folder]
const server = spawn(process.execPath, [
  "--conditions=@effect-rl/source",
  "--disable-warning=ExperimentalWarning",
  "--import",
  new URL("Turns.ts", import.meta.url).href,
  ...serve
], {
  stdio: ["ignore", "pipe", "pipe", "ipc"]
})

const address = await new Promise<string>((resolve, reject) => {
  let text = ""
  const read = (part: Buffer) => {
    text += part.toString()
    const found = /http:\/\/[\d.]+:\d+/.exec(text)
    if (found !== null) resolve(found[0])
  }
  server.stdout?.on("data", read)
  server.stderr?.on("data", read)
  server.once("exit", () => reject(new Error(text)))
})

/** Sends requests continuously and records the longest response time. */
const prober = new Worker(
  `
  const { parentPort, workerData } = require("node:worker_threads")
  const { Agent, get } = require("node:http")
  const agent = new Agent({ keepAlive: true })
  let longest = 0
  let asked = 0
  const ask = () => {
    const start = performance.now()
    asked = start
    get(workerData + "/api/v1/healthz", { agent }, (response) => {
      response.resume().on("end", () => {
        longest = Math.max(longest, performance.now() - start)
        setTimeout(ask, 2)
      })
    })
  }
  ask()
  parentPort.on("message", () => {
    parentPort.postMessage(Math.max(longest, performance.now() - asked))
    longest = 0
  })
`,
  { eval: true, workerData: address }
)

const longestWait = async () => {
  prober.postMessage("")
  const [wait] = await once(prober, "message")
  return Number(wait)
}

const longestTurn = async () => {
  server.send("")
  const [turn] = await once(server, "message")
  return Number(turn)
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const post = async (path: string, body: string | Uint8Array, type = "application/json"): Promise<Answer> => {
  const response = await fetch(`${address}${path}`, { method: "POST", body, headers: { "content-type": type } })
  const text = await response.text()
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : { text } }
}

const api = (path: string, body: object) => post(`/api/v1${path}`, JSON.stringify(body))

const result = async ({ body }: Answer): Promise<Answer> => {
  while (true) {
    const found = await api("/retrieve_future", { request_id: body["request_id"] })
    if (found.status !== 408) return found
  }
}

const session_id = (await api("/create_session", { tags: [] })).body["session_id"]
const made = await api("/create_model", {
  session_id,
  model_seq_id: 0,
  base_model: "effect-rl/tiny-64",
  lora_config: { rank: 4 }
})
const model_id = (await result(made)).body["model_id"]

const numbers = (count: number, value: (at: number) => number) => Array.from({ length: count }, (_, at) => value(at))
const tokens = (count: number) => numbers(count, (at) => at % 50)
const vector = (data: ReadonlyArray<number>, dtype = "float32") => ({ data, dtype, shape: [data.length] })

const datum = (length: number) => ({
  model_input: { chunks: [{ type: "encoded_text", tokens: tokens(length) }] },
  loss_fn_inputs: {
    target_tokens: vector(tokens(length), "int64"),
    logprobs: vector(numbers(length, (at) => -Math.log(at + 1.5))),
    advantages: vector(numbers(length, (at) => Math.sin(at)))
  }
})

const passOf = (count: number, length: number, more: object = {}) => {
  const one = JSON.stringify(datum(length))
  const head = JSON.stringify({ loss_fn: "importance_sampling", ...more })
  return `{"model_id":"${model_id}","forward_backward_input":{"data":[${Array(count).fill(one).join(",")}],${
    head.slice(1)
  }}`
}

const mebibyte = 2 ** 20

interface Attack {
  readonly name: string
  readonly path: string
  readonly body: string
  /** Whether the pass's result is awaited. */
  readonly isAwaited?: boolean
}

const node = (name: string, target: string, ...args: ReadonlyArray<unknown>) => ({
  op: "call_function",
  name,
  target,
  args,
  kwargs: {}
})

const { graph: dppo } = PolicyLoss.dppo()

/** A loss with additional operations whose results are unused. */
const graphWith = (more: ReadonlyArray<object>) => ({
  ...dppo,
  graph: { format: 1, nodes: [...dppo.graph.nodes.slice(0, -1), ...more, dppo.graph.nodes.at(-1)] }
})

const ref = (name: string) => ({ ref: name })

const smallSorts = (count: number) =>
  graphWith([
    node("wide", "torch.zeros", [8192]),
    ...numbers(count, (at) => at).map((at) => node(`sort${at}`, "torch.sort", ref("wide")))
  ])

const mostAllowed = "24 small sorts for each of 2 datums, all that a pass may take"

const graphs = {
  "2,000 small operations": graphWith(
    numbers(2000, (at) => at).map((at) => node(`n${at}`, "torch.exp", ref("logprobs")))
  ),
  "4 products of 2,048 × 4,096": graphWith([
    node("wide", "torch.zeros", [2048, 4096]),
    ...numbers(4, (at) => at).map((at) => node(`dot${at}`, "torch.dot", ref("wide"), ref("wide")))
  ]),
  "sorts of 2^17": graphWith([
    node("wide", "torch.zeros", [131_072]),
    ...numbers(200, (at) => at).map((at) => node(`sort${at}`, "torch.sort", ref("wide")))
  ]),
  "small sorts, near the limit of one datum": smallSorts(1000),
  [mostAllowed]: smallSorts(24)
}

const lossAttacks: Array<Attack> = []
for (const [at, [name, graph]] of Object.entries(graphs).entries()) {
  const made = await result(await api("/create_custom_loss", { session_id, custom_loss_seq_id: at, ...graph }))
  const loss_id = made.body["loss_id"]
  if (typeof loss_id !== "string") {
    Report.progress(`${name}: ${JSON.stringify(made.body).slice(0, 200)}`)
    continue
  }
  const plain = datum(400)
  const { advantages, logprobs, target_tokens } = plain.loss_fn_inputs
  const one = JSON.stringify({
    ...plain,
    loss_fn_inputs: { target_tokens, sampler_logprobs: logprobs, advantages, mask: vector(numbers(400, () => 1)) }
  })
  const body =
    `{"model_id":"${model_id}","forward_backward_input":{"data":[${
      Array(name === mostAllowed ? 2 : 8).fill(one).join(",")
    }],` +
    `"loss_fn":"custom","loss_fn_config":{"loss_id":"${loss_id}"}}}`
  lossAttacks.push({ name: `loss: ${name}`, path: "/api/v1/forward_backward", body, isAwaited: true })
}

const filled = (head: string, unit: string, tail: string, bytes: number) =>
  `${head}${Array(Math.floor((bytes - head.length) / (unit.length + 1))).fill(unit).join(",")}${tail}`

const chat = (messages: number, content: string) =>
  JSON.stringify({ model: "effect-rl/tiny-64", messages: Array(messages).fill({ role: "user", content }) })

const sampleHead =
  "{\"base_model\":\"effect-rl/tiny-64\",\"sampling_params\":{\"max_tokens\":1},\"prompt\":{\"chunks\":["

const attacks: ReadonlyArray<Attack> = [
  { name: "nothing", path: "/api/v1/get_info", body: JSON.stringify({ model_id }) },
  { name: "pass, 60 × 500", path: "/api/v1/forward_backward", body: passOf(60, 500), isAwaited: true },
  {
    name: "pass forward, 60 × 500",
    path: "/api/v1/forward",
    body: passOf(60, 500).replace("forward_backward_input", "forward_input"),
    isAwaited: true
  },
  { name: "pass, 60 × 1,000", path: "/api/v1/forward_backward", body: passOf(60, 1000), isAwaited: true },
  {
    name: "refused pass, 63 MiB of datums",
    path: "/api/v1/forward_backward",
    body: passOf(2700, 500, { loss_fn: "none" }),
    isAwaited: true
  },
  {
    name: "refused pass, one datum of 60 MiB",
    path: "/api/v1/forward_backward",
    body: passOf(1, 1_300_000),
    isAwaited: true
  },
  {
    name: "refused pass, 2 million lists",
    path: "/api/v1/forward_backward",
    body: filled("{\"model_id\":[", "[]", "]}", 5.9e6)
  },
  {
    name: "refused sample, 60 MiB of tokens",
    path: "/api/v1/asample",
    body: filled(`${sampleHead}{"tokens":[`, "1", "]}]}}", 60 * mebibyte)
  },
  {
    name: "refused sample, 60 MiB of text",
    path: "/api/v1/asample",
    body: filled(`${sampleHead}{"format":"png","expected_tokens":1,"data":"`, "AAAAAAA", "\"}]}}", 60 * mebibyte)
  },
  {
    name: "refused sample, 2 MiB of tokens",
    path: "/api/v1/asample",
    body: filled(`${sampleHead}{"tokens":[`, "1", "]}]}}", 2 * mebibyte)
  },
  {
    name: "refused sample, 300,000 chunks",
    path: "/api/v1/asample",
    body: filled(sampleHead, "{\"tokens\":[1]}", "]}}", 4.5e6)
  },
  {
    name: "refused step, 60 MiB of names",
    path: "/api/v1/optim_step",
    body: filled("{", "\"aaaaaaaaaaaa\":1", "}", 60 * mebibyte)
  },
  {
    name: "refused loss, 262,144 characters",
    path: "/api/v1/create_custom_loss",
    body: JSON.stringify({ session_id, custom_loss_seq_id: 99, ...graphWith([]) }).padEnd(262_145)
  },
  { name: "chat, 40,000 messages", path: "/oai/api/v1/chat/completions", body: chat(40_000, "hello") },
  { name: "chat, 9,000 messages", path: "/oai/api/v1/chat/completions", body: chat(9000, "a") },
  {
    name: "chat, 10,001 tools",
    path: "/oai/api/v1/chat/completions",
    body: JSON.stringify({
      model: "effect-rl/tiny-64",
      messages: [{ role: "user", content: "a" }],
      tools: Array(10_001).fill({
        type: "function",
        function: { name: "f", parameters: { type: "object", properties: {} } }
      })
    })
  },
  { name: "chat, 60 MiB of text", path: "/oai/api/v1/chat/completions", body: chat(1, "a".repeat(60 * mebibyte)) },
  ...lossAttacks
]

const rows: Array<ReadonlyArray<string>> = []
for (const { body, isAwaited, name, path } of attacks) {
  const waits: Array<number> = []
  const turns: Array<number> = []
  let answer = ""
  for (let attempt = 0; attempt < attempts; attempt++) {
    await pause(200)
    await longestWait()
    await longestTurn()
    const first = await post(path, body)
    const last = isAwaited === true && first.status === 200 ? await result(first) : first
    await pause(50)
    waits.push(await longestWait())
    turns.push(await longestTurn())
    answer = `${last.status}${last.body["error"] === undefined ? "" : " failed"}`
    if (attempt === 0) Report.progress(`${name}: ${answer} ${JSON.stringify(last.body).slice(0, 160)}`)
  }
  waits.sort((left, right) => left - right)
  rows.push([
    name,
    (body.length / mebibyte).toFixed(1),
    answer,
    ...[waits[0], waits[attempts >> 1], waits.at(-1), Math.max(...turns)].map((millis = NaN) => millis.toFixed(0))
  ])
  Report.progress(rows.at(-1)?.join(" | ") ?? "")
}
server.kill()
await prober.terminate()
rmSync(folder, { recursive: true, force: true })
Report.publish("waits", "Waiting for another caller's body", [
  `One server of the embedded engine. A caller requests the server's health every few milliseconds while another sends a body; each body is
sent ${attempts} times. The table has the longest wait of the best repetition, of the median and of the worst. "Failed" is a pass whose result is a
refusal. Other programs lengthen the waits (see the load); "turn" is the most processor time of one turn of the server's event loop, which
they do not lengthen.`,
  Report.table(["body", "MiB", "answer", "wait, ms, least", "median", "most", "turn, ms"], rows)
])
