import type { RunRecord } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { RunSpans } from "@effect-rl/export"
import { assert, describe, it } from "@effect/vitest"

const stamp = (at: number) => ({ at, segment: 1, sequence: 0 })

const sampling = (at: number, groups: number, proposal?: RunRecord.Sampling["proposal"]): RunRecord.Sampling => ({
  ...stamp(at),
  _tag: "Sampling",
  iteration: 0,
  step: 0,
  groups,
  ...(proposal === undefined ? {} : { proposal })
})

/** A group that took half a second. */
const group = (at: number, key: string, place: Partial<RunRecord.GroupRolledOut> = {}): RunRecord.GroupRolledOut => ({
  ...stamp(at),
  _tag: "GroupRolledOut",
  instructionDigest: "a",
  iteration: 0,
  step: 0,
  key,
  tags: [],
  outcome: "Completed",
  rewards: [1],
  members: [null],
  failures: [],
  retries: 0,
  milliseconds: 500,
  spent: Usage.zero,
  ...place
})

const updated: RunRecord.Updated = {
  ...stamp(9000),
  _tag: "Updated",
  iteration: 0,
  metrics: {},
  updates: [],
  spent: Usage.zero
}

/** The first iteration of a run that optimises an instruction. */
const records: ReadonlyArray<RunRecord.RunRecord> = [
  group(1000, "x", { evaluator: "validation" }),
  group(2000, "y", { evaluator: "validation" }),
  sampling(3000, 1),
  group(4000, "parent/x"),
  sampling(5000, 2, { parentDigest: "a", instruction: "Add.", refusals: [], usage: Usage.zero }),
  group(6000, "child/x", { instructionDigest: "b" }),
  group(7000, "x", { evaluator: "validation", instructionDigest: "b", iteration: 1 }),
  group(8000, "y", { evaluator: "validation", instructionDigest: "b", iteration: 1 }),
  updated
]

describe("the spans of a run that optimises an instruction", () => {
  const spans = records.flatMap(RunSpans.make())

  it("cover the groups of both instructions and the validation", () => {
    const lanes = spans.filter(({ lane }) => lane !== "group")
    assert.deepStrictEqual(lanes.map(({ end, id, start }) => [id, start, end]), [
      ["evaluation 0 validation", 500, 2000],
      ["evaluation 1 validation", 6500, 8000],
      ["sampling 0", 3000, 9000],
      ["training 0", 9000, 9000],
      ["iteration 0", 3000, 9000]
    ])
  })

  it("lie within the times of their parents", () => {
    const byId = new Map(spans.map((span) => [span.id, span]))
    assert.strictEqual(byId.size, spans.length)
    for (const { end, id, parent, start } of spans) {
      if (parent === undefined) continue
      const outer = byId.get(parent) ?? assert.fail(`${id} has no ${parent}`)
      assert.isTrue(outer.start <= start && end <= outer.end, id)
    }
  })
})
