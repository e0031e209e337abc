/** The commands that read published datasets and tokenizers from the Hub, run against a fake Hub. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { parquetWriteBuffer } from "hyparquet-writer"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"
import * as FakeHub from "./FakeHub.ts"

const script = fileURLToPath(new URL("../../../../scripts/conformance/hub.mjs", import.meta.url))
const fixture = (name: string) => readFileSync(new URL(`../fixtures/tokenizer/${name}`, import.meta.url), "utf8")

const rows = (answers: ReadonlyArray<string>) =>
  new Uint8Array(parquetWriteBuffer({
    columnData: [
      { name: "problem", data: answers.map((answer) => `What is ${answer}?`) },
      { name: "answer", data: [...answers] }
    ]
  }))

const polaris = "datasets/POLARIS-Project/Polaris-Dataset-53K"
const tools = "datasets/Salesforce/xlam-function-calling-60k"
const deepMath = "datasets/zwhe99/DeepMath-103K"

const hubs = [
  FakeHub.make(polaris, { "default/train/0000.parquet": { content: rows(["5", "6"]) } }),
  FakeHub.make(deepMath, { "default/train/0000.parquet": { content: rows(["5"]) } }),
  FakeHub.make("Qwen/Qwen3-8B", {
    "tokenizer.json": { content: fixture("tokenizer.json") },
    "tokenizer_config.json": { content: fixture("tokenizer_config.json") }
  })
]

const answer = async (url: string, method: string, headers: Record<string, string>, body: string) => {
  if (url === "/") return new Response()
  if (url.includes(tools)) return FakeHub.status(401)()
  for (const { fetch } of hubs) {
    const found = await fetch(`http://hub${url}`, { method, headers, ...(body !== "" && { body }) })
    if (found.ok) return found
  }
  return FakeHub.status(404)()
}

/** A fake Hub on a local address. */
const pretended = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
      const body = (await request.toArray()).join("")
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const found = await answer(request.url ?? "", request.method ?? "GET", headers, body)
      response.writeHead(found.status, Object.fromEntries(found.headers))
      response.end(new Uint8Array(await found.arrayBuffer()))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const run = Effect.fnUntraced(function*(hub: string, ...args: ReadonlyArray<string>) {
  const cache = yield* Files.temporaryFolder
  return yield* Effect.callback<{ readonly code: number; readonly lines: ReadonlyArray<string> }>((resume) => {
    const env = { ...process.env, HF_ENDPOINT: hub, HF_HUB_CACHE: cache }
    const child = execFile(
      process.execPath,
      ["--conditions=@effect-rl/source", script, ...args],
      { env },
      (_, out) => resume(Effect.succeed({ code: child.exitCode ?? -1, lines: out.trimEnd().split("\n") }))
    )
  })
}, Effect.provide(Files.layer))

const told = (lines: ReadonlyArray<string>) =>
  lines.filter((line) => /^(works|fails|refused|skipped|\d+ )/.test(line)).map((line) => line.replace(/ +/g, " "))

describe("the check of published datasets and tokenizers", () => {
  it.live("reads rows by their schema, and reports data that differ, are missing or are not accessible", () =>
    Effect.gen(function*() {
      const { url } = yield* pretended
      const { code, lines } = yield* run(url, "datasets", "polaris", "deepmath", "gsm8k", "tool_use")
      const [gsm8k, ...others] = told(lines)
      assert.strictEqual(code, 1)
      assert.match(gsm8k ?? "", /^fails gsm8k: train of openai\/gsm8k: .*does not exist/)
      assert.match(others.find((line) => line.includes("deepmath")) ?? "", /^fails deepmath: .*question/)
      const commit = FakeHub.commit.slice(0, 12)
      assert.include(
        others,
        "works polaris: train of POLARIS-Project/Polaris-Dataset-53K: 2 rows as described, 2 used; " +
          `unpinned, now ${commit} of refs/convert/parquet`
      )
      assert.match(others.find((line) => line.includes("tool_use")) ?? "", /^refused tool_use: .*HF_TOKEN/)
      assert.strictEqual(others.at(-1), "1 works, 1 refused, 4 fails")
    }))

  it.live("loads tokenizers and reports a repository that does not exist", () =>
    Effect.gen(function*() {
      const { url } = yield* pretended
      const { lines } = yield* run(url, "tokenizers", "Qwen/Qwen3-8B")
      const line = (name: string) => told(lines).find((line) => line.includes(` ${name}: `)) ?? ""
      assert.match(
        line("Qwen/Qwen3-8B"),
        /^works Qwen\/Qwen3-8B: tokenizer: fingerprint [0-9a-f]{12}; qwen3 \d+ tokens/
      )
      assert.match(line("Qwen/Qwen3-8B-Base"), /^fails .*does not exist/)
    }))

  it.live("is skipped line by line if the Hub is unreachable", () =>
    Effect.gen(function*() {
      const { code, lines } = yield* run("http://127.0.0.1:1", "datasets", "hh", "ifeval")
      assert.deepStrictEqual([code, told(lines).slice(0, 4)], [0, [
        "skipped hh: train of Anthropic/hh-rlhf",
        "skipped hh: test of Anthropic/hh-rlhf",
        "skipped ifeval: test of google/IFEval",
        "skipped ifeval: benchmark"
      ]])
      assert.match(lines.at(-1) ?? "", /^4 skipped: http:\/\/127\.0\.0\.1:1 cannot be reached \(.+\)$/)
    }))
})
