/** Rules that every simulated batch must satisfy, whatever fails. Each rule returns its violations. */
import { TerminationReward, type Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { Exit, Option } from "effect"
import * as Batch from "./Batch.ts"
import type * as Ledger from "./Ledger.ts"
import * as Scenario from "./Scenario.ts"

type Complaints = ReadonlyArray<string>
type Rule = (batch: Batch.Batch) => Complaints

const complain = (isWrong: boolean, complaint: string): Complaints => isWrong ? [complaint] : []

/** The results of a finished batch; empty otherwise. */
const resultsOf = ({ simulation: { exit } }: Batch.Batch) =>
  Option.isSome(exit) && Exit.isSuccess(exit.value) ? exit.value.value : []

const isFinished = ({ simulation: { exit } }: Batch.Batch) => Option.isSome(exit) && Exit.isSuccess(exit.value)

const ends: Rule = ({ scenario, simulation: { exit, hang } }) => [
  ...complain(
    Option.isSome(hang),
    `still under way at ${Option.map(hang, ({ millis }) => millis).pipe(String)} ms`
      + ` of ${scenario.deadline}`
  ),
  ...complain(Option.isNone(exit), "interruption did not end it")
]

const releases: Rule = ({ held, ledger, simulation }) => {
  const { sandbox = 0, ...others } = held
  const { inUse, waiting } = ledger.permits
  return [
    ...complain(inUse + waiting > 0, `${inUse} permits in use, ${waiting} requests waiting`),
    ...complain(Object.keys(others).length > 0, `not released: ${JSON.stringify(others)}`),
    ...complain(sandbox !== ledger.abandoned, `${sandbox} sandboxes held, ${ledger.abandoned} abandoned`),
    ...complain(
      simulation.leakedFibers !== ledger.abandoned,
      `${simulation.leakedFibers} fibers left, ${ledger.abandoned} releases abandoned`
    )
  ]
}

/** A batch fails only if its failure policy says so, or with the defect of a release. */
const failsAsTold: Rule = ({ interruptAfter, scenario, simulation: { exit, hang } }) => {
  if (Option.isSome(hang) || Option.isNone(exit) || Exit.isSuccess(exit.value)) return []
  const { otherwise } = scenario.options.onFailure
  const aborts = Object.values(otherwise).includes("abort")
  return exit.value.cause.reasons.flatMap((reason) => {
    switch (reason._tag) {
      case "Interrupt":
        return complain(scenario.killAt === undefined && interruptAfter === undefined, "interrupted by nobody")
      case "Fail":
        return complain(!aborts, `failed with ${reason.error.message}, although nothing aborts`)
      case "Die":
        return complain(otherwise.Died !== "abort", `died of ${String(reason.defect)} although deaths do not abort`)
    }
  })
}

const stopsWhenTold: Rule = ({ simulation: { events, exit } }) => {
  const at = events.findIndex(({ what }) => what === Batch.killed)
  if (at === -1 || (Option.isSome(exit) && Exit.isSuccess(exit.value))) return []
  return events.slice(at + 1)
    .filter(({ what }) => !what.includes(":"))
    .map(({ lane, what }) => `${lane} began ${what} after the caller gave up`)
}

const isInOrder: Rule = (batch) => {
  if (!isFinished(batch)) return []
  const found = resultsOf(batch).map(({ key }) => key).join()
  const expected = batch.scenario.sizes.map((_, group) => `g${group}`).join()
  return complain(found !== expected, `groups ${found}, expected ${expected}`)
}

const tokensOf = ({ observation }: Trajectory.Transition) =>
  observation.chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? Array.from(chunk.tokens) : [])

const livesOf = ({ lives }: Ledger.Ledger, group: number, member: number) =>
  lives.filter((life) => life.group === group && life.member === member)

/** A trajectory contains the turns of its member's last life, as they happened. */
const isLived = (batch: Batch.Batch, group: number, member: number, trajectory: Trajectory.Trajectory): Complaints => {
  const life = livesOf(batch.ledger, group, member).at(-1)
  const who = `g${group}/${member}`
  if (life === undefined) return [`${who} has a trajectory and no life`]
  const { limits = {} } = batch.scenario.options
  const { stepReward, stopReason, transitions } = trajectory
  const rewards = transitions.reduce((sum, { reward }) => sum + reward, 0)
  const isLate = Option.contains(stopReason, "rollout_timeout")
  const missing = life.turns.length - transitions.length
  const sampled = transitions.reduce((sum, { action }) => sum + action.tokens.length, 0)
  return [
    ...complain(transitions.length > (limits.maxTurns ?? Infinity), `${who} has ${transitions.length} turns`),
    ...complain(sampled > (limits.maxSampledTokens ?? Infinity), `${who} sampled ${sampled} tokens`),
    ...complain(
      missing < 0 || missing > Number(isLate),
      `${who} has ${transitions.length} of ${life.turns.length} turns`
    ),
    ...complain(transitions.length > 0 && rewards !== stepReward, `${who} adds up ${stepReward}, not ${rewards}`),
    ...transitions.flatMap((transition, turn) => [
      ...complain(
        tokensOf(transition).slice(0, 3).join() !== [group, member, life.life].join(),
        `${who} shows ${tokensOf(transition).join()} at turn ${turn}`
      ),
      ...complain(
        transition.action.tokens.join() !== life.turns[turn]?.tokens.join(),
        `${who} took another action at turn ${turn}`
      ),
      ...complain(transition.reward !== life.turns[turn]?.reward, `${who} has another reward at turn ${turn}`),
      ...complain(transition.action.logprobs.some(Number.isNaN), `${who} learns from NaN at turn ${turn}`)
    ])
  ]
}

