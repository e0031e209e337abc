import { commandName } from "@effect-rl/cli/terminal/CommandName"
import * as PageServer from "@effect-rl/cli/view/PageServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { vi } from "vitest"
import * as CommandLine from "../CommandLine.ts"

const { displayTo, emptyFolder, run, runFolder, runOn, short } = CommandLine

/** Records a run of two iterations with additional flags. */
const record = Effect.fnUntraced(function*(...flags: ReadonlyArray<string>) {
  const folder = yield* runFolder
  const { out } = yield* run(...short.slice(0, -1), "2", "--iterations", "2", "--log-path", folder, ...flags)
  return { folder, out }
})

const recorded = record()

const bin = fileURLToPath(new URL("../../src/bin.ts", import.meta.url))

/** Starts a process and returns its first line of output. The process is interrupted with the scope, which waits for its end. */
const firstLine = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly kill: () => void; readonly line: string; readonly ended: Promise<number | null> }>(
      (resume) => {
        const child = spawn(process.execPath, ["--conditions=@effect-rl/source", bin, ...args], {
          stdio: ["ignore", "pipe", "ignore"],
          env: { ...process.env, ...env }
        })
        const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)))
        child.stdout.setEncoding("utf8").once("data", (text: string) =>
          resume(Effect.succeed({ line: text.trim(), kill: () => void child.kill("SIGINT"), ended })))
      }
    ),
    ({ ended, kill }) =>
      Effect.andThen(Effect.sync(kill), Effect.promise(() => ended))
  )

describe("effect-rl train", () => {
  it.effect("prints at the end how to open the page", () =>
    Effect.gen(function*() {
      const { folder, out } = yield* recorded
      assert.strictEqual(out.at(-1), `see it:  ${yield* commandName} view ${folder}`)
    }))
})

describe("effect-rl train --view", () => {
  it.effect("prints one address, which shows the live run", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { line } = yield* firstLine([...short, "--iterations", "1000", "--log-path", folder, "--view"])
      const [, url = ""] = /^page:\s+(http:\/\/\S+)$/m.exec(line) ?? []
      const [shown]: ReadonlyArray<object> = JSON.parse(
        yield* Effect.promise(async () => (await fetch(`${url}/api/runs`)).text())
      )
      assert.deepInclude(shown ?? {}, { run: folder, status: "running" })
    }).pipe(Effect.scoped))
})

describe("effect-rl runs", () => {
  it.effect("shows each run's verdict, iterations, reward and held-out score in 80 columns", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const [heading, line] = (yield* run("runs", dirname(folder))).out.slice(-2)
      assert.match(heading ?? "", /^run +verdict +iterations +reward +held out .*age$/)
      assert.match(line ?? "", /run +untold +2\/2 +0\.500 +49\.0 % .*\d+ (s|min)$/)
      assert.isAtMost(Math.max((heading ?? "").length, (line ?? "").length), 80)
    }))

  it.effect("explains below the table why a run cannot be read", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const broken = join(dirname(folder), "broken")
      mkdirSync(broken)
      writeFileSync(join(broken, "records.jsonl"), "{\"_tag\":\"Elevating\"}\n")
      const [heading, line, problem] = (yield* run("runs", dirname(folder))).out.slice(-3)
      assert.match(heading ?? "", /^run +verdict/)
      assert.match(line ?? "", /run +untold +2\/2/)
      assert.include(problem, `${broken} cannot be read: ${broken}/records.jsonl, line 1 is not a record of a run`)
      assert.include(problem, "its _tag is \"Elevating\", expected one of Opened, Sampling,")
    }))

  it.effect("shows dollars if the run had prices, and prints all numbers in JSON mode", () =>
    Effect.gen(function*() {
      const prices = join(dirname(yield* runFolder), "prices.yaml")
      writeFileSync(prices, "effect-rl/tiny-128: { prefill: 100, sample: 100, train: 100 }\n")
      const { folder } = yield* record("--prices", prices)
      const wide = yield* runOn(displayTo([], 200))("", "runs", dirname(folder))
      assert.match(wide.out.at(-1) ?? "", / \d+ k +\$\d+\.\d\d +\d+ (s|min)$/)
      const line = (yield* run("runs", dirname(folder), "--json")).out.at(-1) ?? ""
      const told: Record<string, unknown> = JSON.parse(line)
      assert.deepInclude(told, { type: "run", run: folder, status: "ended", reward: 0.5 })
    }))

  it.effect("marks an unfinished run without a process as killed", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const file = join(folder, "records.jsonl")
      const lines = readFileSync(file, "utf8").trimEnd().split("\n")
      writeFileSync(file, `${lines.filter((line) => !line.includes("\"Finished\"")).join("\n")}\n`)
      assert.match((yield* run("runs", dirname(folder))).out.at(-1) ?? "", /run +killed +2\/2/)
      assert.include((yield* run("show", folder)).out.join("\n"), "state       killed while")
    }))

  it.effect("says that a folder contains no run", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("runs", "packages")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(
        errors[0] ?? "",
        /^error: packages holds no run: expected a folder with records\.jsonl.*To make one: .* train arithmetic$/
      )
    }))
})

