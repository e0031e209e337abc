import { RunRecord, RunStore } from "@effect-rl/core"
import { Recorded, Story, StoryReader } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

const spent = { prefilled: 1, sampled: 2, trained: 3 }

const opened = (continuesAfter: number): RunRecord.Entry => ({
  _tag: "Opened",
  program: "rl",
  version: "0.0.0",
  identity: {},
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: 3,
  resumedFrom: continuesAfter < 0 ? null : "first",
  continuesAfter,
  warnings: []
})

const updated = (iteration: number, mean: number): RunRecord.Entry => ({
  _tag: "Updated",
  iteration,
  metrics: {},
  reward: { mean },
  updates: [],
  spent
})

const summary = { turns: 1, sampled: 1, observed: 1, stopReason: null, truncated: false }

const group = (iteration: number, key: string, evaluator?: string): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  ...(evaluator === undefined ? {} : { evaluator }),
  iteration,
  step: iteration,
  key,
  tags: ["sums"],
  outcome: "Completed",
  rewards: [1, 0],
  members: [summary, summary],
  failures: [],
  retries: 0,
  milliseconds: 1,
  spent
})

const evaluating = (iteration: number): RunRecord.Entry => ({
  _tag: "Evaluating",
  iteration,
  step: iteration,
  evaluator: "held_out"
})

