/** Serves a trained policy, and runs the commands that `serve --checkpoint` prints unchanged. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { execFile, spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const question = "What is 25 + 59?"

const bin = fileURLToPath(new URL("../../src/bin.ts", import.meta.url))
const node = ["--conditions=@effect-rl/source", bin]

/** The folder whose installed packages include those that the printed program imports. */
const examples = fileURLToPath(new URL("../../../../examples/", import.meta.url))

/** Runs the command with space-separated words, then with arguments that may contain spaces. */
const effectRl = (words: string, ...args: ReadonlyArray<string>) =>
  Effect.sync(() => spawnSync(process.execPath, [...node, ...words.split(" "), ...args], { encoding: "utf8" }))

/** Starts a server; returns it with its output once it is ready. */
const serve = (...args: ReadonlyArray<string>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly child: ReturnType<typeof spawn>; readonly said: string }>((resume) => {
        const child = spawn(process.execPath, [...node, "serve", "--port", "0", ...args], {
          stdio: ["ignore", "pipe", "inherit"]
        })
        let said = ""
        child.stdout.setEncoding("utf8").on("data", (more) => {
          said += more
          if (said.includes("stop with Ctrl-C")) resume(Effect.succeed({ child, said }))
        })
      }),
      ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    ({ said }) => said
  )

const processOutput = (file: string, args: ReadonlyArray<string>, cwd: string) =>
  Effect.promise(async () => (await promisify(execFile)(file, args, { cwd })).stdout)

const hasCurl = spawnSync("curl", ["--version"]).status === 0
if (!hasCurl) console.log("skipped: the printed curl command, as there is no curl")

const post = (url: string, body: object) =>
  Effect.promise(async () => {
    const headers = { "content-type": "application/json" }
    const response = await fetch(`${url}/oai/api/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(body)
    })
    return JSON.parse(await response.text())
  })

const short = "--groups-per-batch 2 --eval-every 0 --save-every 1"

const train = (run: string) =>
  effectRl(
    `train arithmetic --model effect-rl/tiny-64 --iterations 2 --learning-rate 0.01 ${short} --log-path`,
    run
  )

const temporary = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped())

describe("effect-rl serve --checkpoint", () => {
  it.live(
    "samples from a run's weights under the run's name and its recorded path, as printed",
    () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        const run = `${folder}/sums`
        yield* train(run)
        const sampled = yield* effectRl("sample --temperature 0 --max-tokens 24 --json", question, "--checkpoint", run)
        const { text } = JSON.parse(sampled.stdout.split("\n").find((line) => line.includes("\"sample\"")) ?? "{}")
        const { stdout: listed } = yield* effectRl("checkpoints list --json", run)
        const recorded = JSON.parse(listed.trim().split("\n").at(-1) ?? "{}").path.replace(
          "/weights/",
          "/sampler_weights/"
        )

        const said = yield* serve("--checkpoints", `${folder}/served`, "--checkpoint", run, "--checkpoint", `${run}@1`)
        const url = /at (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1] ?? ""
        assert.include(said, `checkpoint ${run} of effect-rl/tiny-64`)
        const { data } = yield* Effect.promise(async () =>
          JSON.parse(await (await fetch(`${url}/oai/api/v1/models`)).text())
        )
        assert.includeMembers(data.map(({ id }: { readonly id: string }) => id), [
          "effect-rl/tiny-64",
          run,
          `${run}@1`
        ])

        const ask = (model: string) =>
          post(url, {
            model,
            messages: [{ role: "user", content: "What is 25 + 59?" }],
            temperature: 0,
            max_tokens: 24,
            logprobs: true
          })
        const [trained, byPath, earlier, base] = yield* Effect.forEach(
          [run, recorded, `${run}@1`, "effect-rl/tiny-64"],
          ask
        )
        assert.strictEqual(`${trained.choices[0].message.content}<|im_end|>`, text)
        assert.deepStrictEqual(byPath.choices, trained.choices)
        assert.notDeepEqual(earlier.choices[0].logprobs, trained.choices[0].logprobs)
        assert.notDeepEqual(base.choices[0].logprobs, trained.choices[0].logprobs)

        const curl = /^ {2}(curl .+)$/m.exec(said)?.[1] ?? ""
        if (hasCurl) {
          const answer = JSON.parse(yield* processOutput("sh", ["-c", curl], folder))
          assert.strictEqual(answer.model, run)
          assert.isString(answer.choices[0].message.content)
        }
        const program = said.slice(said.indexOf("  import {"), said.indexOf("official Python SDK"))
        const printed = yield* processOutput(process.execPath, ["--input-type=module", "--eval", program], examples)
        assert.notStrictEqual(printed.trim(), "")
      }).pipe(Effect.provide(NodeServices.layer)),
    120_000
  )

  it.live("says on one line which checkpoint cannot be served, and why", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const refused = (checkpoint: string) =>
        Effect.map(
          effectRl("serve --port 0 --checkpoints", `${folder}/served`, "--checkpoint", checkpoint),
          ({ stderr }) => stderr.trim()
        )
      assert.match(yield* refused("no-such-run"), /^.*--checkpoint no-such-run: neither the folder of a run[^\n]*$/)
      yield* effectRl(`train arithmetic --backend mock --iterations 1 ${short} --log-path`, `${folder}/mock`)
      assert.match(yield* refused(`${folder}/mock`), /its weights are at scripted:\/\/[^\n]*$/)
    }).pipe(Effect.provide(NodeServices.layer)), 120_000)
})
