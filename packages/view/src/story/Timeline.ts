/** A run's timeline: lanes of spans, and a description of its bottleneck. */
import type * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "./Entry.ts"

export type LaneName = "sampling" | "training" | "evaluation"

export interface Span {
  readonly from: number
  readonly to: number
  readonly iteration: number
  readonly evaluator?: string
}

/** The services that members wait for. */
export type Wait = "policy" | "environments" | "judges"

/** How many members waited for a service, and for how long. */
export interface Waiting {
  /** The number of waiting members at the start of each of many equal intervals. */
  readonly members: ReadonlyArray<number>
  /** The mean number of waiting members over the whole time. */
  readonly mean: number
  /** The share of all members' time. */
  readonly share: number
}

export interface Timeline {
  readonly from: number
  readonly to: number
  readonly lanes: Readonly<Record<LaneName, ReadonlyArray<Span>>>
  /** The number of groups in progress at the start of each of many equal intervals. */
  readonly inFlight: ReadonlyArray<number>
  /** How members waited for each service; undefined if the run did not time its members' turns. */
  readonly waiting: Readonly<Record<Wait, Waiting>> | undefined
  /** Each lane's share of the time; simultaneous lanes get equal parts. The rest is time between them. */
  readonly shares: Readonly<Record<LaneName, number>>
  /** The share of the sampling time in which only the last fifth of an iteration's groups was unfinished. */
  readonly tail: number
}

const lastOf = (groups: ReadonlyArray<Entry.Group>) => groups.reduce((last, { at }) => Math.max(last, at), 0)

/**
 * An iteration's sampling span, from the start of its first group to the end of its last. Groups may start before the iteration's record.
 */
const samplingOf = ({ groups, index, sampling }: Story.Iteration<null>): ReadonlyArray<Span> => {
  if (sampling === undefined || groups.length === 0) return []
  const from = groups.reduce((first, { at, milliseconds }) => Math.min(first, at - milliseconds), sampling.at)
  return [{ from, to: lastOf(groups), iteration: index }]
}

const trainingOf = ({ credited, index, updated }: Story.Iteration<null>): ReadonlyArray<Span> =>
  updated === undefined ? [] : [{
    from: credited?.at ?? updated.at - 1000 * updated.updates.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0),
    to: updated.at,
    iteration: index
  }]

const evaluationOf = ({ evaluated, evaluating, evaluator, iteration }: Story.Evaluation<null>): ReadonlyArray<Span> =>
  evaluating === undefined || evaluated === undefined
    ? []
    : [{ from: evaluating.at, to: evaluated.at, iteration, evaluator }]

/** Time from the completion of four fifths of the groups to the completion of all. */
const tailOf = ({ groups }: Story.Iteration<null>) => {
  if (groups.length < 5) return 0
  const ends = groups.map(({ at }) => at).toSorted((left, right) => left - right)
  return (ends.at(-1) ?? 0) - (ends[Math.ceil(ends.length * 0.8) - 1] ?? 0)
}

type Lanes = Timeline["lanes"]

/** Milliseconds per lane. Overlapping spans of one lane count once; overlapping lanes share the time. */
const times = (lanes: Lanes): Timeline["shares"] => {
  const names = ["sampling", "training", "evaluation"] as const
  const edges = names.flatMap((lane) =>
    lanes[lane].flatMap(({ from, to }) => to > from ? [{ at: from, lane, by: 1 }, { at: to, lane, by: -1 }] : [])
  ).toSorted((left, right) => left.at - right.at)
  const open = { sampling: 0, training: 0, evaluation: 0 }
  const sums = { sampling: 0, training: 0, evaluation: 0 }
  let before = edges[0]?.at ?? 0
  for (const { at, by, lane } of edges) {
    const active = names.filter((name) => open[name] > 0)
    for (const name of active) sums[name] += (at - before) / active.length
    open[lane] += by
    before = at
  }
  return sums
}

const stretches = 160

/** The number of simultaneous activities over an interval. */
interface Flow {
  readonly end: number
  readonly milliseconds: number
  readonly count: number
}

const flowing = (flows: ReadonlyArray<Flow>, from: number, to: number) => {
  const counts = Array.from({ length: stretches }, () => 0)
  const width = (to - from) / stretches
  for (const { count, end, milliseconds } of flows) {
    const first = Math.max(0, Math.ceil((end - milliseconds - from) / width))
    const last = Math.min(stretches - 1, Math.floor((end - from) / width))
    for (let stretch = first; stretch <= last; stretch++) counts[stretch] = (counts[stretch] ?? 0) + count
  }
  return counts
}

const finished = ({ members }: Entry.Group) => members.filter((member) => member !== null).length

/**
 * Estimates from a group's totals how many members wait for each service: for the policy and the environment evenly, then all for the
 * judges.
 */
