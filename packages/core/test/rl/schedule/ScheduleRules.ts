/** Rules that every schedule must satisfy, whatever the groups do. Each rule returns its violations. */
import { type Pace, RunRecord } from "@effect-rl/core"
import { type DynamicSampling, GroupResult } from "@effect-rl/core/program"
import type * as Schedules from "./Schedules.ts"

/** A run's records, and what was observed from outside. */
export interface Story {
  readonly world: Schedules.World
  readonly pace: Required<Pace.AsyncSettings>
  readonly dynamic: Required<DynamicSampling.DynamicSettings>
  readonly records: ReadonlyArray<RunRecord.RunRecord>
  readonly seen: Schedules.Seen
  /** It came to its end. */
  readonly isOver: boolean
}

type Rule = (story: Story) => ReadonlyArray<string>

const complain = (isWrong: boolean, complaint: string): ReadonlyArray<string> => isWrong ? [complaint] : []

type Credit = RunRecord.Credited["groups"][number]

const credits = ({ records }: Story) =>
  records.filter(RunRecord.guards.Credited).flatMap(({ groups, iteration }) =>
    groups.map((group) => ({ iteration, group, age: ageOf(group) }))
  )

const ageOf = ({ staleness }: Credit) => (staleness?.inFlight ?? NaN) + (staleness?.inQueue ?? NaN)

const isCounted = ({ verdict }: Credit) => verdict !== "filtered" && verdict !== "stale"

/** The recorded start of each group; the last start counts. */
const begun = ({ records }: Story) =>
  new Map(
    records.filter(RunRecord.guards.Sampling).flatMap(({ begun = [] }) =>
      begun.map(({ began, key }) => [key, began] as const)
    )
  )

const isYoung: Rule = (story) =>
  credits(story).flatMap(({ age, group, iteration }) =>
    complain(
      isCounted(group) && age > story.pace.maxStepsOffPolicy,
      `iteration ${iteration} trains on group ${group.key}, ${age} iterations old`
    )
  )

const agesAreTrue: Rule = (story) => {
  const updates = story.records.filter(RunRecord.guards.Updated)
  const stepsBefore = (iteration: number) =>
    updates.filter((update) => update.iteration < iteration).reduce((sum, { updates }) => sum + updates.length, 0)
  return credits(story).flatMap(({ age, group, iteration }) => {
    const steps = story.seen.sampled.filter(({ key }) => key === group.key).map(({ step }) => step)
    const begun = stepsBefore(iteration - age)
    return complain(
      steps.length > 0 && !steps.includes(begun),
      `group ${group.key} is ${age} old in iteration ${iteration}, and was sampled at steps ${steps.join()}`
    )
  })
}

const excessIsCounted: Rule = (story) =>
  story.records.filter(RunRecord.guards.Updated).flatMap(({ iteration, metrics }) => {
    const old = credits(story).filter((credit) =>
      credit.iteration === iteration && isCounted(credit.group) && credit.age > story.pace.maxStepsOffPolicy
    )
    return complain(metrics["async/excess"] !== old.length, `iteration ${iteration} says ${metrics["async/excess"]}`)
  })

/** Each requested group is trained on, filtered or dropped as stale exactly once, or cancelled at the end. */
const endsOnce: Rule = (story) => {
  const keys = credits(story).map(({ group }) => group.key)
  const asked = begun(story)
  return [
    ...complain(new Set(keys).size !== keys.length, `groups end twice: ${keys.join()}`),
    ...keys.flatMap((key) => complain(!asked.has(key), `group ${key} was never asked for`)),
    ...story.seen.opened.flatMap(({ key }) =>
      complain(
        story.isOver && !asked.has(key),
        `group ${key} was opened and not recorded as begun`
      )
    )
  ]
}

const nothingIsLeft: Rule = (story) => {
  const ended = new Set(credits(story).map(({ group }) => group.key))
  const keys = story.world.batches.flat().map((_, index) => String(index))
  const isWhole = story.world.batches.every(({ length }) => placesOf(story, length) >= length)
  return keys.flatMap((key) => complain(story.isOver && isWhole && !ended.has(key), `group ${key} was left`))
}

/** The number of groups in an update whose batch has `size` groups. */
const placesOf = ({ dynamic: { maxBatches, minInformative } }: Story, size: number) =>
  minInformative === 0 ? size : Math.min(minInformative, maxBatches * size)

/** The groups that were filtered while an iteration collected and trained on its groups. */
const filteredDuring = (story: Story, iteration: number) =>
  credits(story).filter((credit) =>
    credit.group.verdict === "filtered" && credit.iteration - (credit.group.staleness?.inQueue ?? NaN) === iteration
  ).length

