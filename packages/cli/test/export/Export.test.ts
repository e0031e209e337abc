import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import * as CommandLine from "../CommandLine.ts"
import * as EarlierRuns from "../fixtures/EarlierRuns.ts"

const { run, runFolder, short } = CommandLine

describe("effect-rl export", () => {
  it.effect("writes a run for another tool, with tokens decoded by the run's tokenizer", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "2", "--log-path", folder)
      const file = join(dirname(folder), "chat.jsonl")
      const { exit, out } = yield* run("export", folder, file, "--format", "chat")
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(out.at(-1), `written: ${file}`)
      const [first = "", ...others] = readFileSync(file, "utf8").trimEnd().split("\n")
      assert.strictEqual(others.length, 15)
      const line: { readonly messages: ReadonlyArray<{ readonly content: string }> } = JSON.parse(first)
      assert.match(line.messages[0]?.content ?? "", /^What is \d+ \+ \d+\?/)
    }))

  it.effect("writes conversations that render to the recorded prompts, or lists the departures", () =>
    Effect.gen(function*() {
      const runs = yield* EarlierRuns.folder
      const departuresOf = Effect.fnUntraced(function*(kind: string) {
        const file = join(runs, `${kind}.jsonl`)
        yield* run("export", join(runs, kind), file, "--format", "chat")
        return readFileSync(file, "utf8").trimEnd().split("\n").map((line) => {
          const { departures }: { readonly departures: ReadonlyArray<{ readonly detail: string }> } = JSON.parse(line)
          return departures.map(({ detail }) => detail.replace(/^.*: /, ""))
        })
      })
      for (const kind of ["synchronous", "resumed", "asynchronous"]) {
        assert.deepStrictEqual([...new Set((yield* departuresOf(kind)).flat())], [], kind)
      }
      const tools = yield* departuresOf("tools")
      assert.deepStrictEqual([tools.length, tools.filter((found) => found.length === 0).length], [48, 25])
      assert.deepStrictEqual([...new Set(tools.flat())], [
        "the policy wrote the response of turn 0 otherwise than the renderer does"
      ])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("also lists departures in verifiers and cookbook exports and for a single rollout", () =>
    Effect.gen(function*() {
      const folder = join(yield* EarlierRuns.folder, "tools")
      const traces = join(dirname(folder), "traces.jsonl")
      yield* run("export", folder, traces, "--format", "verifiers")
      const lines: ReadonlyArray<{ readonly info: { readonly departures: ReadonlyArray<object> } }> = readFileSync(
        traces,
        "utf8"
      ).trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.strictEqual(lines.filter(({ info }) => info.departures.length > 0).length, 23)
      const cookbook = join(dirname(folder), "cookbook")
      yield* run("export", folder, cookbook, "--format", "cookbook")
      const trees = readdirSync(cookbook, { recursive: true, encoding: "utf8" }).filter((name) =>
        name.endsWith("logtree.json")
      )
      const told = trees.flatMap((name) =>
        readFileSync(join(cookbook, name), "utf8").match(/The prompt of turn 1, rendered again, differs/g) ?? []
      )
      assert.strictEqual(told.length, 23)
      const { out } = yield* run("show", folder, "--rollouts", "--limit", "100", "--json")
      const ids = out.filter((line) => line.startsWith("{\"type\":\"rollout\"")).map((
        line
      ): { readonly id: string } => JSON.parse(line)).map(({ id }) => id)
      // Only training rollouts are listed. Each command's output follows that of the previous commands.
      const shown = yield* Effect.forEach(ids, (id) => run("show", folder, "--rollout", id))
      const named = shown.at(-1)?.out.filter((line) =>
        line.startsWith("the prompt, rendered again from the messages, differs at token ")
      )
      assert.deepStrictEqual([ids.length, named?.length], [32, 16])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("writes a run as one page that loads nothing", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const file = join(dirname(folder), "pages", "page.html")
      assert.isTrue(Exit.isSuccess((yield* run("export", folder, file)).exit))
      const page = readFileSync(file, "utf8")
      assert.match(page, /^<!doctype html>/)
      assert.include(page, "content=\"default-src 'none'; script-src 'sha256-")
      assert.notMatch(page, /(?:src|href)="/)
    }))

  it.effect("requires --format if the file's name does not end in .html", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const file = join(dirname(folder), "run.xyz")
      const { errors, exit } = yield* run("export", folder, file)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(
        errors[0],
        `${file}, expected a file that ends in .html, or --format with what to write there: tensorboard`
      )
      assert.isFalse(existsSync(file))
    }))

  it.effect("names the file that could not be written, without internal names", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const { errors, exit } = yield* run("export", folder, join(folder, "records.jsonl", "page.html"))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), join(folder, "records.jsonl", "page.html"))
      assert.notInclude(errors.at(-1), "FileSystem.")
    }))

  it.effect("does not append a run to a file twice", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const file = join(dirname(folder), "records.jsonl")
      const command = ["export", folder, file, "--format", "jsonl"] as const
      assert.isTrue(Exit.isSuccess((yield* run(...command)).exit))
      const { errors, exit } = yield* run(...command)
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(errors.at(-1), `error: place is ${file}, which exists, expected a new file`)
    }))

  it.effect("names a folder that contains no run", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("export", "packages", "unused", "--format", "chat")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors.at(-1) ?? "", /this is not a run directory/)
    }))
})

describe("effect-rl train --sink", () => {
  it.effect("sends the run to other tools live", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const [events, trace] = [join(dirname(folder), "events"), join(dirname(folder), "trace.json")]
      const sinks = ["--sink", `tensorboard=${events}`, "--sink", `perfetto=${trace}`]
      const { errors, exit } = yield* run(...short, "--iterations", "1", "--log-path", folder, ...sinks)
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(errors, [])
      assert.deepStrictEqual(readdirSync(events), [basename(folder)])
      assert.include(readFileSync(trace, "utf8"), "rl.train 1")
    }))

  it.effect("continues without an unreachable sink, and says how to export the run later", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* run(
        ...short,
        "--iterations",
        "1",
        "--log-path",
        folder,
        "--sink",
        "jsonl=/dev/null/r"
      )
      assert.isTrue(Exit.isSuccess(exit))
      const text = [...out, readFileSync(join(folder, "run.log"), "utf8")].join("\n")
      assert.match(
        text,
        /jsonl did not take \d+ records; to write the whole run: .*effect-rl (-- )?export .* PLACE --format jsonl/
      )
    }))

  it.effect("refuses an unknown tool before the run starts", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { errors, exit } = yield* run(...short, "--log-path", folder, "--sink", "tensorbord=x")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors.at(-1) ?? "", /^error: --sink is "tensorbord", expected .*tensorboard/)
      assert.isFalse(existsSync(join(folder, "records.jsonl")))
    }))
})
