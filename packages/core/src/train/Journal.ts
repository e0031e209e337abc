/** What a run writes down of its iterations. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Trajectory } from "../env/Trajectory.ts"
import { type Json, jsonNumber, type JsonObject, RunStore } from "../record/RunStore.ts"
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

const groupRecord = (result: GroupResult.GroupResult): JsonObject =>
  GroupResult.isSkipped(result)
    ? { result: result._tag, key: result.key, reason: result.reason.failure, message: result.reason.message }
    : {
      result: result._tag,
      key: result.key,
      sampler_step: result.samplerStep,
      rewards: Array.from(result.rewardsG, jsonNumber),
      members: result.members.map((trajectory) => Option.match(trajectory, { onNone: () => null, onSome: member }))
    }

/** Every group of an iteration: rewards, stop reasons and sampled tokens, dropped members as null. */
export const groups = Effect.fnUntraced(function*(step: number, results: ReadonlyArray<GroupResult.GroupResult>) {
  const store = yield* RunStore
  yield* Effect.forEach(results, (result) => store.append("events", { type: "group", step, ...groupRecord(result) }), {
    discard: true
  })
})