const updatesAreWhole: Rule = (story) => {
  const { dynamic, records, world } = story
  const batches = records.filter(RunRecord.guards.Credited).map(({ groups, iteration }) => {
    const size = world.batches[iteration]?.length ?? 0
    const counted = groups.filter(isCounted).length
    const isSpent = dynamic.minInformative > 0 &&
      filteredDuring(story, iteration) + counted >= dynamic.maxBatches * size
    return { iteration, counted, isSpent, places: placesOf(story, size) }
  })
  return batches.slice(0, -1).flatMap(({ counted, isSpent, iteration, places }) =>
    complain(
      counted > places || (counted < places && !isSpent),
      `iteration ${iteration} trains on ${counted} of ${places} groups`
    )
  )
}

/** An iteration replaces groups up to maxBatches. Groups that were started ahead of it may be filtered too. */
const samplesNoMore: Rule = (story) => {
  const { dynamic, pace, world } = story
  if (dynamic.minInformative === 0) return []
  return world.batches.flatMap(({ length: size }, iteration) => {
    const ahead = world.batches.slice(iteration, iteration + pace.maxStepsOffPolicy + 1)
    const slots = ahead.reduce((sum, { length }) => sum + placesOf(story, length), 0)
    const most = dynamic.maxBatches * size - placesOf(story, size) + slots
    const filtered = filteredDuring(story, iteration)
    return complain(filtered > most, `iteration ${iteration} filters ${filtered} groups, ${most} may be`)
  })
}

const admitsNoMore: Rule = ({ dynamic, pace, records, world }) => {
  // Filtered and stale groups free their places immediately, but are recorded with the next update, so this count would be too high.
  if (dynamic.minInformative > 0 || pace.onStale === "drop") return []
  const outstanding = new Set<string>()
  return records.flatMap((record) => {
    if (record._tag === "Credited") { for (const { key } of record.groups) outstanding.delete(key) }
    if (record._tag !== "Sampling") return []
    for (const { key } of record.begun ?? []) outstanding.add(key)
    const slots = Math.max(
      ...(record.begun ?? []).map(({ began }) =>
        world.batches.slice(began, began + pace.maxStepsOffPolicy + 1).flat().length
      )
    )
    return complain(
      outstanding.size > slots,
      `${outstanding.size} groups on ${slots} slots in iteration ${record.iteration}`
    )
  })
}

const filtersAsTold: Rule = (story) =>
  credits(story).flatMap(({ group: { key, verdict } }) => {
    const group = story.world.batches.flat()[Number(key)]
    const isInformative = group?.isConstant !== true && group?.seconds !== undefined
    return [
      ...complain(verdict === "filtered" && isInformative, `group ${key} was filtered`),
      ...complain(
        story.dynamic.minInformative > 0 && !isInformative && verdict !== "filtered" && verdict !== "stale",
        `group ${key} takes a place`
      )
    ]
  })

const dropsAsTold: Rule = (story) =>
  credits(story).flatMap(({ age, group: { key, verdict } }) =>
    complain(
      verdict === "stale" && (story.pace.onStale !== "drop" || age <= story.pace.maxStepsOffPolicy),
      `group ${key} was dropped, ${age} iterations old`
    )
  )

const rules: Readonly<Record<string, Rule>> = {
  "nothing is trained on that is too old": isYoung,
  "ages are what the backend saw": agesAreTrue,
  "every excess age is counted": excessIsCounted,
  "every group ends once": endsOnce,
  "no group is left": nothingIsLeft,
  "updates are whole but for the last": updatesAreWhole,
  "no more is sampled for an update than may be": samplesNoMore,
  "no more groups are on their way than may be": admitsNoMore,
  "what is filtered has no signal": filtersAsTold,
  "what is dropped is too old": dropsAsTold
}

/** The violations of all rules. */
export const broken = (story: Story): ReadonlyArray<string> =>
  Object.entries(rules).flatMap(([name, rule]) => rule(story).map((complaint) => `${name}: ${complaint}`))

/**
 * Turns that were sampled with other weights than recorded or allowed. In these worlds, tokens are the step numbers of the weights that
 * sampled them.
 */
export const brokenTurns = (
  { turnWeights }: Story["pace"],
  results: ReadonlyArray<GroupResult.GroupResult>
): ReadonlyArray<string> =>
  results.flatMap((result) =>
    GroupResult.isSkipped(result) ? [] : GroupResult.survivors(result).flatMap(([member, { transitions }]) => {
      const sampled = transitions.map(({ action: { tokens } }) => tokens[0])
      const told = transitions.map(({ action: { samplerStep } }) => samplerStep ?? result.samplerStep)
      const name = `member ${member} of group ${result.key}`
      return [
        ...complain(sampled.join() !== told.join(), `${name} was sampled at the steps ${sampled}, and says ${told}`),
        ...complain(turnWeights === "pinned" && new Set(told).size > 1, `${name} has turns of the steps ${told}`)
      ]
    })
  )
