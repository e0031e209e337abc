/** 2 to 4 runs beside each other, with core's statistics. */
import { Compare, Divergence, type RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"

interface Recorded {
  readonly run: string
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

const read = Effect.fnUntraced(function*(run: string) {
  const { read } = yield* RunDirectory.open(run)
  const recorded: Recorded = { run, records: yield* Stream.runCollect(read) }
  return recorded
})

/** What makes a method: all that is configured but the seed. */
const methodOf = ({ records }: Recorded) => {
  const opened = records.findLast((record) => record._tag === "Opened")
  const { seed: _, ...identity } = opened?.identity ?? {}
  return JSON.stringify(identity)
}

const methodsOf = (all: ReadonlyArray<Recorded>) => {
  const methods = new Map<string, Array<Recorded>>()
  for (const recorded of all) {
    const method = methods.get(methodOf(recorded)) ?? []
    methods.set(methodOf(recorded), [...method, recorded])
  }
  return [...methods.values()]
}

const pointsOf = ({ records }: Recorded) => {
  const points = new Map<number, Entry.ComparedRun["points"][number]>()
  for (const record of records) {
    if (record._tag !== "Updated" || record.reward === undefined || Number.isNaN(record.reward.mean)) continue
    const { iteration, reward: { mean, standardError = 0 } } = record
    points.set(iteration, { iteration, mean, standardError })
  }
  return [...points.values()].toSorted((left, right) => left.iteration - right.iteration)
}

type Measured = ReadonlyMap<string, ReadonlyArray<Compare.Scores>>

/** The scores of each seed of a method, by evaluator. */
const measured = (method: ReadonlyArray<Recorded>): Measured => {
  const found = new Map<string, Array<Compare.Scores>>()
  for (const { records } of method) {
    for (const { evaluator, scores } of Compare.heldOut(records)) {
      found.set(evaluator, [...(found.get(evaluator) ?? []), scores])
    }
  }
  return found
}

const finite = (value: number) => Number.isFinite(value) ? value : null

/** Rewards of an evaluator seldom lie further apart; a wider range only delays stopping. */
const rangeOf = (differences: ReadonlyArray<number>) => Math.max(1, ...differences.map(Math.abs))

const scoresOf = (first: Measured, others: ReadonlyArray<Measured>): ReadonlyArray<Entry.ComparedScore> =>
  others.flatMap((other, index) =>
    [...first].flatMap(([evaluator, left]) => {
      const right = other.get(evaluator)
      if (right === undefined) return []
      const differences = Compare.differences(left, right)
      const { high, low, ...compared } = Compare.paired(left, right)
      const { decidedAfter = null } = Compare.stopping(differences, rangeOf(differences))
      return compared.problems === 0
        ? []
        : [{ method: index + 1, evaluator, ...compared, low: finite(low), high: finite(high), decidedAfter }]
    })
  )

const text = (value: unknown) => value === undefined ? "" : JSON.stringify(value)

const shown = ({ field, left, right }: Divergence.Difference): Entry.FieldDifference => ({
  field,
  left: text(left),
  right: text(right)
})

const beside = (first: Recorded) => (other: Recorded): Entry.ComparedRecords => {
  const divergence = Divergence.first(first.records, other.records)
  return {
    run: other.run,
    configuration: Divergence.configuration(first.records, other.records).map(shown),
    divergence: divergence === undefined ? null : {
      record: divergence.record,
      iteration: divergence.iteration,
      evaluator: divergence.evaluator ?? null,
      key: divergence.key ?? null,
      differences: divergence.differences.map(shown)
    }
  }
}

/** The runs in the order in which they are given; the others are compared with the first. */
export const run = Effect.fn("Comparing.run")(
  function*(runs: ReadonlyArray<string>) {
    const all = yield* Effect.forEach(runs, read)
    const [first, ...others] = all
    const methods = methodsOf(all)
    const [one, ...rest] = methods.map(measured)
    const comparison: Entry.Comparison = {
      runs: all.map((recorded) => ({
        run: recorded.run,
        method: methods.findIndex((method) => method.includes(recorded)),
        points: pointsOf(recorded)
      })),
      methods: methods.map((method) => method.map(({ run }) => run)),
      scores: one === undefined ? [] : scoresOf(one, rest),
      records: first === undefined ? [] : others.map(beside(first))
    }
    return comparison
  }
)
