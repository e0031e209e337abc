/** The payload of a group as values that the page shows. */
import { GroupPayload, GroupResult, type Metric, type ModelInput, type Trajectory } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Entry from "../story/Entry.ts"

const finite = (value: number) => Number.isFinite(value) ? value : null

const logsOf = (logs: Readonly<Record<string, string | number>>): Entry.Logs =>
  Object.fromEntries(
    Object.entries(logs).map(([name, value]) => [name, typeof value === "number" ? finite(value) : value])
  )

const metricsOf = (metrics: Metric.Metrics) =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [name, metric.kind === "rate" ? metric.hit : finite(metric.value)])
  )

const promptOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk): ReadonlyArray<number | null> =>
    chunk._tag === "Image" ? Array.from({ length: chunk.expectedTokens }, () => null) : Array.from(chunk.tokens)
  )

const turnOf = (
  { action, fork, logs, metrics, observation, reward, trainable }: Trajectory.Transition
): Entry.TurnView => ({
  prompt: promptOf(observation),
  tokens: Array.from(action.tokens),
  logprobs: Array.from(action.logprobs, finite),
  stopReason: action.stopReason,
  reward: finite(reward),
  trainable,
  metrics: metricsOf(metrics),
  logs: logsOf(logs),
  fork: fork ?? null
})

const memberOf = ({ logs = {}, stepReward, stopReason, transitions }: Trajectory.Trajectory): Entry.MemberView => ({
  stepReward: finite(stepReward),
  stopReason: Option.getOrNull(stopReason),
  logs: logsOf(logs),
  turns: transitions.map(turnOf)
})

const viewOf = (result: GroupResult.GroupResult): Entry.GroupView => ({
  key: result.key,
  outcome: result._tag,
  lost: GroupResult.lost(result).map(({ failure, message }) => ({ failure, message })),
  ...(GroupResult.isSkipped(result)
    ? { samplerStep: null, rewards: [], members: [] }
    : {
      samplerStep: result.samplerStep,
      rewards: Array.from(result.rewardsG, finite),
      members: result.members.map((member) => Option.getOrNull(Option.map(member, memberOf)))
    })
})

/** The transcripts of a group from the payload of its record. */
export const decode = (payload: string): Effect.Effect<Entry.GroupView, GroupPayload.GroupPayloadError> =>
  Effect.map(GroupPayload.decode(payload), viewOf)
