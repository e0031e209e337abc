import { Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { run } from "./CommandLine.ts"

/** The help page, which is printed in one piece. */
const help = (...args: ReadonlyArray<string>) => Effect.map(run(...args, "--help"), ({ out }) => out.at(-1) ?? "")

/** The flags that a help page lists under a title. */
const flagsUnder = (page: string, title: string) => {
  const lines = page.split("\n")
  const rows = lines.slice(lines.indexOf(title) + 1)
  const end = rows.indexOf("")
  return rows.slice(0, end < 0 ? undefined : end).map((row) => row.trim().split(/[ ,]/)[0])
}

const verbsOf = (page: string) => Array.from(page.matchAll(/^ {2}([a-z]+) {2,}/gm), ([, verb = ""]) => verb)

describe("effect-rl train --help", () => {
  it.effect("lists frequently changed settings first, and the others under titles", () =>
    Effect.gen(function*() {
      const page = yield* help("train", "arithmetic")
      const first = flagsUnder(page, "FLAGS")
      assert.includeMembers(first, ["--model", "--learning-rate", "--iterations", "--group-size", "--loss", "--plan"])
      assert.isBelow(first.length, 30)
      assert.deepStrictEqual(flagsUnder(page, "Sampling:"), ["--top-p", "--top-k", "--allow-biased"])
      assert.include(flagsUnder(page, "Adapter:"), "--lora-rank")
      assert.include(flagsUnder(page, "Loss:"), "--clip-high")
      assert.include(flagsUnder(page, "Backend:"), "--workers")
    }))

  it.effect("lists each flag once", () =>
    Effect.gen(function*() {
      const page = yield* help("train", "arithmetic")
      const flags = Array.from(page.matchAll(/^ {2}(--[a-z0-9-]+)/gm), ([, flag]) => flag)
      assert.strictEqual(new Set(flags).size, flags.length)
      assert.isAbove(flags.length, 90)
    }))

  it.effect("lists a task's own settings among the first", () =>
    Effect.gen(function*() {
      assert.include(flagsUnder(yield* help("train", "guess-number"), "FLAGS"), "--range")
    }))

  it.effect("aligns the descriptions of a section", () =>
    Effect.gen(function*() {
      const page = yield* help("train", "arithmetic")
      const rows = page.split("\n").filter((line) => /^ {2}--(rolling-save|save-ttl|max-tokens-total)/.test(line))
      assert.strictEqual(new Set(rows.map((row) => row.search(/(?<= {2})[A-Z]/))).size, 1)
    }))

  it.effect("shows example commands for each recipe", () =>
    Effect.gen(function*() {
      for (const { name } of Recipes.all) {
        assert.include(yield* help("train", name), `effect-rl train ${name} --plan`)
      }
    }))
})

describe("effect-rl eval --help", () => {
  it.effect("lists the settings of a user's module and of an agent beside those of eval", () =>
    Effect.gen(function*() {
      const agent = fileURLToPath(new URL("agents/two-models.ts", import.meta.url))
      for (const named of [[agent], ["--agent", "node agent.js"]]) {
        const flags = flagsUnder(yield* help("eval", ...named), "FLAGS")
        assert.includeMembers(flags, ["--checkpoint", "--frozen", "--max-requests", "--agent-timeout"])
        assert.notInclude(flags, "--learning-rate")
        assert.strictEqual(new Set(flags).size, flags.length)
      }
    }))
})

describe("the help of every verb", () => {
  it.effect("has an example whose flags the verb has", () =>
    Effect.gen(function*() {
      const verbs = verbsOf(yield* help())
      assert.includeMembers(verbs, ["train", "eval", "play", "sample", "chat", "serve", "view", "show", "doctor"])
      for (const verb of verbs) {
        const page = yield* help(verb)
        const examples = page.slice(page.indexOf("EXAMPLES")).split("\n").filter((line) => line.includes("effect-rl "))
        assert.isAbove(examples.length, 0, verb)
        for (const example of examples) assert.include(example, `effect-rl ${verb}`)
        if (["train", "sweep", "play", "validate", "checkpoints"].includes(verb)) continue
        for (const [flag] of examples.join(" ").matchAll(/--[a-z-]+/g)) assert.include(page, `  ${flag}`, verb)
      }
    }))
})