/** A member's reward by the scenario's rules. */
const rewardOf =
  ({ options }: Scenario.Scenario, member: number, all: ReadonlyArray<Trajectory.Trajectory>) =>
  (trajectory: Trajectory.Trajectory) => {
    const { termination = {} } = options
    const isGraded = !TerminationReward.skipsGrading(termination, all)
    const first = trajectory.transitions.length === 0
    const given = { reward: isGraded && !first ? Scenario.groupReward(member) : 0 }
    return trajectory.stepReward + TerminationReward.apply(termination, trajectory, given).reward
  }

const memberRules = (batch: Batch.Batch, result: GroupResult.Completed | GroupResult.Partial, group: number) => {
  const all = result.members.flatMap((member) => Option.toArray(member))
  return result.members.flatMap((survivor, member) => {
    const reward = result.rewardsG[member] ?? NaN
    if (Option.isNone(survivor)) return complain(!Number.isNaN(reward), `g${group}/${member} is dropped and rewarded`)
    const trajectory = survivor.value
    const expected = rewardOf(batch.scenario, member, all)(trajectory)
    return [
      ...isLived(batch, group, member, trajectory),
      ...complain(
        trajectory.transitions.length > 0 && reward !== expected,
        `g${group}/${member} is worth ${reward}, not ${expected}`
      ),
      ...complain(!Number.isFinite(reward), `g${group}/${member} is worth ${reward}`)
    ]
  })
}

const sorted = (values: ReadonlyArray<number>) => values.toSorted((left, right) => left - right).join()

const until = (end: number) => Array.from({ length: end }, (_, index) => index).join()

/** The attempt in which a trajectory was sampled, which is its first token. */
const attemptOf = (trajectory: Trajectory.Trajectory) => trajectory.transitions[0]?.action.tokens[0]

/** Checks that each of a member's attempts except the last one is reported as retried exactly once. */
const retryRules = (result: GroupResult.Completed | GroupResult.Partial, group: number, isCoupled: boolean) => {
  const retriedOf = (member: number) =>
    result.retried.filter((report) => report.member === member).map(({ attempt }) => attempt)
  const dropped = result._tag === "Partial" ? result.dropped : []
  const lasts = result.members.flatMap((survivor, member) => {
    const last = Option.isSome(survivor)
      ? attemptOf(survivor.value)
      : dropped.find((report) => report.member === member)?.attempt
    return last === undefined ? [] : [{ member: isCoupled ? -1 : member, last }]
  })
  return lasts.flatMap(({ last, member }) => {
    const retried = sorted(retriedOf(member))
    return complain(retried !== until(last), `g${group}/${member} ended in attempt ${last}, retried were ${retried}`)
  })
}

const countRules = (result: GroupResult.GroupResult, size: number, group: number): Complaints => {
  const dropped = result._tag === "Completed" ? [] : result.dropped.map(({ member }) => member)
  const twice = complain(new Set(dropped).size !== dropped.length, `g${group} dropped ${dropped.join()}`)
  if (result._tag === "Skipped") {
    return [...twice, ...complain(result.size !== size, `g${group} has size ${result.size}`)]
  }
  const survivors = result.members.flatMap((member, index) => Option.isSome(member) ? [index] : [])
  const all = sorted([...survivors, ...dropped])
  return [
    ...twice,
    ...complain(all !== until(size), `g${group} accounts for ${all}, of ${size} members`),
    ...complain((result._tag === "Partial") !== dropped.length > 0, `g${group} is ${result._tag}`),
    ...complain(survivors.length === 0, `g${group} has no member and is not skipped`)
  ]
}

const addsUp: Rule = (batch) =>
  resultsOf(batch).flatMap((result, group) => {
    const size = batch.scenario.sizes[group] ?? 0
    const isCoupled = batch.scenario.coupled[group] === true
    const { iteration: _, samplerStep = 0 } = batch.scenario.options
    return result._tag === "Skipped" ? countRules(result, size, group) : [
      ...countRules(result, size, group),
      ...memberRules(batch, result, group),
      ...retryRules(result, group, isCoupled),
      ...complain(result.samplerStep !== samplerStep, `g${group} was sampled at step ${result.samplerStep}`),
      ...complain(result.tags.join() !== `tag ${group}`, `g${group} has tags ${result.tags.join()}`)
    ]
  })

const rules: Readonly<Record<string, Rule>> = {
  "it ends by its deadline": ends,
  "what is acquired is released": releases,
  "it fails as told": failsAsTold,
  "nothing begins after the caller gave up": stopsWhenTold,
  "groups come in order": isInOrder,
  "accounting adds up": addsUp
}

/** The violations of all rules. */
export const broken = (batch: Batch.Batch): Complaints =>
  Object.entries(rules).flatMap(([name, rule]) => rule(batch).map((complaint) => `${name}: ${complaint}`))
