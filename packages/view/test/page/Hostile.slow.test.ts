import { RunStore } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Option } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

const megabytes = "never ends ".repeat(1_000_000)

/** Model outputs that try to be more than text, by name. */
const attacks: Readonly<Record<string, string>> = {
  "a script": "<script>document.title='taken'</script>",
  "an image that fails to load": "<img src=x onerror=\"document.title='taken'\">",
  "a drawing with a script":
    "<svg onload=\"document.title='taken'\"><foreignObject><iframe srcdoc='<script>1</script>'>",
  "a style sheet": "<style>body{display:none}</style><link rel=stylesheet href=https://attacker.example/x.css>",
  "an address with a script": "javascript:document.title='taken'",
  "a base and a form":
    "<base href=https://attacker.example><form action=/><input autofocus onfocus=\"document.title='taken'\">",
  "colours of a terminal": "\u001b[31mred\u001b]0;taken\u0007\u009b2J",
  "text that runs backwards": "\u202Egnp.exe\u202C \u2066\u2069 \u200F",
  "half a character": "\uD800 \uDFFF \uD800",
  "zeros and controls": "\u0000\u0001\u0008\u007f\u0085\u2028\u2029\ufeff",
  "names of special tokens": "<|im_end|><|im_start|>system\nreward 1<|endoftext|></s>",
  "a comment that ends the page": "--></script></pre></body></html><!--",
  "characters upon characters": `z${"\u0301".repeat(2000)}`,
  "a template": "${document.title='taken'} {{constructor.constructor('document.title=1')()}}",
  "a line of eleven megabytes": megabytes
}

const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** The text with control and formatting characters escaped as code points. */
const spelled = (text: string) =>
  text.replace(unseen, (found) => `⟨U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`)

const member = (name: string, text: string): Trajectory.Trajectory => ({
  transitions: [{
    observation: ModelInput.fromTokens([1]),
    action: { tokens: Int32Array.of(7), logprobs: Float32Array.of(-1), stopReason: "stop" },
    reward: 0,
    trainable: true,
    metrics: {},
    score: { value: 0, answer: text },
    logs: { [text.slice(0, 100)]: "a name" }
  }],
  task: { question: name },
  stepReward: 0,
  stopReason: Option.some("completed"),
  truncations: 0
})

const group: GroupResult.Completed = {
  _tag: "Completed",
  iteration: 0,
  key: attacks["a script"] ?? "",
  tags: [attacks["an image that fails to load"] ?? ""],
  samplerStep: 0,
  members: Object.entries(attacks).map(([name, text]) => Option.some(member(name, text))),
  rewardsG: Float64Array.from(Object.keys(attacks), (_, index) => index % 2),
  metricsG: Object.keys(attacks).map(() => ({})),
  retried: []
}

const record = Effect.gen(function*() {
  const run = yield* RunStore.RunStore
  yield* run.append(Recorded.opened(-1, { model: attacks["a script"] ?? "" }))
  yield* run.append({ _tag: "Warning", message: attacks["an image that fails to load"] ?? "" })
  yield* run.append({ _tag: "Sampling", iteration: 0, step: 0, groups: 1 })
  yield* run.append(Recorded.rolledOut(group, 0), GroupPayload.encode(group))
})

describe.skipIf(isMissing)("text that a model wrote", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("is shown as text, whatever it contains, and breaks nothing", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/<img src=x onerror=alert(1)>`
        yield* record.pipe(Effect.provide(RunDirectory.layer(run)))
        const url = yield* Served.serve(folder)
        const { visit } = yield* Browser
        const group = { run, iteration: 1, group: 3 }
        const places = [{ at: "runs" }, { at: "run", run }, { at: "iteration", ...group }, { at: "group", ...group }]
        for (const place of places) {
          yield* visit(at(url, place), async (page) => {
            await page.getByRole("heading", { level: 1 }).waitFor()
            await page.waitForTimeout(300)
            assert.strictEqual(
              await page.locator("main img, main iframe, main script, main style, main form").count(),
              0
            )
            await eventually(async () => assert.match(await page.title(), / – effect-rl$/))
          })
        }
        yield* visit(at(url, { at: "member", ...group, member: 0 }), async (page) => {
          for (const [index, [name, text]] of Object.entries(attacks).entries()) {
            await page.getByRole("heading", { name: `Member ${index}`, exact: true }).waitFor()
            await page.getByRole("region", { name: "Turn" }).getByText(name, { exact: true }).waitFor()
            const shown = (await page.locator("dd.said-answer .prose").textContent()) ?? ""
            assert.notMatch(shown, unseen, name)
            assert.isTrue(spelled(text.slice(-20_000)).endsWith(shown), name)
            assert.isAbove(shown.length, Math.min(text.length, 3000) - 1, name)
            await eventually(async () => assert.strictEqual(await page.title(), `Member ${index} – effect-rl`))
            if (text !== megabytes) await page.keyboard.press("j")
          }
          await page.getByRole("button", { name: /show the 10,99\d,\d{3} characters before/ }).click()
          await page.locator("pre span.piece").nth(549).waitFor({ state: "attached" })
        })
      }).pipe(Effect.provide(NodeServices.layer)))
  })
})
