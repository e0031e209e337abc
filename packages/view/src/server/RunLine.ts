/** A run's line in the list of runs. */
import { CreditText, Diagnosis, Story } from "@effect-rl/core/records"
import { createHash } from "node:crypto"
import type * as Entry from "../story/Entry.ts"
import * as Spending from "../story/Spending.ts"
import * as Status from "../story/Status.ts"

/** A run's story, and whether the run is still being written. */
export interface Known {
  readonly story: Story.Story
  /** Whether a process holds the run open. */
  readonly isWritten: boolean
  /** The findings of an audit, if one was made. */
  readonly findings?: Entry.Findings | undefined
}

const statusOf = ({ isWritten, story: { end } }: Known): Entry.RunLine["status"] => {
  if (end !== undefined) return end._tag === "Failed" ? "failed" : "ended"
  return isWritten ? "running" : "killed"
}

/** The newest of the held-out measurements on which the verdict is based. */
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

/** Maximum number of points in a curve of a word's width. */
const mostPoints = 40

/** Values below this are rounding errors of 0, for example in mean rewards of paired comparisons. */
const nothing = 1e-12

/** The first value, and at most `mostPoints` values at equal distances up to the last. */
const thinned = (values: ReadonlyArray<number>): ReadonlyArray<number | null> => {
  const each = Math.ceil(values.length / mostPoints)
  return values
    .filter((_, at) => at === 0 || (values.length - 1 - at) % each === 0)
    .map((value) => Number.isFinite(value) ? Math.abs(value) < nothing ? 0 : Number(value.toPrecision(4)) : null)
}

/** The run's identity without its seed, as a short text. */
const methodOf = ({ opened }: Story.Story) => {
  const { seed: _, ...identity } = opened?.identity ?? {}
  return createHash("sha256").update(JSON.stringify(identity)).digest("base64url").slice(0, 12)
}

/** The run's verdict. It is not `good` unless the transcripts were audited. */
const verdictOf = ({ findings, isWritten, story }: Known): Entry.RunLine["verdict"] => {
  const { kind, level, sentence } = Diagnosis.of(story, { isWritten, ...findings })
  const isAudited = findings !== undefined
  return { kind, level: isAudited || level !== "good" ? level : "none", sentence, isAudited }
}

/** The names under which other runs' settings refer to the run and its checkpoints. */
export interface Links {
  /** The addresses of the run's checkpoints, and the suffixes of their copies' names. */
  readonly made: ReadonlySet<string>
  /** The addresses of the checkpoints from which the run starts, and those of its teachers and references. */
  readonly uses: ReadonlyArray<string>
}

const placeOf = (address: string) => /^[a-z]+:\/\/[^/\s"]+/.exec(address)?.[0] ?? ""

/** Number of digest digits in a copy's name, which consists of the run, the iteration and the digest. */
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

/** Whether the address is that of a checkpoint of the run, or of a copy. Engine addresses are only compared within one folder. */
export const hasMade = ({ made }: Links, place: string, isBeside: boolean): boolean =>
  made.has(place.slice(-digits)) || (made.has(place) && (isBeside || !place.startsWith("engine:")))

/** Makes the run's line, at the time `now`. */
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
    credit: CreditText.name(story.opened?.identity["credit"]),
    tokens: Story.tokens(story),
    dollars: Spending.make(story).dollars.spent ?? null,
    verdict: verdictOf(known),
    at: story.last?.at ?? 0
  }
}
