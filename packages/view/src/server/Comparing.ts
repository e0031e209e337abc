/** 2 to 4 runs beside each other, with core's statistics. */
import { Compare, type RunRecord } from "@effect-rl/core"
import { Verdict } from "@effect-rl/core/evaluation"
import { Divergence } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as MethodName from "../story/MethodName.ts"

interface Recorded {
  readonly run: string
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

const read = Effect.fnUntraced(function*(run: string) {
  const { read } = yield* RunDirectory.open(run)
  const recorded: Recorded = { run, records: yield* Stream.runCollect(read) }
  return recorded
})

/** The identity of a method: the whole configuration except the seed. */
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

const finite = (value: number) => Number.isFinite(value) ? value : null

/** Rewards of an evaluator seldom lie further apart; a wider range only delays stopping. */
const rangeOf = (differences: ReadonlyArray<number>) => Math.max(1, ...differences.map(Math.abs))

const sideOf = (method: ReadonlyArray<Recorded>): Compare.Side => ({
  name: MethodName.of(method.map(({ run }) => run)),
  runs: method.map(({ records }) => records)
})

const scoreOf = (method: number, comparison: Compare.Comparison): Entry.ComparedScore => {
  const { better, difference, differences, equal, evaluator, high, left, low, problems, right, worse } = comparison
  const { decidedAfter = null } = Compare.stopping(differences, rangeOf(differences))
  return {
    method,
    evaluator,
    verdict: Verdict.of(comparison),
    problems,
    left: { mean: left.mean, standing: Verdict.standing(left) },
    right: { mean: right.mean, standing: Verdict.standing(right) },
    difference,
    low: finite(low),
    high: finite(high),
    about: Verdict.about(comparison),
    better,
    worse,
    equal,
    decidedAfter
  }
}

/** The scores of the methods beside the first one, and why some have none. */
const compared = ([first, ...others]: ReadonlyArray<ReadonlyArray<Recorded>>) => {
  const results = first === undefined ? [] : others.map((other) => Compare.runs(sideOf(first), sideOf(other)))
  return {
    scores: results.flatMap((result, index) =>
      Result.isSuccess(result) ? result.success.map((comparison) => scoreOf(index + 1, comparison)) : []
    ),
    refusals: results.flatMap((result) => Result.isFailure(result) ? [result.failure.message] : [])
  }
}

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
    const comparison: Entry.Comparison = {
      runs: all.map((recorded) => ({
        run: recorded.run,
        method: methods.findIndex((method) => method.includes(recorded)),
        points: pointsOf(recorded)
      })),
      methods: methods.map((method) => method.map(({ run }) => run)),
      ...compared(methods),
      records: first === undefined ? [] : others.map(beside(first))
    }
    return comparison
  }
)
