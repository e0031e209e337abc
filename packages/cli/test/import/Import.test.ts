import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const user = (content: string) => ({ role: "user", content })

const line = (question: string, content: string, before: ReadonlyArray<object> = []) =>
  JSON.stringify({
    request: { model: "gpt-5", messages: [...before, user(question)] },
    response: { choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }] }
  })

const key = `sk-${"4f9d8c7b6a5e"}4d3c2b1a`

/** A folder with a log, and the files that an import writes. */
const folder = Effect.fnUntraced(function*(...lines: ReadonlyArray<string>) {
  const root = join(yield* runFolder, "..")
  const logs = join(root, "logs", "today")
  mkdirSync(logs, { recursive: true })
  writeFileSync(join(logs, "chat.jsonl"), lines.join("\n"))
  return { logs: join(root, "logs"), out: join(root, "train.jsonl"), pairs: join(root, "pairs.jsonl"), root }
})

const rowsOf = (file: string): ReadonlyArray<unknown> =>
  readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))

describe("effect-rl import", () => {
  it.effect("writes the conversations of a folder, once each, without secrets and held-out questions", () =>
    Effect.gen(function*() {
      const answered = [user("Name a lake."), { role: "assistant", content: "Ohrid" }]
      const { logs, out, pairs, root } = yield* folder(
        line("Name a lake.", "Ohrid"),
        line("Name a lake.", "Lake Bob"),
        line("Another.", `Prespa ${key}`, answered),
        line("Be brief. What is the capital of Peru?", "Lima"),
        JSON.stringify({ request: { messages: [user("Hi")] }, response: { error: { message: "overloaded" } } })
      )
      const heldOut = join(root, "test.jsonl")
      writeFileSync(heldOut, JSON.stringify({ question: "What is the  capital of peru?" }))
      const ran = yield* run("import", logs, out, "--held-out", heldOut, "--preferences", pairs)
      assert.deepStrictEqual(ran.out, [
        "read: 5 rows of 1 files",
        "left out: 1 that another one repeats or continues, 1 held out, 1 of failed requests",
        "redacted: 1 OpenAI key",
        `written: ${out}, 2 conversations`,
        `written: ${pairs}, 1 pairs`
      ])
      const assistant = (content: string) => ({ role: "assistant", content })
      assert.deepStrictEqual(rowsOf(out), [
        { messages: [user("Name a lake."), assistant("Lake Bob")] },
        { messages: [...answered, user("Another."), assistant("Prespa [redacted]")] }
      ])
      assert.deepStrictEqual(rowsOf(pairs), [
        { prompt: [user("Name a lake.")], chosen: [assistant("Ohrid")], rejected: [assistant("Lake Bob")] }
      ])
    }))

  it.effect("writes only to new files, and never twice to the same file", () =>
    Effect.gen(function*() {
      const { logs, out, pairs } = yield* folder(line("Name a lake.", "Ohrid"))
      const same = yield* run("import", logs, out, "--preferences", out)
      assert.strictEqual(
        same.errors.at(-1),
        `error: preferences is ${out}, where the conversations go, expected another file`
      )
      writeFileSync(pairs, "kept")
      const existing = yield* run("import", logs, out, "--preferences", pairs)
      assert.strictEqual(existing.errors.at(-1), `error: preferences is ${pairs}, which exists, expected a new file`)
      assert.isFalse(existsSync(out))
      const { errors } = yield* run("import", logs, pairs)
      assert.strictEqual(errors.at(-1), `error: place is ${pairs}, which exists, expected a new file`)
      assert.strictEqual(readFileSync(pairs, "utf8"), "kept")
    }))

  it.effect("names the file, the row and the field of a row that cannot be read, and writes nothing", () =>
    Effect.gen(function*() {
      const { logs, out } = yield* folder(line("Name a lake.", "Ohrid"), "{\"request\": 7, \"response\": {}}")
      const { errors, exit } = yield* run("import", logs, out)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "chat.jsonl, row 2")
      assert.include(errors.join("\n"), "request")
      assert.isFalse(existsSync(out))
      assert.include((yield* run("import", logs, out, "--skip-invalid")).out.join("\n"), "1 conversations")
    }))
})
