/**
 * A diagnosis of a run: one word, one sentence and two numbers. It uses the run's end, its held-out measurements, the reward's trend, the
 * findings of an audit, and the history of each health metric.
 *
 * @example
 * const story = yield* StoryReader.read(reader)
 * const { kind, sentence } = Diagnosis.of(story, { isWritten: false })
 */
import * as Statistics from "../records/Statistics.ts"
import * as Story from "../story/Story.ts"
import type * as Audit from "./Audit.ts"
import * as DiagnosisText from "./diagnosis/DiagnosisText.ts"
import * as Doubts from "./diagnosis/Doubts.ts"
import * as Measure from "./diagnosis/Measure.ts"
import * as SignHistory from "./diagnosis/SignHistory.ts"
import * as Quantity from "./Quantity.ts"

export type { Reading } from "../story/Reading.ts"
export { of as reading } from "../story/Reading.ts"
export { value } from "./diagnosis/DiagnosisText.ts"
export type { Doubt } from "./diagnosis/Doubts.ts"
export type { Measure } from "./diagnosis/Measure.ts"
export { heldOut, training } from "./diagnosis/Measure.ts"
export type { SignHistory } from "./diagnosis/SignHistory.ts"

/**
 * The conclusion of a diagnosis:
 *
 * - `learned`, `learning`: the held-out measure, or else the reward or the loss, improved beyond chance; the run has ended or continues.
 * - `solved`: nearly every group earns the full reward, so little is left to learn.
 * - `unchanged`: no change beyond chance.
 * - `worse`: the measure became worse beyond chance.
 * - `hopeless`: no answer was ever right, or hardly one in a hundred, to the end.
 * - `suspect`: the reward grew without the ability it should measure, or an audit found exploits.
 * - `collapsed`: the policy lost what it had learned, or what it could do at the start.
 * - `failed`, `killed`: an error ended the run, or its process is gone.
 * - `untold`: too little is recorded.
 */
export type Kind =
  | "learned"
  | "learning"
  | "solved"
  | "unchanged"
  | "worse"
  | "hopeless"
  | "suspect"
  | "collapsed"
  | "failed"
  | "killed"
  | "untold"

/** `good`, `bad`, `look` if a person should decide, or `none` if there is nothing to judge yet. */
export type Level = "good" | "look" | "bad" | "none"

/** How alarming each kind is. */
export const levels: Readonly<Record<Kind, Level>> = {
  learned: "good",
  learning: "good",
  solved: "good",
  unchanged: "look",
  worse: "bad",
  hopeless: "bad",
  suspect: "bad",
  collapsed: "bad",
  failed: "bad",
  killed: "look",
  untold: "none"
}

export interface Diagnosis {
  readonly kind: Kind
  readonly level: Level
  readonly sentence: string
  /** What to do next; undefined if there is no advice. */
  readonly advice: string | undefined
  /** The measure before and after, formatted for people; undefined if nothing is measured yet. */
  readonly numbers: { readonly measure: string; readonly before: string; readonly after: string } | undefined
  /** Reasons not to trust the reward. */
  readonly doubts: ReadonlyArray<Doubts.Doubt>
  readonly signs: ReadonlyArray<SignHistory.SignHistory>
  /** Health metrics that were outside their range in at least the two newest iterations, without those that the kind explains. */
  readonly concerns: ReadonlyArray<SignHistory.SignHistory>
}

/** Facts that a story does not contain. */
export interface Known {
  /** Whether a process has the run open for writing. */
  readonly isWritten: boolean
  /** The findings of an audit; absent if none was made. */
  readonly findings?: ReadonlyArray<Audit.Finding>
}

type AnyStory = Story.Story<null>

/** Minimum number of iterations for a trend. */
const leastIterations = 3

/** The number of iterations over which the share of good groups is averaged. */
const counted = 3

/** The task counts as solved if at least this share of the groups did well in all members. */
const mostGood = 0.7

const goodShare = ({ groups, tally }: Story.Iteration<null>) => groups.length === 0 ? 0 : tally.good / groups.length

/**
 * The first iteration from which the task stayed solved, by the mean over a few iterations. Undefined if it is not solved at the end, or if
 * there are too few iterations.
 */
