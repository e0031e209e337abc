import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

/** Records a run of two iterations with two groups of four. */
const recorded = Effect.gen(function*() {
  const folder = yield* runFolder
  yield* run(...short, "--iterations", "2", "--log-path", folder)
  return folder
})

/** The recorded durations in a payload. */
const timed = /,"(?:times|grading)":\{[^}]*\}/g

const json = (out: ReadonlyArray<string>): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  out.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))

describe("effect-rl show --rollouts", () => {
  it.effect("lists the newest rollouts with reward, advantage and stop reason", () =>
    Effect.gen(function*() {
      const folder = yield* recorded
      const { out } = yield* run("show", folder, "--rollouts", "--limit", "3")
      const start = out.findIndex((line) => line.startsWith("rollout"))
      assert.match(out[start] ?? "", /^rollout +iteration +group +member +reward +advantage +turns +tokens +ended$/)
      assert.match(out[start + 3] ?? "", /^\d+\.3 +2 +\S+ +3 +[01]\.000 +-?0\.500 +1 +\d+ +completed$/)
      assert.strictEqual(out[start + 4], "the newest 3 of 16; --limit shows more")
    }))

  it.effect("lists the rollouts that match all filters", () =>
    Effect.gen(function*() {
      const folder = yield* recorded
      const filters = ["--iteration", "1", "--min-reward", "0.5", "--stop-reason", "completed"]
      const rollouts = json((yield* run("show", folder, "--rollouts", "--json", ...filters)).out)
      assert.deepStrictEqual(rollouts.map(({ iteration, reward }) => [iteration, reward]), Array(4).fill([1, 1]))
    }))
})

describe("effect-rl show --rollout", () => {
  it.effect("shows one rollout in full", () =>
    Effect.gen(function*() {
      const folder = yield* recorded
      const [first] = json((yield* run("show", folder, "--rollouts", "--json", "--limit", "1")).out).slice(-1)
      const { out } = yield* run("show", folder, "--rollout", String(first?.["id"]))
      const text = out.join("\n")
      assert.match(text, /member 3, iteration 2\nreward [01]\.000, ended by completed\nreference \d+\n\nturn 0 /)
      assert.match(text, /user\n {2}What is \d+ \+ \d+\?.*\nresponse\n {2}\S/)
    }))

  it.effect.each([["999.0", "which"], [
    "first",
    "\"first\", expected a rollout as --rollouts lists them, such as 1063.2"
  ]])(
    "says that there is no rollout %s",
    ([id, problem]) =>
      Effect.gen(function*() {
        const { errors, exit } = yield* run("show", yield* recorded, "--rollout", id ?? "")
        assert.isTrue(Exit.isFailure(exit))
        assert.include(errors.at(-1), `error: --rollout is ${problem === "which" ? id : problem}`)
      })
  )

  it.effect("suggests a run if it is given a folder of runs", () =>
    Effect.gen(function*() {
      const folder = yield* recorded
      const { errors } = yield* run("show", dirname(folder))
      assert.include(errors.at(-1), `this is a folder of runs, expected one of them, such as ${folder}`)
    }))
})

describe("effect-rl audit", () => {
  it.effect("succeeds if nothing is found", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("audit", yield* recorded)
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(out.at(-1), "nothing found")
    }))

  it.effect("fails if rollouts are suspected, links to them, and writes them to a file", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const large = short.map((arg) => arg === "4" ? "8" : arg)
      yield* run(...large, "--iterations", "1", "--log-path", folder)
      const file = join(dirname(folder), "quarantine.jsonl")
      const { errors, exit, out } = yield* run("audit", folder, "--quarantine", file)
      assert.isTrue(Exit.isFailure(exit))
      // Four of the eight members answer "unknown". At the mock's −0.5 nats per token, four equal answers of this length are improbable.
      assert.match(
        errors.at(-1) ?? "",
        new RegExp(`^error: ${folder}: \\d+ findings? \\(duplicates\\); read the transcripts`)
      )
      const link = /effect-rl (?:-- )?(show .*)/.exec(out.join("\n"))?.[1]?.split(" ") ?? []
      assert.isTrue(Exit.isSuccess((yield* run(...link)).exit))
      const [line = ""] = readFileSync(file, "utf8").split("\n")
      assert.match(JSON.parse(line).found[0], /^duplicates: /)
    }))
})

describe("effect-rl train --audit", () => {
  it.effect("reports findings during the run without changing it", () =>
    Effect.gen(function*() {
      const [folder, plain] = [yield* runFolder, yield* runFolder]
      const large = short.map((arg) => arg === "4" ? "8" : arg)
      const { exit, out } = yield* run(...large, "--iterations", "1", "--log-path", folder, "--audit")
      assert.isTrue(Exit.isSuccess(exit))
      assert.isTrue(out.some((line) => /^iteration 1, group .*: duplicates: /.test(line)))
      yield* run(...large, "--iterations", "1", "--log-path", plain)
      const payloads = (from: string) =>
        readFileSync(join(from, "payloads.jsonl"), "utf8").replaceAll(timed, "").split("\n").toSorted()
      assert.deepStrictEqual(payloads(folder), payloads(plain))
    }))
})

describe("effect-rl train --quarantine", () => {
  it.effect("does not train on groups that an audit suspects, and records the suspicion", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const large = short.map((arg) => arg === "4" ? "8" : arg)
      yield* run(...large, "--iterations", "1", "--log-path", folder, "--quarantine")
      const { groups, datums } = json(readFileSync(join(folder, "records.jsonl"), "utf8").split("\n"))
        .find(({ _tag }) => _tag === "Credited") ?? assert.fail("nothing was credited")
      const suspected = (Array.isArray(groups) ? groups : []).filter(({ verdict }) => verdict === "quarantined")
      assert.isAbove(suspected.length, 0)
      for (const { advantages, key, reason } of suspected) {
        assert.match(reason, /^duplicates: /)
        assert.deepStrictEqual(advantages, [])
        assert.isFalse((Array.isArray(datums) ? datums : []).some(({ group }) => group === key))
      }
      const { out } = yield* run("show", folder)
      assert.isTrue(out.some((line) => line.includes(`quarantined ${suspected.length}`)))
    }))
})
