/** Converts a group's payload to the values that the page shows. */
import type { EnvMetric } from "@effect-rl/core"
import { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { Conversation, Departure, Story, type TrainedTokens } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Entry from "../story/Entry.ts"
import type { Language } from "./Languages.ts"
import type * as LossTerms from "./LossTerms.ts"
import type { Read } from "./ReadResponse.ts"
import * as TrainedTurns from "./TrainedTurns.ts"

const finite = (value: number) => Number.isFinite(value) ? value : null

const logsOf = (logs: Readonly<Record<string, string | number>>): Entry.Logs =>
  Object.fromEntries(
    Object.entries(logs).map(([name, value]) => [name, typeof value === "number" ? finite(value) : value])
  )

const metricsOf = (metrics: EnvMetric.Metrics) =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [name, metric.kind === "rate" ? metric.hit : finite(metric.value)])
  )

/** The data that a transcript needs besides the records. */
export interface Context extends Language {
  readonly story: Story.Story
  readonly group: Entry.Group
  /** The update's effects on the group's tokens; empty if the run did not record them. */
  readonly datums: ReadonlyArray<TrainedTokens.Datum>
  /** The loss to show; undefined if it cannot be computed. */
  readonly loss: LossTerms.TokenLoss | undefined
}

/** Reasons why no token of a group is trained on. */
const masks: Readonly<Record<Story.GroupCredit["verdict"] | "uncredited", string>> = {
  uncredited: "its group has not been part of an update yet",
  informative: "no advantage is recorded for its member",
  constant: "the rewards of its group are all equal",
  skipped: "its group was given up",
  quarantined: "its group is quarantined, as an audit suspects it",
  filtered: "its group was left out, as it teaches nothing",
  stale: "its group was left out, as it is too old"
}

/** Why no token of a turn is trained on; null if the turn is trained on. */
const maskOf = (
  { group, story }: Context,
  { trainable }: Trajectory.Transition,
  advantage: number | null | undefined
): string | null => {
  if (group.evaluator !== undefined) return "evaluations are not trained on"
  if (!trainable) return "its environment excludes this turn"
  if (advantage !== undefined) return null
  return masks[Story.credit(story, group)?.verdict ?? "uncredited"]
}

const creditOf = (
  context: Context,
  transition: Trajectory.Transition,
  advantage: number | null | undefined,
  trainedTurn: TrainedTurns.TrainedTurn | undefined
): Entry.TurnCredit => {
  const { logprobs } = transition.action
  const masked = maskOf(context, transition, advantage)
  const known = masked === null ? trainedTurn : undefined
  const trained = Array.from(
    logprobs,
    (sampler, at) => ({
      sampler,
      trainer: known?.logprobs[at] ?? sampler,
      advantage: known?.advantages[at] ?? (masked === null ? advantage ?? 0 : 0)
    })
  )
  return {
    masked,
    advantages: trained.map(({ advantage }) => advantage),
    trainer: known === undefined ? null : Array.from(known.logprobs, finite),
    loss: masked === null ? context.loss?.(trained) ?? null : null
  }
}

/** Data shared by a member's turns. */
interface Told {
  /** The optimizer step of the weights with which the group began. */
  readonly samplerStep: number
  readonly readings: ReadonlyArray<Read | null>
  readonly places: ReadonlyArray<Entry.TurnMessages>
  readonly departures: ReadonlyArray<Departure.Departure> | null
}

const turnOf = (
  context: Context,
  trajectory: Trajectory.Trajectory,
  advantage: number | null | undefined,
  trained: ReadonlyMap<number, TrainedTurns.TrainedTurn>,
  { departures, places, readings, samplerStep }: Told
) =>
(transition: Trajectory.Transition, index: number): Entry.TurnView => {
  const { action, branch = null, metrics, observation, reward, times = null, trainable } = transition
  const prompt = Conversation.promptTokens(observation)
  const tokens = Array.from(action.tokens)
  return {
    place: places[index] ?? { first: 0, response: 0 },
    prompt,
    tokens,
    promptPieces: context.texts(prompt),
    pieces: context.texts(tokens),
    said: readings[index]?.parts ?? null,
    logprobs: Array.from(action.logprobs, finite),
    stopReason: action.stopReason,
    samplerStep: action.samplerStep ?? samplerStep,
    reward: finite(reward),
    trainable,
    metrics: metricsOf(metrics),
    logs: logsOf(Trajectory.texts(trajectory, index)),
    branch,
    departure: departures?.find(({ turn }) => turn === index)?.detail ?? null,
    times,
    credit: creditOf(context, transition, advantage, trained.get(index))
  }
}

/** The indices of each turn's messages among its member's messages. */
const placesOf = (turns: ReadonlyArray<Conversation.Turn>): ReadonlyArray<Entry.TurnMessages> => {
  let next = 0
  return turns.map(({ shown }) => {
    const first = next
    next += shown.length + 1
    return { first, response: first + shown.length }
  })
}

const memberOf = Effect.fnUntraced(function*(
  context: Context,
  { metricsG, samplerStep }: GroupResult.Group,
  index: number,
  trajectory: Trajectory.Trajectory
) {
  const { logs = {}, stepReward, stopReason, transitions } = trajectory
  const trained = TrainedTurns.ofMember(context.datums, index, transitions)
  const readings = yield* Effect.forEach(transitions, ({ action: { tokens } }) => context.reading(tokens))
  const turns = Conversation.make(trajectory, readings.map((read) => read?.message), context.decode)
  const advantage = Story.advantages(context.story, context.group)[index]
  const told: Told = {
    samplerStep,
    readings,
    places: placesOf(turns),
    departures: yield* Departure.known(trajectory, turns, context.renderer)
  }
  const view: Entry.MemberView = {
    stepReward: finite(stepReward),
    stopReason: Option.getOrNull(stopReason),
    logs: logsOf(logs),
    metrics: metricsOf(metricsG[index] ?? {}),
    turns: transitions.map(turnOf(context, trajectory, advantage, trained, told)),
    messages: Conversation.toOpenAi(turns),
    tools: Conversation.toOpenAiTools(turns)
  }
  return view
})

const membersOf = (context: Context, group: GroupResult.Group) =>
  Effect.forEach(group.members, (member, index) =>
    Option.match(member, {
      onNone: () => Effect.succeed(null),
      onSome: (trajectory) => memberOf(context, group, index, trajectory)
    }))

/** A group's transcripts, as the page shows them. */
export const make = Effect.fnUntraced(function*(context: Context, result: GroupResult.GroupResult) {
  const view: Entry.GroupView = {
    key: result.key,
    outcome: result._tag,
    milliseconds: context.group.milliseconds,
    lost: GroupResult.lost(result).map(({ failure, message }) => ({ failure, message })),
    ...(GroupResult.isSkipped(result)
      ? { grading: null, rewards: [], members: [] }
      : {
        grading: result.grading ?? null,
        rewards: Array.from(result.rewardsG, finite),
        members: yield* membersOf(context, result)
      })
  }
  return view
})
