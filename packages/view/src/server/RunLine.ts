/** A line of the list of runs. */
import { Diagnosis, Story } from "@effect-rl/core/records"
import { createHash } from "node:crypto"
import type * as Entry from "../story/Entry.ts"
import * as Spending from "../story/Spending.ts"
import * as Status from "../story/Status.ts"

/** The story of a run, and whether the run is still written. */
export interface Known {
  readonly story: Story.Story
  /** A process holds the run open. */
  readonly isWritten: boolean
  /** What an audit of its transcripts found, if one was made. */
  readonly findings?: Entry.Findings | undefined
}

const statusOf = ({ isWritten, story: { end } }: Known): Entry.RunLine["status"] => {
  if (end !== undefined) return end._tag === "Failed" ? "failed" : "ended"
  return isWritten ? "running" : "killed"
}

/** The newest of the held-out measurements that the run is judged by. */
const heldOf = (story: Story.Story) => {
  const measure = Diagnosis.heldOut(story)
  const newest = measure?.points.at(-1)
  return measure === undefined || newest === undefined || !Number.isFinite(newest.value)
    ? null
    : { value: newest.value, text: Diagnosis.value(newest.value, measure.unit) }
}

/** The newest score of the run's first evaluator. */
const scoreOf = (story: Story.Story) => {
  const [first] = Story.evaluators(story)
  const newest = Story.evaluations(story).findLast(({ evaluated, evaluator }) =>
    evaluated !== undefined && evaluator === first
  )
  return newest?.evaluated?.score?.value ?? null
}

/** Points of a curve that is as wide as a word. */
const mostPoints = 40

/** What rounding leaves of values that are 0, as the mean of rewards that are compared in pairs. */
const nothing = 1e-12

/** At most so many of the values, at equal distances back from the last one, and the first one. */
const thinned = (values: ReadonlyArray<number>): ReadonlyArray<number | null> => {
  const each = Math.ceil(values.length / mostPoints)
  return values
    .filter((_, at) => at === 0 || (values.length - 1 - at) % each === 0)
    .map((value) => Number.isFinite(value) ? Math.abs(value) < nothing ? 0 : Number(value.toPrecision(4)) : null)
}

/** The identity of the run without its seed, as a short text. */
const methodOf = ({ opened }: Story.Story) => {
  const { seed: _, ...identity } = opened?.identity ?? {}
  return createHash("sha256").update(JSON.stringify(identity)).digest("base64url").slice(0, 12)
}

/** What became of the run. A run whose transcripts were not read is not called good. */
const verdictOf = ({ findings, isWritten, story }: Known): Entry.RunLine["verdict"] => {
  const { kind, level, sentence } = Diagnosis.of(story, { isWritten, ...findings })
  const isAudited = findings !== undefined
  return { kind, level: isAudited || level !== "good" ? level : "none", sentence, isAudited }
}

/** How a run and its checkpoints are called in the settings of others. */
export interface Links {
  /** The addresses under which its checkpoints lie, and the ends of the names of their copies. */
  readonly made: ReadonlySet<string>
  /** The addresses of the checkpoints that it began from, learns from or stays near. */
  readonly uses: ReadonlyArray<string>
}

const placeOf = (address: string) => /^[a-z]+:\/\/[^/\s"]+/.exec(address)?.[0] ?? ""

/** Copies are named after the run, the iteration and the beginning of the digest. */
const digits = 8

export const linksOf = ({ opened, records }: Story.Story): Links => {
  const saved = records.filter((record) => record._tag === "Saved")
  const addresses = JSON.stringify(opened?.identity ?? {}).match(/[a-z]+:\/\/[^/\s"]+/g) ?? []
  return {
    made: new Set(saved.flatMap(({ samplerPath, stateDigest, statePath }) => [
      placeOf(statePath),
      ...(typeof samplerPath === "string" ? [placeOf(samplerPath)] : []),
      ...(typeof stateDigest === "string" ? [stateDigest.slice(0, digits)] : [])
    ])),
    uses: [...new Set(addresses)]
  }
}

/** Whether a checkpoint of the run is at the place. The places of an engine are those of one folder. */
export const hasMade = ({ made }: Links, place: string, isBeside: boolean): boolean =>
  made.has(place.slice(-digits)) || (made.has(place) && (isBeside || !place.startsWith("engine:")))

/** One line about a run. */
export const make = (run: string, known: Known, now: number): Entry.RunLine => {
  const { isWritten, story } = known
  const training = Diagnosis.training(story)
  return {
    run,
    program: story.opened?.program ?? "",
    model: Story.model(story),
    state: Status.of(story, now, isWritten),
    status: statusOf(known),
    done: Story.done(story),
    iterations: story.opened?.iterations ?? null,
    reward: Story.lastUpdated(story)?.reward?.mean ?? null,
    score: scoreOf(story),
    held: heldOf(story),
    measure: training?.name ?? "reward",
    curve: thinned(training?.points.map(({ value }) => value) ?? []),
    method: methodOf(story),
    recipe: Story.launch(story)?.recipe ?? story.opened?.program ?? "",
    tokens: Story.tokens(story),
    dollars: Spending.make(story).dollars.spent ?? null,
    verdict: verdictOf(known),
    at: story.last?.at ?? 0
  }
}
