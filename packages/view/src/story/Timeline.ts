/** What a run did when: lanes of spans, and what holds it up, in words. */
import type * as Entry from "./Entry.ts"
import type * as Story from "./Story.ts"

export type LaneName = "sampling" | "training" | "evaluation"

export interface Span {
  readonly from: number
  readonly to: number
  readonly iteration: number
  readonly evaluator?: string
}

export interface Timeline {
  readonly from: number
  readonly to: number
  readonly lanes: Readonly<Record<LaneName, ReadonlyArray<Span>>>
  /** Groups being rolled out, at the start of each of equally long stretches. */
  readonly inFlight: ReadonlyArray<number>
  /** Share of the time that each lane takes; the rest is between them. */
  readonly shares: Readonly<Record<LaneName, number>>
  /** Share of the sampling time in which only the last fifth of an iteration's groups was still missing. */
  readonly tail: number
}

const lastOf = (groups: ReadonlyArray<Entry.Group>) => groups.reduce((last, { at }) => Math.max(last, at), 0)

const samplingOf = ({ groups, index, sampling }: Story.Iteration): ReadonlyArray<Span> =>
  sampling === undefined || groups.length === 0
    ? []
    : [{ from: sampling.at, to: lastOf(groups), iteration: index }]

const trainingOf = ({ credited, index, updated }: Story.Iteration): ReadonlyArray<Span> =>
  updated === undefined ? [] : [{
    from: credited?.at ?? updated.at - 1000 * updated.updates.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0),
    to: updated.at,
    iteration: index
  }]

const evaluationOf = ({ evaluated, evaluating, evaluator, iteration }: Story.Evaluation): ReadonlyArray<Span> =>
  evaluating === undefined || evaluated === undefined
    ? []
    : [{ from: evaluating.at, to: evaluated.at, iteration, evaluator }]

/** Time from when four fifths of the groups were there to when all were. */
const tailOf = ({ groups }: Story.Iteration) => {
  if (groups.length < 5) return 0
  const ends = groups.map(({ at }) => at).toSorted((left, right) => left - right)
  return (ends.at(-1) ?? 0) - (ends[Math.ceil(ends.length * 0.8) - 1] ?? 0)
}

const length = (spans: ReadonlyArray<Span>) => spans.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0)

const stretches = 160

const inFlight = (groups: ReadonlyArray<Entry.Group>, from: number, to: number) => {
  const counts = Array.from({ length: stretches }, () => 0)
  const width = (to - from) / stretches
  for (const { at, milliseconds } of groups) {
    const first = Math.max(0, Math.ceil((at - milliseconds - from) / width))
    const last = Math.min(stretches - 1, Math.floor((at - from) / width))
    for (let stretch = first; stretch <= last; stretch++) counts[stretch] = (counts[stretch] ?? 0) + 1
  }
  return counts
}

/** The time of the iterations and of the evaluations before them; undefined where nothing took time yet. */
export const make = (
  iterations: ReadonlyArray<Story.Iteration>,
  evaluations: ReadonlyArray<Story.Evaluation>
): Timeline | undefined => {
  const lanes = {
    sampling: iterations.flatMap(samplingOf),
    training: iterations.flatMap(trainingOf),
    evaluation: evaluations.flatMap(evaluationOf)
  }
  const spans = Object.values(lanes).flat()
  const from = spans.reduce((first, span) => Math.min(first, span.from), Infinity)
  const to = spans.reduce((last, span) => Math.max(last, span.to), -Infinity)
  if (!(to > from)) return undefined
  const groups = [...iterations, ...evaluations].flatMap(({ groups }) => groups)
  const sampling = length(lanes.sampling)
  return {
    from,
    to,
    lanes,
    inFlight: inFlight(groups, from, to),
    shares: {
      sampling: sampling / (to - from),
      training: length(lanes.training) / (to - from),
      evaluation: length(lanes.evaluation) / (to - from)
    },
    tail: sampling === 0 ? 0 : iterations.reduce((sum, iteration) => sum + tailOf(iteration), 0) / sampling
  }
}

const percent = (share: number) => `${Math.round(100 * share)} %`

/** What takes most of the time, and what would help. */
export const bottleneck = ({ shares: { evaluation, sampling, training }, tail }: Timeline): string => {
  const most = Math.max(sampling, training, evaluation)
  if (most < 0.4) {
    return `Most of the time, ${
      percent(Math.max(0, 1 - sampling - training - evaluation))
    }, passes between the stages: saving, credit, or waiting for the backend.`
  }
  if (most === training) {
    return `The optimizer is the bottleneck: training takes ${percent(training)} of the time, sampling ${
      percent(sampling)
    }.`
  }
  if (most === evaluation) {
    return `Evaluation is the bottleneck: it takes ${
      percent(evaluation)
    } of the time. Fewer problems, or a longer interval, would give it to training.`
  }
  const begin = `Sampling is the bottleneck: it takes ${percent(sampling)} of the time`
  return tail > 0.3
    ? `${begin}, and for ${
      percent(tail)
    } of that only the last fifth of the groups is missing. A limit on long episodes, or asynchronous training, would help.`
    : `${begin}, and groups finish evenly. A faster sampler or more requests at a time would help.`
}