const told = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Effect.gen(function*() {
    const run = yield* RunStore.RunStore
    yield* Effect.forEach(entries, (entry) => run.append(entry))
    return yield* StoryReader.read(run)
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

/** The story of a recorded run in `fixtures/verdicts`. */
const planted = (name: string) => {
  const file = join(import.meta.dirname, "..", "fixtures", "verdicts", `${name}.jsonl.gz`)
  const [, ...lines] = gunzipSync(readFileSync(file)).toString().split("\n")
  const decode = Schema.decodeUnknownSync(RunRecord.codec)
  return Story.fromRecords(lines.map((line) => Recorded.make(decode(JSON.parse(line)))))
}

describe("Story.groupsOf", () => {
  it.each(["good-0", "good-async", "held-good-async"])(
    "lists groups with the mean reward that each update of %s reports",
    (name) => {
      const story = planted(name)
      for (const { index, updated } of Story.iterations(story)) {
        const rewards = Story.groupsOf(story, index).flatMap((group) => group.rewards)
        if (updated !== undefined) {
          assert.closeTo(
            rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
            updated.reward?.mean ?? NaN,
            1e-9
          )
        }
      }
    }
  )
})

describe("Story", () => {
  it.effect("omits records that a resume abandoned", () =>
    Effect.gen(function*() {
      const story = yield* told([opened(-1), updated(0, 0.1), updated(1, 0.2), opened(1), updated(1, 0.9)])
      assert.deepStrictEqual(Story.iterations(story).map(({ updated }) => updated?.reward?.mean), [0.1, 0.9])
      assert.strictEqual(Story.done(story), 2)
      assert.deepStrictEqual(story.notices.map(({ text }) => text), ["resumed from first after 0 iterations"])
    }))

  it.effect("has each group of an evaluation once, even if the evaluation was interrupted and repeated", () =>
    Effect.gen(function*() {
      const measured = [evaluating(1), group(1, "sum", "held_out")]
      const story = yield* told([opened(-1), updated(0, 0.1), ...measured, opened(3), ...measured])
      assert.strictEqual(Story.evaluation(story, "held_out", 1).groups.length, 1)
    }))

  it.effect("lists an evaluator as soon as it begins, and leaves out a program's own validation groups", () =>
    Effect.gen(function*() {
      const begun = yield* told([opened(-1), group(0, "sum", "validation"), evaluating(0)])
      assert.deepStrictEqual(Story.evaluators(begun), ["held_out"])
      assert.lengthOf(Story.evaluation(begun, "validation", 0).groups, 1)
    }))

  it.effect("finds a group's credit in a later iteration's update, and the reason for its omission", () =>
    Effect.gen(function*() {
      const credited: RunRecord.Entry = {
        _tag: "Credited",
        iteration: 1,
        groups: [
          { key: "a", verdict: "informative", advantages: [0.5, -0.5], iteration: 0 },
          { key: "b", verdict: "quarantined", reason: "tampering: a text asks for a score", advantages: [] }
        ],
        datums: []
      }
      const story = yield* told([opened(-1), group(0, "a"), group(1, "b"), credited])
      const [early, late] = [0, 1].map((index) => Story.iteration(story, index).groups[0] ?? assert.fail("no group"))
      assert.deepStrictEqual(early && Story.advantages(story, early), [0.5, -0.5])
      assert.strictEqual(early && Story.credit(story, early)?.update, 1)
      assert.strictEqual(late && Story.credit(story, late)?.reason, "tampering: a text asks for a score")
      assert.deepStrictEqual(story.notices.map(({ text }) => text), [
        "iteration 2: quarantined 1 of 2 groups, tampering: a text asks for a score"
      ])
    }))

  it.effect("orders a batch's groups as updates list them, then by key, regardless of their end", () =>
    Effect.gen(function*() {
      const credit = (key: string, iteration: number) => ({
        key,
        verdict: "informative" as const,
        advantages: [0.5, -0.5],
        iteration
      })
      const story = yield* told([
        opened(-1),
        group(0, "late"),
        group(0, "z"),
        group(0, "held", "held_out"),
        group(0, "a"),
        group(0, "early"),
        { _tag: "Credited", iteration: 0, groups: [credit("early", 0)], datums: [] },
        { _tag: "Credited", iteration: 1, groups: [credit("late", 0)], datums: [] }
      ])
      assert.deepStrictEqual(
        Story.batches(story).map(({ evaluator, groups }) => [evaluator, ...groups.map(({ key }) => key)]),
        [[undefined, "early", "late", "a", "z"], ["held_out", "held"]]
      )
      assert.deepStrictEqual(Story.updateGroups(story, 1).map(({ key }) => key), ["late"])
    }))

  it.effect("leaves out the datums of records, which would take as much memory as all members", () =>
    Effect.gen(function*() {
      const datum = { group: "a", member: 0, firstTurn: 0, turns: 1, length: 4, trained: 2, update: 0 }
      const story = yield* told([{ _tag: "Credited", iteration: 0, groups: [], datums: [datum] }])
      assert.notProperty(story.records[0], "datums")
    }))

  it.effect("counts failures by kind", () =>
    Effect.gen(function*() {
      const failure = { member: 0, attempt: 0, failure: "TimedOut", message: "after 5 s" }
      const story = yield* told([opened(-1), {
        _tag: "GroupRolledOut",
        iteration: 0,
        step: 0,
        key: "a",
        tags: [],
        outcome: "Partial",
        rewards: [NaN, 1],
        members: [null, { turns: 1, sampled: 1, observed: 1, stopReason: null, truncated: false }],
        failures: [failure],
        retries: 2,
        milliseconds: 1,
        spent: { prefilled: 1, sampled: 2, trained: 3 }
      }])
      assert.deepStrictEqual([...story.failures], [["TimedOut", 1], ["retried", 2]])
      assert.strictEqual(Story.tokens(story), 6)
    }))
})

describe("GroupVerdict", () => {
  it("classifies groups by their rewards", () => {
    const group = (...rewards: ReadonlyArray<number | null>) => ({ outcome: "Completed" as const, rewards })
    assert.strictEqual(Story.verdict(group(1, 0)), "informative")
    assert.strictEqual(Story.verdict(group(1, null, 1)), "good")
    assert.strictEqual(Story.verdict(group(0, 0)), "bad")
    assert.strictEqual(Story.verdict(group(null)), "skipped")
  })
})
