import { type RunRecord, RunStore } from "@effect-rl/core"
import { GroupVerdict, Runs, Status, Story, Timeline } from "@effect-rl/view"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Recorded from "../Recorded.ts"

const told = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Effect.gen(function*() {
    const run = yield* RunStore.RunStore
    yield* Effect.forEach(entries, (entry) => run.append(entry))
    return Story.fromEntries((yield* Stream.runCollect(run.read)).map(Runs.entry))
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

describe("Story", () => {
  it.effect("leaves out the records that a resume abandoned", () =>
    Effect.gen(function*() {
      const { opened, updated } = Recorded
      const story = yield* told([opened(-1), updated(0, 0.1), updated(1, 0.2), opened(1), updated(1, 0.9)])
      assert.deepStrictEqual(Story.iterations(story).map(({ updated }) => updated?.reward?.mean), [0.1, 0.9])
      assert.strictEqual(Story.done(story), 2)
      assert.deepStrictEqual(story.notices.map(({ text }) => text), ["resumed from first at iteration 0"])
    }))

  it.effect("has each group of an evaluation once, where the evaluation was cut short and repeated", () =>
    Effect.gen(function*() {
      const evaluating: RunRecord.Entry = { _tag: "Evaluating", iteration: 1, step: 1, evaluator: "held_out" }
      const group = Recorded.simple(1, "sum", "held_out")
      const { opened, updated } = Recorded
      const story = yield* told([opened(-1), updated(0, 0.1), evaluating, group, opened(3), evaluating, group])
      assert.strictEqual(Story.evaluation(story, "held_out", 1).groups.length, 1)
    }))

  it.effect("finds what became of a group in an update of a later iteration, and why it was left out", () =>
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
      const story = yield* told([Recorded.opened(-1), Recorded.simple(0, "a"), Recorded.simple(1, "b"), credited])
      const [early, late] = [0, 1].map((index) => Story.iteration(story, index).groups[0] ?? assert.fail("no group"))
      assert.deepStrictEqual(early && Story.advantages(story, early), [0.5, -0.5])
      assert.strictEqual(early && Story.credit(story, early)?.update, 1)
      assert.strictEqual(late && Story.credit(story, late)?.reason, "tampering: a text asks for a score")
      assert.deepStrictEqual(story.notices.map(({ text }) => text), [
        "iteration 1: quarantined 1 of 2 groups, tampering: a text asks for a score"
      ])
    }))

  it.effect("counts failures by their kind", () =>
    Effect.gen(function*() {
      const failure = { member: 0, attempt: 0, failure: "TimedOut", message: "after 5 s" }
      const story = yield* told([Recorded.opened(-1), {
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

describe("Timeline", () => {
  it.effect("leaves out the time in which no process wrote the run", () =>
    Effect.gen(function*() {
      const { opened, simple, updated } = Recorded
      const sampling = (iteration: number): RunRecord.Entry => ({
        _tag: "Sampling",
        iteration,
        step: iteration,
        groups: 1
      })
      const first = [opened(-1), sampling(0), simple(0, "a"), updated(0, 0.5)]
      const second = [opened(3), sampling(1), simple(1, "b"), updated(1, 0.5)]
      const { entries } = yield* told([...first, ...second])
      const at = [0, 0, 900, 1000, 600_000, 600_000, 600_900, 601_000]
      const story = Story.fromEntries(entries.map((entry, index) => ({ ...entry, at: at[index] ?? 0 })))
      const timeline = Timeline.make(Story.iterations(story), Story.evaluations(story), story.pauses)
      assert.strictEqual(timeline === undefined ? 0 : timeline.to - timeline.from, 2000)
      assert.strictEqual(timeline?.shares.sampling, 0.9)
      assert.deepStrictEqual(timeline?.lanes.sampling.map(({ from }) => from), [0, 1000])
    }))
})

describe("Status", () => {
  it.effect("says what the run is doing, and how long it has been silent", () =>
    Effect.gen(function*() {
      const story = yield* told([
        Recorded.opened(-1),
        { _tag: "Sampling", iteration: 0, step: 0, groups: 4 }
      ])
      assert.strictEqual(Status.of(story, 0), "sampling iteration 0: 0 of 4 groups")
      assert.strictEqual(Status.of(story, 600_000), "sampling iteration 0: 0 of 4 groups; no record for 10 min")
      assert.strictEqual(Status.of(story, 0, false), "killed while sampling iteration 0: 0 of 4 groups")
    }))
})

describe("GroupVerdict", () => {
  it("classifies groups by their rewards", () => {
    const group = (...rewards: ReadonlyArray<number | null>) => ({ outcome: "Completed" as const, rewards })
    assert.strictEqual(GroupVerdict.verdict(group(1, 0)), "informative")
    assert.strictEqual(GroupVerdict.verdict(group(1, null, 1)), "good")
    assert.strictEqual(GroupVerdict.verdict(group(0, 0)), "bad")
    assert.strictEqual(GroupVerdict.verdict(group(null)), "skipped")
  })
})
