/** The rollouts of a recorded run: their trajectories, and how updates used them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Trajectory from "../env/Trajectory.ts"
import * as Key from "../records/Key.ts"
import type { RunError, RunReader } from "../records/RunStore.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as GroupPayload from "../rollout/payload/GroupPayload.ts"
import * as Conversation from "./Conversation.ts"
import * as Departure from "./Departure.ts"
import type * as Recorded from "./Recorded.ts"
import * as Story from "./Story.ts"
import * as StoryReader from "./StoryReader.ts"

/** Why a group's payload cannot be read: it is missing, truncated or changed. */
export type Damage = RunError | GroupPayload.GroupPayloadError

/** A group with its trajectories. */
export interface RecordedGroup {
  readonly record: Recorded.Group
  readonly result: GroupResult.GroupResult
  /** The group's index in its batch. */
  readonly index: number
  /** One advantage per member; empty if the group received none. */
  readonly advantages: ReadonlyArray<number>
}

/** A group whose payload cannot be read. */
export interface DamagedGroup {
  readonly record: Recorded.Group
  readonly damage: Damage
}

/** A batch with the trajectories of its groups. Groups without a payload are left out. */
export interface Loaded {
  readonly story: Story.Story
  readonly batch: Story.Batch
  readonly groups: ReadonlyArray<RecordedGroup>
  readonly damaged: ReadonlyArray<DamagedGroup>
}

type Payloads = Pick<RunReader, "payload">

/** The group's trajectories; undefined if its record has no payload. */
export const result = (
  { payload }: Payloads,
  record: Pick<Recorded.Group, "payload">
): Effect.Effect<GroupResult.GroupResult | undefined, Damage> =>
  record.payload === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(payload(record.payload), GroupPayload.decode)

/** Loads a batch with the trajectories of its groups. */
export const load = Effect.fnUntraced(function*(run: Payloads, story: Story.Story, batch: Story.Batch) {
  const groups: Array<RecordedGroup> = []
  const damaged: Array<DamagedGroup> = []
  for (const [index, record] of batch.groups.entries()) {
    const read = yield* Effect.result(result(run, record))
    if (Result.isFailure(read)) damaged.push({ record, damage: read.failure })
    else if (read.success !== undefined) {
      groups.push({ record, result: read.success, index, advantages: Story.advantages(story, record) })
    }
  }
  const loaded: Loaded = { story, batch, groups, damaged }
  return loaded
})

/** Called for each group that a reader leaves out; logs a warning by default. */
export const LeftOut = Context.Reference<(group: DamagedGroup) => Effect.Effect<void>>(
  "@effect-rl/core/story/Rollouts/LeftOut",
  {
    defaultValue: () => ({ damage, record }) =>
      Effect.logWarning(`group ${Key.describeGroup(record)} is left out: ${damage.message}`)
  }
)

/** Reports that a reader leaves the group out. */
export const leaveOut = (group: DamagedGroup): Effect.Effect<void> => Effect.flatMap(LeftOut, (say) => say(group))

/** Reports the damaged groups, and returns the readable ones. */
export const readable = ({ damaged, groups }: Loaded): Effect.Effect<ReadonlyArray<RecordedGroup>> =>
  Effect.as(Effect.forEach(damaged, leaveOut, { discard: true }), groups)

/**
 * Streams a run's batches with their trajectories; only one batch is in memory at a time.
 *
 * @example
 * const longest = Rollouts.stream(reader).pipe(
 *   Stream.flatMap(({ groups }) => Stream.fromIterable(groups.flatMap(Rollouts.members))),
 *   Stream.runFold(() => 0, (most, { trajectory }) => Math.max(most, Trajectory.actionTokens(trajectory)))
 * )
 */
export const stream = (run: RunReader): Stream.Stream<Loaded, RunError> =>
  Stream.unwrap(
    Effect.map(StoryReader.read(run), (story) =>
      Stream.mapEffect(Stream.fromIterable(Story.batches(story)), (batch) => load(run, story, batch)))
  )

/** A member that finished, with its trajectory, reward and advantage. */
export interface Member {
  readonly group: RecordedGroup
  readonly member: number
  readonly trajectory: Trajectory.Trajectory
  readonly reward: number
  /** The member's advantage; undefined if the group received none. */
  readonly advantage: number | undefined
}

/** The members that finished, in order. */
export const members = (group: RecordedGroup): ReadonlyArray<Member> => {
  const { advantages, result } = group
  return GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([member, trajectory]) => ({
      group,
      member,
      trajectory,
      reward: result.rewardsG[member] ?? NaN,
      advantage: advantages[member]
    }))
}

/** A finished member with its conversation. */
export interface Told extends Member {
  readonly turns: ReadonlyArray<Conversation.Turn>
  /** The turns whose prompts render differently from the recorded tokens; null if the run's renderer is unknown. */
  readonly departures: ReadonlyArray<Departure.Departure> | null
}

/** The finished members in order, each with its conversation as the language reads it. */
export const told = (group: RecordedGroup, language?: Conversation.Language): Effect.Effect<ReadonlyArray<Told>> =>
  Effect.forEach(
    members(group),
    Effect.fnUntraced(function*(member: Member) {
      const turns = yield* Conversation.read(member.trajectory, language)
      const departures = yield* Departure.known(member.trajectory, turns, language?.renderer)
      const told: Told = { ...member, turns, departures }
      return told
    })
  )