const solvedSince = (story: AnyStory): number | undefined => {
  const done = Story.iterations(story).filter(({ updated }) => updated !== undefined)
  const isSolved = (at: number) => {
    const some = done.slice(at, at + counted)
    return some.reduce((sum, one) => sum + goodShare(one), 0) / some.length >= mostGood
  }
  const starts = done.slice(0, Math.max(0, done.length - counted + 1)).map((_, at) => isSolved(at))
  const since = starts.lastIndexOf(false) + 1
  return since < starts.length ? done[since]?.index : undefined
}

const meanOf = (points: ReadonlyArray<Measure.Point>) => Statistics.mean(points.map(({ value }) => value))

/** Below this share, right answers are considered lucky guesses. */
const byChance = 0.01

/**
 * Whether nearly every attempt failed in a run with rewards: hardly one was right, over the run and in its newest iterations, or, if answers
 * are not graded as right or wrong, none earned a good reward.
 */
const isHopeless = ({ story, trained }: Evidence): boolean => {
  if (trained?.unit !== "reward") return false
  const done = Story.iterations(story).filter(({ updated }) => updated !== undefined)
  if (done.length < leastIterations) return false
  const correct = Measure.metric(story, "env/all/correct")
  if (correct.length > 0) return [correct, correct.slice(-counted)].every((points) => meanOf(points) < byChance)
  return done.every(({ groups, tally }) => groups.length > 0 && tally.bad === groups.length)
}

/** A loss beyond this share of the measure's scale counts as a collapse. */
const largeLoss = 0.3
/** The loss of more than this share of the right answers also counts as a collapse, however few there were. */
const nearlyAll = 0.9

/**
 * Whether a measure has collapsed: one of its values is NaN, or it ends far below its best, or with hardly any right answer left, and does
 * not end clearly above its start.
 */
const isLost = (measure: Measure.Measure, scale: number): boolean => {
  if (measure.points.length < 2) return false
  const [first, last] = Measure.ends(measure)
  const best = Measure.best(measure)
  if (measure.points.some(({ value }) => Number.isNaN(value))) return true
  const loss = Measure.gain(measure, last, best)
  const least = measure.unit === "share" ? Math.min(largeLoss * scale, nearlyAll * best.value) : largeLoss * scale
  return loss.isClear && loss.value > least && loss.value > 3 * loss.standardError
    && Measure.gain(measure, last, first).value > -0.1 * scale
}

/** The scale of a large change: the range of rewards, 1 for a share of answers, or the initial loss. */
const scaleOf = (story: AnyStory, { points: [first], unit }: Measure.Measure) =>
  unit === "reward" ? Doubts.rewardScale(story) : unit === "share" ? 1 : Math.abs(first.value)

const milliseconds = ({ last, pauses, records: [first] }: AnyStory) =>
  pauses.reduce((sum, { from, to }) => sum - (to - from), (last?.at ?? 0) - (first?.at ?? 0))

interface Evidence {
  readonly story: AnyStory
  readonly known: Known
  readonly done: number
  readonly trained: Measure.Measure | undefined
  readonly held: Measure.Measure | undefined
  /** The held-out measure if it was measured at least twice, otherwise the training measure. */
  readonly main: Measure.Measure | undefined
  readonly doubts: ReadonlyArray<Doubts.Doubt>
}

const evidenceOf = (story: AnyStory, known: Known): Evidence => {
  const [trained, held] = [Measure.training(story), Measure.heldOut(story)]
  const doubts = trained === undefined ? [] : Doubts.of(story, trained, held, known.findings ?? [])
  const main = held === undefined || held.points.length < 2 ? trained ?? held : held
  return { story, known, done: Story.done(story), trained, held, main, doubts }
}

const isCollapsed = ({ held, story, trained }: Evidence) =>
  [trained, held].some((measure) => measure !== undefined && isLost(measure, scaleOf(story, measure)))

/** The direction of the main measure: 1 if it improved beyond chance, −1 if it got worse, otherwise 0. */
const direction = ({ main }: Evidence): number => {
  if (main === undefined || main.points.length < 2) return 0
  const { isClear, value } = Measure.gain(main, ...Measure.ends(main))
  return isClear ? Math.sign(value) : 0
}

const kindOf = (evidence: Evidence): Kind => {
  const { done, doubts, known, story } = evidence
  const { end } = story
  if (end?._tag === "Failed") return "failed"
  if (doubts.length > 0) return "suspect"
  if (isHopeless(evidence)) return "hopeless"
  if (isCollapsed(evidence)) return "collapsed"
  if (end === undefined && !known.isWritten) return "killed"
  if (solvedSince(story) !== undefined) return "solved"
  const way = direction(evidence)
  if (way > 0) return end === undefined ? "learning" : "learned"
  if (way < 0) return "worse"
  return done < leastIterations ? "untold" : "unchanged"
}

