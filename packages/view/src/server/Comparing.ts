/** Compares 2 to 4 runs with core's statistics. */
import { Compare, type RunRecord, type RunStore } from "@effect-rl/core"
import { Statistics, Verdict } from "@effect-rl/core/evaluation"
import { Conversation, Diagnosis, Divergence, Rollouts, Story } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as MethodName from "../story/MethodName.ts"
import { Languages } from "./Languages.ts"

interface Recorded {
  readonly run: string
  readonly reader: RunStore.RunReader
  readonly records: ReadonlyArray<RunRecord.RunRecord>
}

const read = Effect.fnUntraced(function*(run: string) {
  const reader = yield* RunDirectory.open(run)
  const recorded: Recorded = { run, reader, records: yield* Stream.runCollect(reader.read) }
  return recorded
})

/** A method's identity: the whole configuration except the seed. */
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

const curveOf = ({ records }: Recorded): Pick<Entry.ComparedRun, "measure" | "points"> => {
  const measure = Diagnosis.training(Story.fromRecords(records))
  const points = measure?.points.filter(({ value }) => !Number.isNaN(value)) ?? []
  return {
    measure: measure?.name ?? "reward",
    points: points.map(({ iterations, standardError, value }) => ({
      iteration: iterations - 1,
      mean: value,
      standardError
    }))
  }
}

const finite = (value: number) => Number.isFinite(value) ? value : null

/**
 * The assumed range of reward differences, at least 1: an evaluator's rewards seldom differ by more. A wider range only delays stopping.
 */
const rangeOf = (differences: ReadonlyArray<number>) => Math.max(1, ...differences.map(Math.abs))

const sideOf = (method: ReadonlyArray<Recorded>): Compare.Side => ({
  name: MethodName.of(method.map(({ run }) => run)),
  runs: method.map(({ records }) => records)
})

/** Maximum number of problems whose answers are shown. */
const mostChanged = 50

type Attempts = Rollouts.RecordedGroup["record"]

/** The question and the last answer of the group's first member that finished; nulls if the transcript cannot be read. */
const answerOf = Effect.fnUntraced(function*({ reader }: Recorded, story: Story.Story, group: Attempts) {
  const result = yield* Effect.orElseSucceed(Rollouts.result(reader, group), () => undefined)
  if (result === undefined) return { question: null, answer: null }
  const { decode } = yield* Effect.flatMap(Languages, (languages) => languages.of(story))
  const [member] = Rollouts.members({ record: group, result, index: 0, advantages: [] })
  const last = member === undefined ? undefined : Conversation.make(member.trajectory, [], decode).at(-1)
  return {
    question: member?.trajectory.task?.question ?? null,
    answer: last === undefined ? null : Conversation.saidText(last)
  }
})

/** A run's attempts at the problems of one measurement. */
const attemptsOf = (recorded: Recorded, evaluator: string, iteration: number) => {
  const story = Story.fromRecords(recorded.records)
  const groups = new Map(
    Story.evaluation(story, evaluator, iteration).groups.map((group) => [Compare.problemOf(group), group])
  )
  return {
    mean: (key: string) => Statistics.mean(groups.get(key)?.rewards.filter(Number.isFinite) ?? []),
    answer: Effect.fnUntraced(function*(key: string) {
      const group = groups.get(key)
      if (group === undefined) return undefined
      const { answer, question } = yield* answerOf(recorded, story, group)
      const mean = Statistics.mean(group.rewards.filter(Number.isFinite))
      const compared: Entry.ComparedAnswer = {
        run: recorded.run,
        sequence: group.sequence,
        iteration,
        mean,
        answer
      }
      return { question, compared }
    })
  }
}

/**
 * The problems on which the first runs of two methods had different mean rewards, with both answers: at most 50, largest difference first.
 */
const changedOf = Effect.fnUntraced(function*(
  [first]: ReadonlyArray<Recorded>,
  [other]: ReadonlyArray<Recorded>,
  { evaluator, keys, left, right }: Compare.Comparison
) {
  const [before, after] = [left.seeds[0], right.seeds[0]]
  if (first === undefined || other === undefined || before === undefined || after === undefined) return []
  const one = attemptsOf(first, evaluator, before.iteration)
  const two = attemptsOf(other, evaluator, after.iteration)
  const sizes = new Map(keys.map((key) => [key, Math.abs(two.mean(key) - one.mean(key))]))
  const most = [...sizes].filter(([, size]) => size > 0).toSorted(([, one], [, two]) => two - one)
  const changed: Array<Entry.ChangedProblem> = []
  for (const [key] of most.slice(0, mostChanged)) {
    const [left, right] = [yield* one.answer(key), yield* two.answer(key)]
    if (left === undefined || right === undefined) continue
    changed.push({
      key,
      question: left.question ?? right.question ?? key,
      left: left.compared,
      right: right.compared
    })
  }
  return changed
})

const scoreOf = (
  method: number,
  comparison: Compare.Comparison,
  changed: ReadonlyArray<Entry.ChangedProblem>
): Entry.ComparedScore => {
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
    decidedAfter,
    changed
  }
}

const lossOf = (method: number, comparison: Compare.LossComparison): Entry.ComparedLoss => {
  const { difference, evaluator, high, left, low, metric, right } = comparison
  return {
    method,
    evaluator,
    metric,
    verdict: Verdict.ofLoss(comparison),
    left: { mean: left.mean, standing: Verdict.standing(left) },
    right: { mean: right.mean, standing: Verdict.standing(right) },
    difference,
    low: finite(low),
    high: finite(high)
  }
}

/** Scores and losses of the other methods compared with the first, and why some have none. */
const compared = Effect.fnUntraced(function*([first, ...others]: ReadonlyArray<ReadonlyArray<Recorded>>) {
  const scores: Array<Entry.ComparedScore> = []
  const losses: Array<Entry.ComparedLoss> = []
  const refusals: Array<string> = []
  for (const [index, other] of others.entries()) {
    if (first === undefined) continue
    const found = Compare.losses(sideOf(first), sideOf(other)).map((loss) => lossOf(index + 1, loss))
    losses.push(...found)
    const result = Compare.runs(sideOf(first), sideOf(other))
    if (Result.isFailure(result)) {
      if (found.length === 0) refusals.push(result.failure.message)
      continue
    }
    for (const comparison of result.success) {
      scores.push(scoreOf(index + 1, comparison, yield* changedOf(first, other, comparison)))
    }
  }
  return { scores, losses, refusals }
})

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

/** Compares runs in the given order; the first run is the baseline. */
export const run = Effect.fn("Comparing.run")(
  function*(runs: ReadonlyArray<string>) {
    const all = yield* Effect.forEach(runs, read)
    const [first, ...others] = all
    const methods = methodsOf(all)
    const comparison: Entry.Comparison = {
      runs: all.map((recorded) => ({
        run: recorded.run,
        method: methods.findIndex((method) => method.includes(recorded)),
        ...curveOf(recorded)
      })),
      methods: methods.map((method) => method.map(({ run }) => run)),
      ...yield* compared(methods),
      records: first === undefined ? [] : others.map(beside(first))
    }
    return comparison
  }
)