describe("effect-rl show", () => {
  it.effect("reports state, tokens, evaluations and sample transcripts", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const text = (yield* run("show", folder)).out.join("\n")
      assert.include(text, `${folder}  rl, effect-rl/tiny-128`)
      assert.include(text, "state       completed\niterations  2 of 2\n")
      assert.include(text, "reward      ▁▁ 0.500\nheld_out    ▁▁ 49.0 % → 49.0 %\n")
      assert.include(text, "health      informative 100 %, truncated 0 %")
      assert.match(text, /\ncommand {5}\S.* train arithmetic .*\nsettings {4}groupsPerBatch 2 \(default 32\), /)
      assert.include(text, `\naudit       not made here: the run is large; effect-rl audit ${folder} makes it\n`)
      assert.include(text, "failures    none\n")
      assert.include(text, "mean reward of each iteration")
      assert.include(text, "held_out (512)             49.0 %")
      assert.include(text, "  after 2 iterations, reward ")
    }))

  it.effect("prints one record in JSON mode", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const line = (yield* run("show", folder, "--json")).out.at(-1) ?? ""
      const told: Record<string, unknown> = JSON.parse(line)
      assert.deepInclude(told, { type: "run", run: folder, state: "completed", done: 2, reward: 0.5, failures: {} })
    }))

  it.effect("names a folder that contains no run", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("show", "packages")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors[0] ?? "", /this is not a run directory/)
    }))
})

describe("effect-rl view", () => {
  it.live("prints its address, serves the run, and ends on Ctrl-C while a browser follows", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const { ended, kill, line } = yield* firstLine(["view", folder])
      assert.match(line, /^http:\/\/127\.0\.0\.1:\d+$/)
      const query = `run=${encodeURIComponent(folder)}`
      yield* Effect.promise(async () => {
        const runs: ReadonlyArray<Record<string, unknown>> = JSON.parse(await (await fetch(`${line}/api/runs`)).text())
        assert.deepStrictEqual(runs.map(({ run }) => run), [folder])
        const following = await fetch(`${line}/api/events?${query}`)
        kill()
        assert.strictEqual(await ended, 130)
        await following.body?.cancel().catch(() => undefined)
      })
    }))

  it.live("listens on its default port, or on a free port after it", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const portOf = ({ line }: { readonly line: string }) => Number(new URL(line).port)
      const first = portOf(yield* firstLine(["view", folder]))
      const second = portOf(yield* firstLine(["view", folder]))
      // Other tests may use ports of this range at the same time.
      for (const port of [first, second]) assert.isAtLeast(port, PageServer.usualPort)
      assert.notStrictEqual(second, first)
    }).pipe(Effect.scoped))

  it.live("opens the page in a browser if asked to", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const place = yield* emptyFolder
      const opened = join(place, "opened")
      writeFileSync(
        join(place, "xdg-open"),
        `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`,
        { mode: 0o755 }
      )
      const { line } = yield* firstLine(["view", folder, "--open"], {
        PATH: `${place}${delimiter}${process.env["PATH"]}`
      })
      yield* Effect.promise(() => vi.waitFor(() => assert.strictEqual(readFileSync(opened, "utf8"), line), 20_000))
    }).pipe(Effect.scoped), { skip: process.platform !== "linux" })

  it.live("prints a usable address if it listens on all of the machine's addresses", () =>
    Effect.gen(function*() {
      const { folder } = yield* recorded
      const { line } = yield* firstLine(["view", folder, "--host", "0.0.0.0", "--port", "0"])
      assert.strictEqual(new URL(line).hostname, hostname().toLowerCase())
    }).pipe(Effect.scoped))

  it.live("serves an empty folder, in which runs may start later", () =>
    Effect.gen(function*() {
      const { line } = yield* firstLine(["view", yield* emptyFolder])
      const runs = yield* Effect.promise(async () => (await fetch(`${line}/api/runs`)).text())
      assert.strictEqual(runs, "[]")
    }).pipe(Effect.scoped))

  it.effect("says that a folder contains no run before it listens", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("view", "packages")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors[0] ?? "", /^error: packages holds no run/)
    }))
})