const advices: Readonly<Record<Kind, string | undefined>> = {
  learned: undefined,
  learning: undefined,
  solved: "Stop here, or choose harder problems",
  unchanged: "Look at the share of informative groups, then at the learning rate",
  worse: "Lower the learning rate, or hold the policy near its beginning",
  hopeless: "Choose easier problems, or begin with supervised examples",
  suspect: "Read transcripts before you trust the reward",
  collapsed: "Lower the learning rate, and begin again from an earlier checkpoint",
  failed: "Fix the cause; the same command resumes the run",
  killed: "The same command resumes the run",
  untold: undefined
}

/** Advice for a program without groups. */
const longer = "Train for longer, or raise the learning rate"

/** The part of the sentence that depends on the kind; the measured numbers follow it. */
const headOf = (kind: Kind, { done, doubts, story }: Evidence): string => {
  const { end } = story
  switch (kind) {
    case "failed":
      return end?._tag === "Failed"
        ? `Failed after ${Quantity.plural(done, "iteration")}: ${Story.failure(end)}`
        : "Failed"
    case "killed":
      return `Killed after ${Quantity.plural(done, "iteration")}`
    case "suspect":
      return `Do not trust the reward: ${doubts.map(({ text }) => text).join("; ")}`
    case "hopeless":
      return `Hopeless: ${
        Measure.metric(story, "env/all/correct").some(({ value }) => value > 0) ? "hardly an" : "no"
      } attempt was right in training`
    case "collapsed":
      return "Collapsed"
    case "solved":
      return `Solved since iteration ${(solvedSince(story) ?? 0) + 1}`
    case "learned":
      return "Learned"
    case "learning":
      return "Learning"
    case "unchanged":
      return "No clear change"
    case "worse":
      return "Got worse"
    case "untold":
      return "Too early to tell"
  }
}

const sentenceOf = (kind: Kind, evidence: Evidence): string => {
  const { done, main, story } = evidence
  const { end } = story
  const measured = main === undefined
    ? ""
    : `: ${DiagnosisText.change(main, ...ends(main))}`
  const cost = ` in ${DiagnosisText.cost(done, milliseconds(story), Story.tokens(story))}`
  const stop = end?._tag === "Finished" ? DiagnosisText.end(end) : ""
  const isSaid = kind === "suspect" || kind === "failed"
  return `${headOf(kind, evidence)}${isSaid ? "" : measured}${isSaid ? "" : cost}${stop}.`
}

const ends = (measure: Measure.Measure): readonly [before: number, after: number] => {
  const [{ value: before }, { value: after }] = Measure.ends(measure)
  return [before, after]
}

/**
 * Metrics that may be out of range because of the kind. A lack of informative groups never counts as a concern; low entropy does not if the
 * kind is good.
 */
const explained = (kind: Kind): ReadonlyArray<string> => [
  "env/all/by_group/frac_mixed",
  ...(levels[kind] === "good" ? ["optim/entropy"] : [])
]

const concernsOf = (kind: Kind, signs: ReadonlyArray<SignHistory.SignHistory>, done: number) => {
  const named = explained(kind)
  return signs.filter(({ metric, outsideSince }) =>
    outsideSince !== undefined && outsideSince < done - 1 && !named.includes(metric)
  )
}

/** Diagnoses a run, finished or not. */
export const of = (story: AnyStory, known: Known): Diagnosis => {
  const evidence = evidenceOf(story, known)
  const { done, doubts, main } = evidence
  const kind = kindOf(evidence)
  const signs = SignHistory.of(story)
  const [before, after] = main === undefined ? [NaN, NaN] : ends(main)
  return {
    kind,
    level: levels[kind],
    sentence: sentenceOf(kind, evidence),
    advice: kind === "unchanged" && evidence.trained?.name !== "reward" ? longer : advices[kind],
    numbers: main === undefined ? undefined : {
      measure: main.name,
      before: DiagnosisText.value(before, main.unit),
      after: DiagnosisText.value(after, main.unit)
    },
    doubts,
    signs,
    concerns: concernsOf(kind, signs, done)
  }
}