const waitsOf = (group: Entry.Group): Readonly<Record<Wait, Flow>> => {
  const { at, milliseconds, times } = group
  const { environment = 0, grading = 0, sampling = 0 } = times ?? {}
  const playing = Math.max(0, milliseconds - (grading ?? 0))
  const played = (total: number | null): Flow => ({
    end: at - (grading ?? 0),
    milliseconds: playing,
    count: playing === 0 ? 0 : (total ?? 0) / playing
  })
  return {
    policy: played(sampling),
    environments: played(environment),
    judges: { end: at, milliseconds: grading ?? 0, count: finished(group) }
  }
}

const totalOf = (flows: ReadonlyArray<Flow>) =>
  flows.reduce((sum, { count, milliseconds }) => sum + count * milliseconds, 0)

const waitingOf = (groups: ReadonlyArray<Entry.Group>, from: number, to: number): Timeline["waiting"] => {
  const waits = groups.flatMap((group) => group.times === undefined ? [] : [waitsOf(group)])
  const all = totalOf(waits.flatMap((wait) => Object.values(wait)))
  if (all === 0) return undefined
  const waiting = (wait: Wait): Waiting => {
    const flows = waits.map((all) => all[wait])
    const total = totalOf(flows)
    return { members: flowing(flows, from, to), mean: total / (to - from), share: total / all }
  }
  return { policy: waiting("policy"), environments: waiting("environments"), judges: waiting("judges") }
}

/** Maps a time to the time without pauses. */
const withoutPauses = (pauses: ReadonlyArray<Story.Pause>) => (at: number) =>
  pauses.reduce((time, { from, to }) => time - Math.max(0, Math.min(at, to) - from), at)

type Stamped = { readonly at: number }

const stamped = (clock: (at: number) => number) => <A extends Stamped>(record: A): A => ({
  ...record,
  at: clock(record.at)
})

/**
 * The timeline of iterations and evaluations, without pauses between segments of the run; undefined if nothing has taken time yet.
 *
 * @example
 * const bottleneck = (story: Story.Story<null>) => {
 *   const timeline = Timeline.make(Story.iterations(story), Story.evaluations(story))
 *   return timeline === undefined ? "nothing yet" : Timeline.bottleneck(timeline)
 * }
 */
export const make = (
  recordedIterations: ReadonlyArray<Story.Iteration<null>>,
  recordedEvaluations: ReadonlyArray<Story.Evaluation<null>>,
  pauses: ReadonlyArray<Story.Pause> = []
): Timeline | undefined => {
  const move = stamped(withoutPauses(pauses))
  const iterations = recordedIterations.map((iteration): Story.Iteration<null> => ({
    ...iteration,
    groups: iteration.groups.map(move),
    ...(iteration.sampling === undefined ? {} : { sampling: move(iteration.sampling) }),
    ...(iteration.credited === undefined ? {} : { credited: move(iteration.credited) }),
    ...(iteration.updated === undefined ? {} : { updated: move(iteration.updated) })
  }))
  const evaluations = recordedEvaluations.map((evaluation): Story.Evaluation<null> => ({
    ...evaluation,
    groups: evaluation.groups.map(move),
    ...(evaluation.evaluating === undefined ? {} : { evaluating: move(evaluation.evaluating) }),
    ...(evaluation.evaluated === undefined ? {} : { evaluated: move(evaluation.evaluated) })
  }))
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
  const { evaluation, sampling, training } = times(lanes)
  return {
    from,
    to,
    lanes,
    inFlight: flowing(groups.map(({ at, milliseconds }) => ({ end: at, milliseconds, count: 1 })), from, to),
    waiting: waitingOf(groups, from, to),
    shares: {
      sampling: sampling / (to - from),
      training: training / (to - from),
      evaluation: evaluation / (to - from)
    },
    tail: sampling === 0 ? 0 : Math.min(1, iterations.reduce((sum, iteration) => sum + tailOf(iteration), 0) / sampling)
  }
}

const percent = (share: number) => `${Math.round(100 * share)} %`

/** The bottleneck of sampling, with a remedy. */
const inSampling = ({ tail, waiting }: Timeline): string => {
  const { environments, judges } = waiting ?? {}
  if (environments !== undefined && environments.share > 0.5) {
    return `, and members spend ${
      percent(environments.share)
    } of theirs in their environments. Faster environments, or more groups at a time, would help.`
  }
  if (judges !== undefined && judges.share > 0.5) {
    return `, and members wait for their rewards in ${
      percent(judges.share)
    } of theirs. A faster judge, or more groups at a time, would help.`
  }
  return tail > 0.3
    ? `, and for ${
      percent(tail)
    } of that only the last fifth of the groups is missing. A limit on long episodes, or asynchronous training, would help.`
    : ", and groups finish evenly. A faster sampler or more requests at a time would help."
}

/** The run's bottleneck, with a remedy. */
export const bottleneck = (timeline: Timeline): string => {
  const { evaluation, sampling, training } = timeline.shares
  const most = Math.max(sampling, training, evaluation)
  const between = 1 - sampling - training - evaluation
  if (between > most) {
    return `Most of the time, ${
      percent(between)
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
  return `Sampling is the bottleneck: it takes ${percent(sampling)} of the time${inSampling(timeline)}`
}
