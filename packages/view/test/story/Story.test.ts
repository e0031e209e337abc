import { RunRecord, RunStore } from "@effect-rl/core"
import { Recorded as RecordedEntry, Story, StoryReader } from "@effect-rl/core/records"
import { Status, Timeline } from "@effect-rl/view"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import * as Recorded from "../Recorded.ts"

const told = (entries: ReadonlyArray<RunRecord.Entry>) =>
  Effect.gen(function*() {
    const run = yield* RunStore.RunStore
    yield* Effect.forEach(entries, (entry) => run.append(entry))
    return yield* StoryReader.read(run)
  }).pipe(Effect.provide(RunStore.RunStore.layerMemory))

describe("Timeline", () => {
  it.effect("leaves out pauses in which no process wrote the run", () =>
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
      const { records } = yield* told([...first, ...second])
      const at = [0, 0, 900, 1000, 600_000, 600_000, 600_900, 601_000]
      const story = Story.fromRecords(records.map((record, index) => ({ ...record, at: at[index] ?? 0 })))
      const timeline = Timeline.make(Story.iterations(story), Story.evaluations(story), story.pauses)
      assert.strictEqual(timeline === undefined ? 0 : timeline.to - timeline.from, 2000)
      assert.strictEqual(timeline?.shares.sampling, 0.9)
      assert.deepStrictEqual(timeline?.lanes.sampling.map(({ from }) => from), [0, 1000])
    }))
})

describe("Timeline of an asynchronous run", () => {
  it.effect("has shares of at most 100 % if stages overlap and sampling is recorded repeatedly", () =>
    Effect.gen(function*() {
      const { opened, simple, updated } = Recorded
      const sampling: RunRecord.Entry = { _tag: "Sampling", iteration: 0, step: 0, groups: 1 }
      const evaluating: RunRecord.Entry = { _tag: "Evaluating", iteration: 0, step: 0, evaluator: "held_out" }
      const evaluated: RunRecord.Entry = {
        _tag: "Evaluated",
        iteration: 0,
        step: 0,
        evaluator: "held_out",
        metrics: {},
        seconds: 1,
        spent: { prefilled: 0, sampled: 0, trained: 0 }
      }
      const entries = [opened(-1), evaluating, simple(0, "a"), sampling, evaluated, updated(0, 0.5)]
      const { records } = yield* told(entries)
      // The group starts at 0, the evaluation lasts as long as the run, and the newest sampling record comes late.
      const at = [0, 0, 600, 900, 1000, 1000]
      const story = Story.fromRecords(records.map((record, index) => ({
        ...record,
        at: at[index] ?? 0,
        ...(record._tag === "GroupRolledOut" ? { milliseconds: 600 } : {})
      })))
      const timeline = Timeline.make(Story.iterations(story), Story.evaluations(story))
      assert.deepStrictEqual(timeline?.shares, { sampling: 0.3, training: 0, evaluation: 0.7 })
    }))
})

const verdicts = join(import.meta.dirname, "../../../core/test/fixtures/verdicts")

/** The story of a recorded run from core's `fixtures/verdicts`. */
const planted = (file: string) => {
  const [, ...lines] = gunzipSync(readFileSync(join(verdicts, file))).toString().split("\n")
  return Story.fromRecords(lines.map((line) => RecordedEntry.make(decode(JSON.parse(line)))))
}

const decode = Schema.decodeUnknownSync(RunRecord.codec)

describe("Timeline of a recorded run", () => {
  it.each(readdirSync(verdicts))(
    "has shares of at most 100 % for %s, as a whole and in its last iterations",
    (file) => {
      const story = planted(file)
      for (const iterations of [Story.iterations(story), Story.iterations(story).slice(-3)]) {
        const shares = Timeline.make(iterations, Story.evaluations(story), story.pauses)?.shares
        const values = shares === undefined ? [] : Object.values(shares)
        assert.isTrue(values.every((share) => share >= 0 && share <= 1), JSON.stringify(shares))
        assert.isAtMost(values.reduce((sum, share) => sum + share, 0), 1 + 1e-9)
      }
    }
  )
})

describe("Status", () => {
  it.effect("shows the run's activity, and how long it has been silent", () =>
    Effect.gen(function*() {
      const story = yield* told([
        Recorded.opened(-1),
        { _tag: "Sampling", iteration: 0, step: 0, groups: 4 }
      ])
      assert.strictEqual(Status.of(story, 0), "sampling iteration 1: 0 of 4 groups")
      assert.strictEqual(Status.of(story, 600_000), "sampling iteration 1: 0 of 4 groups; no record for 10 min")
      assert.strictEqual(Status.of(story, 0, false), "killed while sampling iteration 1: 0 of 4 groups")
    }))

  it.effect("counts the groups that were sampled before a proposal added more", () =>
    Effect.gen(function*() {
      const sampling = { _tag: "Sampling", iteration: 0, step: 0 } as const
      const usage = { prefilled: 1, sampled: 1, trained: 0 }
      const story = yield* told([
        Recorded.opened(-1),
        { ...sampling, groups: 1 },
        Recorded.simple(0, "parent/sum"),
        { ...sampling, groups: 2, proposal: { parentDigest: "a", instruction: "Add.", refusals: [], usage } }
      ])
      assert.strictEqual(Status.of(story, 0), "sampling iteration 1: 1 of 2 groups")
    }))
})
