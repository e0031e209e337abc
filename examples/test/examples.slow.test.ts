// Runs every example as a user would, in a temporary folder, and checks what it prints.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"
import { ChildProcess } from "effect/process"

const sources = new URL("../src/", import.meta.url)

const run = Effect.fnUntraced(function*(example: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(yield* path.fromFileUrl(sources), example)
  const cwd = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rl-example-" })
  const child = yield* ChildProcess.make(process.execPath, ["--conditions=@effect-rl/source", file], { cwd })
  const lines = yield* child.all.pipe(Stream.decodeText(), Stream.splitLines, Stream.runCollect)
  assert.strictEqual(yield* child.exitCode, 0, lines.join("\n"))
  return lines
}, Effect.scoped)

/** The first capture group of the pattern as a number, for each line that matches. */
const found = (lines: ReadonlyArray<string>, pattern: RegExp) =>
  lines.flatMap((line) => pattern.exec(line)?.[1] ?? []).map(Number)

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

/** Checks that an agent's run prints ten iterations, and that the mean reward of the last four exceeds that of the first four by 0.1. */
const learned = (lines: ReadonlyArray<string>) => {
  const rewards = found(lines, /^iteration \d+: reward ([\d.]+)$/)
  assert.strictEqual(rewards.length, 10)
  assert.isAbove(mean(rewards.slice(-4)), mean(rewards.slice(0, 4)) + 0.1)
}

const expectations: Readonly<Record<string, (lines: ReadonlyArray<string>) => void>> = {
  "01-first-rl.ts": (lines) => {
    const rewards = found(lines, /^Step +\d+ \| reward: ([\d.]+) \| degenerate: \d+% \| datums: \d+$/)
    assert.strictEqual(rewards.length, 10)
    assert.isAbove(mean(rewards.slice(-3)), mean(rewards.slice(0, 3)) + 0.2)
  },
  "02-abstractions.ts": (lines) => {
    assert.include(lines, "Reward: 0.9")
    assert.include(lines, "Training for 4 iterations, LR=1.00e-3")
    assert.deepStrictEqual(found(lines, /^Iteration (\d+): mean_reward=-?[\d.]+, datums=\d+$/), [0, 1, 2, 3])
    const rewards = lines.find((line) => line.startsWith("Rewards:"))?.slice("Rewards:".length).split(",").map(Number)
    const advantages = lines.find((line) => line.startsWith("Advantages:"))?.slice("Advantages:".length).split(",")
    assert.isDefined(rewards)
    assert.deepStrictEqual(
      advantages?.map(Number),
      rewards.map((reward) => Number((reward - mean(rewards)).toFixed(3)))
    )
  },
  "03-embed.ts": (lines) => {
    const rewards = found(lines, /^iteration \d+: reward (-?[\d.]+)$/)
    assert.isAtLeast(rewards.at(-1) ?? NaN, 0.6)
    assert.include(lines.join("\n"), "saved after")
  },
  "04-cassette.ts": (lines) => {
    const rewards = found(lines, /^iteration \d+: reward ([\d.]+), \d+ datums$/)
    assert.strictEqual(rewards.length, 5)
    assert.isAbove(rewards.at(-1) ?? NaN, rewards.at(0) ?? NaN)
    assert.strictEqual(lines.at(-1), "not recorded: learningRate is 0.002, recorded 0.001")
  },
  "05-guess-number.ts": (lines) => {
    const rewards = found(lines, /-> .* \((-?\d)\)$/)
    assert.include(lines, "Guess: 639 -> Too low (0)")
    assert.strictEqual(lines.at(-2), "Guess: 687 -> Correct (1)")
    const total = rewards.reduce((sum, reward) => sum + reward, 0)
    assert.strictEqual(lines.at(-1), `reward ${total} after ${rewards.length} turns`)
  },
  "06-calculator.ts": (lines) => {
    const rewards = found(lines, /^iteration \d: reward ([\d.]+), calculator used in 0.5 of all episodes$/)
    assert.deepStrictEqual(rewards, [0.5, 0.5, 0.5])
  },
  "07-self-play.ts": (lines) => {
    const o = found(lines, /^match \d+: O (-?\d), X -?\d$/)
    const x = found(lines, /^match \d+: O -?\d, X (-?\d)$/)
    assert.strictEqual(o.length, 20)
    for (const [match, reward] of o.entries()) {
      assert.include(["1,-1", "-1,1", "0,0", "-2,0", "0,-2"], `${reward},${x[match]}`)
    }
  },
  "08-sl-loop.ts": (lines) => {
    const nll = found(lines, /^Step \d \| NLL: ([\d.]+) \| learning rate: \d\.\de-\d$/)
    assert.strictEqual(nll.length, 10)
    assert.isBelow(nll.at(-1) ?? NaN, (nll.at(0) ?? NaN) / 2)
  },
  "09-own-backend.ts": (lines) => {
    const rewards = lines.at(-1)?.split(" ").map(Number) ?? []
    assert.strictEqual(rewards.length, 30)
    assert.isAbove(rewards.at(-1) ?? NaN, 0.9)
  },
  "10-replay.ts": (lines) => {
    const rewards = lines.at(-1)?.split(" ").map(Number) ?? []
    assert.strictEqual(rewards.length, 20)
    assert.isAbove(rewards.at(-1) ?? NaN, 0.8)
  },
  "11-gigpo.ts": (lines) => {
    const rewards = found(lines, /^(-?\d\.\d{3})$/)
    assert.strictEqual(rewards.length, 10)
    assert.isAbove(mean(rewards.slice(-3)), mean(rewards.slice(0, 3)) + 0.1)
  },
  "12-agent.ts": learned,
  "13-tool-loop-agent.ts": learned,
  "14-openai-agents.ts": learned,
  "15-langgraph.ts": learned,
  // A module to copy, without a program. 16-own-renderer.test.ts tests it.
  "16-own-renderer.ts": (lines) => assert.deepStrictEqual(lines, [])
}

layer(NodeServices.layer)("examples", (it) => {
  it.effect("each have an expectation in this file", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      assert.sameMembers(yield* fs.readDirectory(yield* path.fromFileUrl(sources)), Object.keys(expectations))
    }))

  for (const [example, expectation] of Object.entries(expectations)) {
    it.effect(example, () => Effect.map(run(example), expectation), { concurrent: false })
  }
})
