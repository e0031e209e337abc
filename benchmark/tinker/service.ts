/**
 * A service on the loopback interface that finishes every sample after 200 ms, and prints its address. It lists finished samples unless
 * `argv[2]` is "one-by-one".
 */
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const work = 200

const answer = SampleResult.encode({
  sequences: [{
    tokens: Workload.tokens(0).slice(0, Workload.maxTokens),
    logprobs: new Float32Array(Workload.maxTokens).fill(-1),
    stopReason: "length"
  }]
})

const listsFinished = process.argv[2] !== "one-by-one"

const readyAt = new Map<string, number>()
let nextId = 0

/** Finished samples of the newest sampler, in the order in which they finished. */
let finished: Array<string> = []
/** Polls that wait until another sample is finished. */
let held: Array<() => void> = []

const finishLater = (id: string) =>
  setTimeout(() => {
    finished.push(id)
    const polls = held
    held = []
    for (const answer of polls) answer()
  }, work)

const list = (response: ServerResponse, cursor: number) => {
  if (cursor >= finished.length) return held.push(() => list(response, cursor))
  const completions = finished.slice(cursor).map((request_id) => ({ request_id, state: "finished" }))
  return json(response, { completions, cursor: finished.length })
}

const json = (response: ServerResponse, body: object) => {
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify(body))
}

const finish = (response: ServerResponse) => {
  response.setHeader("content-type", "application/x-protobuf")
  response.end(answer)
}

const fixed: Readonly<Record<string, object>> = {
  "/client/config": { sample_max_concurrent_requests: 20_000, sample_use_retrieve_futures: listsFinished },
  "/client/dynamic_config": { refresh_interval_sec: 300 },
  "/create_session": { session_id: "session", type: "create_session" },
  "/session_heartbeat": { type: "session_heartbeat" },
  "/get_server_capabilities": { supported_models: [{ model_name: "model", max_context_length: 32_768 }] }
}

const respond = (path: string, body: string, response: ServerResponse) => {
  const known = fixed[path]
  if (known !== undefined) return json(response, known)
  if (path === "/create_sampling_session") {
    finished = []
    return json(response, { sampling_session_id: `sampler-${nextId++}`, type: "create_sampling_session" })
  }
  if (path === "/asample") {
    const request_id = `sample-${nextId++}`
    readyAt.set(request_id, performance.now() + work)
    if (listsFinished) finishLater(request_id)
    return json(response, { request_id, sample_sequence_ids: [`${request_id}:0`] })
  }
  if (path === "/retrieve_future") {
    const id = /"request_id":\s*"([^"]+)"/.exec(body)?.[1] ?? ""
    setTimeout(() => finish(response), Math.max((readyAt.get(id) ?? 0) - performance.now(), 0))
    return readyAt.delete(id)
  }
  if (path === "/retrieve_futures") {
    return list(response, Number(/"prev_cursor":\s*(\d+)/.exec(body)?.[1] ?? 0))
  }
  response.statusCode = 404
  return json(response, { detail: "Not Found" })
}

const collect = (request: IncomingMessage, response: ServerResponse) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const path = (request.url ?? "").replace("/api/v1", "")
    respond(path, path === "/asample" ? "" : Buffer.concat(parts).toString(), response)
  })
}

const server = createServer({ keepAliveTimeout: 60_000 }, collect)
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address()
  if (typeof address === "object" && address !== null) Report.print(`http://127.0.0.1:${address.port}`)
})
