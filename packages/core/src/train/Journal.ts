/** What a run writes down of its iterations. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as History from "../data/History.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import { type Json, jsonNumber, type JsonObject, RunError, RunStore } from "../record/RunStore.ts"
import * as GroupResult from "../rollout/GroupResult.ts"

/** Metrics of one iteration or evaluation, under the step's number. */
export const metrics = Effect.fnUntraced(function*(step: number, values: Readonly<Record<string, number>>) {
  const store = yield* RunStore
  const encoded = Object.entries(values).map(([name, value]) => [name, jsonNumber(value)] as const)
  yield* store.append("metrics", { step, ...Object.fromEntries(encoded) })
})

const member = (trajectory: Trajectory): Json => ({
  stop_reason: Option.getOrNull(trajectory.stopReason),
  tokens: trajectory.transitions.map(({ action }) => Array.from(action.tokens))
})

const droppedRecord = (dropped: ReadonlyArray<GroupResult.FailureReport>): Json =>
  dropped.map(({ attempt, failure, member, message }) => ({ member, attempt, reason: failure, message }))

const groupRecord = (result: GroupResult.GroupResult): JsonObject =>
  GroupResult.isSkipped(result)
    ? {
      result: result._tag,
      key: result.key,
      reason: result.reason.failure,
      message: result.reason.message,
      dropped: droppedRecord(result.dropped)
    }
    : {
      result: result._tag,
      key: result.key,
      sampler_step: result.samplerStep,
      rewards: Array.from(result.rewardsG, jsonNumber),
      members: result.members.map((trajectory) => Option.match(trajectory, { onNone: () => null, onSome: member })),
      dropped: droppedRecord(result._tag === "Partial" ? result.dropped : [])
    }

/** Every group of an iteration: rewards, stop reasons and sampled tokens, dropped members as null, and why they were. */
export const groups = Effect.fnUntraced(function*(step: number, results: ReadonlyArray<GroupResult.GroupResult>) {
  const store = yield* RunStore
  yield* Effect.forEach(results, (result) => store.append("events", { type: "group", step, ...groupRecord(result) }), {
    discard: true
  })
})

/** What the groups of an iteration add to a run's history. */
export const outcomes = (
  iteration: number,
  results: ReadonlyArray<GroupResult.GroupResult>
): ReadonlyArray<History.Outcome> =>
  results.map((result) => ({
    iteration,
    key: result.key,
    rewards: GroupResult.isSkipped(result) ? [] : Array.from(result.rewardsG).filter(Number.isFinite)
  }))

const Outcome = Schema.Struct({
  type: Schema.Literal("group"),
  step: Schema.Int,
  key: Schema.String,
  rewards: Schema.optionalKey(Schema.Array(Schema.Union([Schema.Finite, Schema.Literals(["NaN"])])))
})

const decodeOutcome = Schema.decodeUnknownEffect(Outcome)

/** The history of a stored run before `iteration`. */
export const history = Effect.fnUntraced(function*(iteration: number) {
  const store = yield* RunStore
  const groups = (yield* store.read("events")).filter(({ type }) => type === "group")
  const outcomes = yield* Effect.forEach(groups, (record) =>
    Effect.mapBoth(decodeOutcome(record), {
      onFailure: ({ message }) => new RunError({ run: store.name, detail: `a group in its events: ${message}` }),
      onSuccess: ({ key, rewards = [], step }): History.Outcome => ({
        key,
        iteration: step,
        rewards: rewards.filter((reward) => reward !== "NaN")
      })
    }))
  return History.fromOutcomes(outcomes.filter((outcome) => outcome.iteration < iteration))
})
