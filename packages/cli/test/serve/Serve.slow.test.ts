/** Tests the server in its own process, with a run that trains through it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Schema } from "effect"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const bin = fileURLToPath(new URL("../../src/bin.ts", import.meta.url))

const launch = (args: ReadonlyArray<string>) =>
  spawn(process.execPath, ["--conditions=@effect-rl/source", bin, ...args], {
    env: { ...process.env, TINKER_API_KEY: "tml-test" },
    stdio: ["ignore", "pipe", "inherit"]
  })

/** The error message of a process that failed. */
const complaint = (args: ReadonlyArray<string>) =>
  Effect.sync(() =>
    spawnSync(process.execPath, ["--conditions=@effect-rl/source", bin, ...args], { encoding: "utf8" }).stderr
  )

const ended = (child: ChildProcess) =>
  Effect.callback<number | null>((resume) => {
    if (child.exitCode !== null) return resume(Effect.succeed(child.exitCode))
    child.once("close", (code) => resume(Effect.succeed(code)))
  })

/** Starts a process and waits until its output matches `pattern`. */
const started = (args: ReadonlyArray<string>, pattern: RegExp) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly child: ChildProcess; readonly found: string }>((resume) => {
      const child = launch(args)
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (more) => {
        text += more
        const found = pattern.exec(text)?.[1]
        if (found !== undefined) resume(Effect.succeed({ child, found }))
      })
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

/** The whole output of a process, once it has ended. */
const output = (args: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    const child = launch(args)
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (more) => {
      text += more
    })
    child.once("close", () => resume(Effect.succeed(text)))
  })

const temporary = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped()).pipe(
  Effect.provide(NodeServices.layer)
)

