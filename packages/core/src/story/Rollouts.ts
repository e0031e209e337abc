/** The rollouts of a recorded run with their trajectories, and what updates made of them. */
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

/** Why the payload of a group cannot be read: it was lost, cut or changed. */
export type Damage = RunError | GroupPayload.GroupPayloadError

/** A group as it was rolled out. */
export interface RecordedGroup {
  readonly record: Recorded.Group
  readonly result: GroupResult.GroupResult
  /** Position in its batch. */
  readonly index: number
  /** One per member; empty where no update used the group. */
  readonly advantages: ReadonlyArray<number>
}

/** A group whose payload cannot be read. */
export interface DamagedGroup {
  readonly record: Recorded.Group
  readonly damage: Damage
}

/** A batch with the trajectories of its groups, without groups whose records have no payload. */
export interface Loaded {
  readonly story: Story.Story
  readonly batch: Story.Batch
  readonly groups: ReadonlyArray<RecordedGroup>
  readonly damaged: ReadonlyArray<DamagedGroup>
}

type Payloads = Pick<RunReader, "payload">

/** The group's trajectories; undefined where its record has no payload. */
export const result = (
  { payload }: Payloads,
  record: Pick<Recorded.Group, "payload">
): Effect.Effect<GroupResult.GroupResult | undefined, Damage> =>
  record.payload === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(payload(record.payload), GroupPayload.decode)

/** A batch of the run with the trajectories of its groups. */
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

/** What follows where a reader leaves a group out: a warning, unless something else is provided. */
export const LeftOut = Context.Reference<(group: DamagedGroup) => Effect.Effect<void>>(
  "@effect-rl/core/story/Rollouts/LeftOut",
  {
    defaultValue: () => ({ damage, record }) =>
      Effect.logWarning(`group ${Key.describeGroup(record)} is left out: ${damage.message}`)
  }
)

/** Says that a reader leaves the group out. */
export const leaveOut = (group: DamagedGroup): Effect.Effect<void> => Effect.flatMap(LeftOut, (say) => say(group))

/** Says which groups cannot be read, and gives the others. */
export const readable = ({ damaged, groups }: Loaded): Effect.Effect<ReadonlyArray<RecordedGroup>> =>
  Effect.as(Effect.forEach(damaged, leaveOut, { discard: true }), groups)

/**
 * The batches of a run, one after the other with their trajectories, so that no more than one is in memory.
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

/** A member that finished. */
export interface Member {
  readonly group: RecordedGroup
  readonly member: number
  readonly trajectory: Trajectory.Trajectory
  readonly reward: number
  /** Undefined where no update used it. */
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

/** A member that finished, with what was said. */
export interface Told extends Member {
  readonly turns: ReadonlyArray<Conversation.Turn>
  /** The turns whose prompts, rendered again from what was said, are not the recorded tokens; null where the run's renderer is not known. */
  readonly departures: ReadonlyArray<Departure.Departure> | null
}

/** The members that finished, in order, with what was said as the language reads it. */
export const told = (group: RecordedGroup, language?: Conversation.Language): Effect.Effect<ReadonlyArray<Told>> =>
  Effect.forEach(
    members(group),
    Effect.fnUntraced(function*(member: Member) {
      const turns = yield* Conversation.read(member.trajectory, language)
      const departures = yield* Departure.known(member.trajectory, turns, language?.render)
      const told: Told = { ...member, turns, departures }
      return told
    })
  )