const post = (url: string, path: string, body: unknown) =>
  Effect.promise(async (): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/api/v1${path}`, { method: "POST", body: JSON.stringify(body) })
    return JSON.parse(await response.text())
  })

const Listed = Schema.Struct({
  checkpoints: Schema.Tuple([Schema.Struct({ expires_at: Schema.String, time: Schema.String })])
})

const serve = (folder: string, flags: ReadonlyArray<string> = []) =>
  started(["serve", "--port", "0", "--checkpoints", folder, ...flags], /at (http:\/\/127\.0\.0\.1:\d+)/)

/** The metrics of a short run, without its times. */
const rewards = (text: string) =>
  text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)).flatMap(({ metrics, type }) =>
    type === "evaluated" || metrics === undefined
      ? []
      : [Object.fromEntries(Object.entries(metrics).filter(([key]) => !key.includes("time")))]
  )

describe("effect-rl serve", () => {
  it.live.each(
    [["SIGINT", 130], ["SIGTERM", 143]] as const
  )(
    "finishes accepted requests on %s, answers waiting clients, and ends with %i",
    ([signal, code]) =>
      Effect.gen(function*() {
        const { child, found: url } = yield* serve(yield* temporary)
        const { session_id } = yield* post(url, "/create_session", {})
        const { sampling_session_id } = yield* post(url, "/create_sampling_session", {
          session_id,
          sampling_session_seq_id: 0,
          base_model: "effect-rl/tiny-64"
        })
        const { request_id } = yield* post(url, "/asample", {
          sampling_session_id,
          seq_id: 0,
          num_samples: 100,
          prompt: { chunks: [{ type: "encoded_text", tokens: [12, 7, 9] }] },
          sampling_params: { max_tokens: 40, seed: 1 }
        })
        const poll = yield* Effect.forkChild(post(url, "/retrieve_future", { request_id }), { startImmediately: true })
        // Once these later requests are answered, the server has received the poll too.
        yield* Effect.forEach([1, 2, 3], () => post(url, "/session_heartbeat", { session_id }), { discard: true })
        child.kill(signal)
        const { sequences } = yield* Fiber.join(poll)
        assert.strictEqual(Array.isArray(sequences) ? sequences.length : 0, 100)
        assert.strictEqual(yield* ended(child), code)
      })
  )

  it.live("does not start a second server on the same checkpoint folder", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const { child } = yield* serve(folder)
      const said = yield* complaint(["serve", "--port", "0", "--checkpoints", folder])
      assert.include(said, `--checkpoints: ${folder}: in use by process ${child.pid}`)
      assert.include(said, "choose another folder with --checkpoints")
      child.kill("SIGINT")
      yield* ended(child)
      yield* serve(folder)
    }))

  it.live("enforces the limits of its flags", () =>
    Effect.gen(function*() {
      const { found: url } = yield* serve(yield* temporary, [
        "--ttl",
        "1 hour",
        "--samples-per-minute",
        "1",
        "--max-body",
        "1",
        "--compress",
        "--model",
        "acme/large=effect-rl/tiny-64"
      ])
      assert.isTrue((yield* post(url, "/client/config", {}))["proto_compress_fwdbwd"])
      assert.match(String((yield* post(url, "/telemetry", "?".repeat(1_100_000)))["detail"]), /too large/)
      const { session_id } = yield* post(url, "/create_session", {})
      const base_model = "acme/large"
      const created = yield* post(url, "/create_model", { session_id, model_seq_id: 0, base_model })
      const { model_id } = yield* post(url, "/retrieve_future", created)
      yield* post(url, "/retrieve_future", yield* post(url, "/save_weights", { model_id, seq_id: 1, path: "a" }))
      const { checkpoints: [checkpoint] } = yield* Effect.promise(async () =>
        Schema.decodeUnknownSync(Listed)(await (await fetch(`${url}/api/v1/checkpoints`)).json())
      )
      const { expires_at, time } = checkpoint
      assert.strictEqual(Date.parse(expires_at) - Date.parse(time), 3_600_000)
      const sample = { base_model, prompt: { chunks: [{ type: "encoded_text", tokens: [1] }] }, sampling_params: {} }
      assert.property(yield* post(url, "/asample", sample), "request_id")
      assert.match(String((yield* post(url, "/asample", sample))["detail"]), /more than 1 requests a minute/)
    }))

  it.live("gives a run through it the same metrics as an in-process run", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const { found: url } = yield* serve(`${folder}/checkpoints`)
      const args = [
        "train",
        "arithmetic",
        "--model",
        "effect-rl/tiny-64",
        "--groups-per-batch",
        "2",
        "--group-size",
        "4",
        "--iterations",
        "2",
        "--eval-every",
        "0",
        "--json"
      ]
      const there = yield* output([...args, "--log-path", `${folder}/there`, "--backend", "tinker", "--base-url", url])
      const here = yield* output([...args, "--log-path", `${folder}/here`])
      assert.strictEqual(rewards(here).length, 2)
      assert.deepStrictEqual(rewards(there), rewards(here))
    }))
})

describe("effect-rl checkpoints", () => {
  it.live("lists, publishes, retains, downloads and deletes a service's checkpoints", () =>
    Effect.gen(function*() {
      const { found: url } = yield* serve(yield* temporary)
      const folder = yield* temporary
      const train = [
        "--model",
        "effect-rl/tiny-64",
        "--iterations",
        "1",
        "--groups-per-batch",
        "2",
        "--eval-every",
        "0"
      ]
      yield* output([
        "train",
        "arithmetic",
        "--backend",
        "tinker",
        "--base-url",
        url,
        ...train,
        "--log-path",
        `${folder}/run`
      ])
      const ask = (...args: ReadonlyArray<string>) =>
        Effect.map(
          output(["checkpoints", ...args, "--base-url", url, "--json"]),
          (text): ReadonlyArray<Record<string, unknown>> =>
            text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
        )
      const [first] = (yield* ask("list")).filter(({ kind }) => kind === "training")
      const path = String(first?.["path"])
      const now = Effect.map(ask("list"), (lines) => lines.find((line) => line["path"] === path))
      yield* ask("publish", path)
      assert.strictEqual((yield* now)?.["state"], "public")
      yield* ask("unpublish", path)
      assert.strictEqual((yield* now)?.["state"], "")
      yield* ask("ttl", path, "7 days")
      assert.isNumber((yield* now)?.["expiresAt"])
      yield* ask("download", path, "--output", folder)
      const fs = yield* FileSystem.FileSystem
      const downloaded = `${folder}/${path.replace("tinker://", "").replaceAll("/", "_")}`
      const sizes = yield* Effect.forEach(
        yield* fs.readDirectory(downloaded),
        (name) => Effect.map(fs.stat(`${downloaded}/${name}`), ({ size }) => Number(size))
      )
      assert.isAbove(Math.max(...sizes), 10_000)
      yield* ask("delete", "--yes", path)
      assert.isUndefined(yield* now)
    }).pipe(Effect.provide(NodeServices.layer)))
})
