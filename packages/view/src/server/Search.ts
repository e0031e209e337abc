/** Full-text search over a run's prompts, responses and environment logs. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { Conversation, GroupPayload, NewTokens, type Story } from "@effect-rl/core/records"
import type { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as Hits from "../story/Hits.ts"

type Decode = Tokenizer.Tokenizer["decode"]

const memberOf = (trajectory: Trajectory.Trajectory, decode: Decode): Hits.Member => {
  const { logs = {}, transitions } = trajectory
  const turns = transitions.map(({ action: { tokens }, branch, observation }, index) => ({
    logs: Trajectory.texts(trajectory, index),
    prompt: Conversation.promptTokens(observation),
    tokens,
    branch
  }))
  return {
    logs,
    turns: turns.map(({ logs, prompt, tokens }, index) => ({
      logs,
      prompt: () => decode(prompt.slice(NewTokens.from(turns, index)).filter((token) => token !== null)),
      response: () => decode(tokens)
    }))
  }
}

const hitsIn = (result: GroupResult.GroupResult, group: Entry.Group, sought: string, decode: Decode) =>
  GroupResult.isSkipped(result) ?
    [] :
    GroupResult.survivors(result).flatMap(([member, trajectory]) =>
      Hits.inMember(memberOf(trajectory, decode), sought).map((hit): Entry.Hit => ({
        sequence: group.sequence,
        iteration: group.iteration,
        evaluator: group.evaluator ?? null,
        key: group.key,
        member,
        ...hit
      }))
    )

/** Whether the text occurs in the payload's logs; searching is cheaper than decoding the payload. */
const isLogged = (payload: string, sought: string) =>
  payload.toLowerCase().includes(JSON.stringify(sought).slice(1, -1))

/** A group with its payload's location. */
interface Recorded {
  readonly group: Entry.Group
  readonly range: RunRecord.Payload
}

const recorded = (group: Entry.Entry): ReadonlyArray<Recorded> => {
  if (group._tag !== "GroupRolledOut" || group.payload === undefined) return []
  return [{ group, range: group.payload }]
}

/**
 * Hits in groups that logged the text, then hits in the decoded tokens of the other groups, if the model's tokenizer is available. Both
 * passes start with the newest groups. The last value says what was searched and what could not be. The search ignores case.
 */
export const run = (
  reader: RunStore.RunReader,
  story: Story.Story,
  text: string,
  decode: Decode | undefined
): Stream.Stream<Entry.Hit | Entry.Searched> => {
  const sought = text.toLowerCase()
  const groups = story.records.flatMap(recorded).toReversed()
  const silent: Array<Recorded> = []
  let searched = 0
  let unread = 0
  let reason: string | null = null
  const hits = Effect.fnUntraced(function*(payload: string, group: Entry.Group) {
    const result = yield* GroupPayload.decode(payload)
    searched++
    return hitsIn(result, group, sought, decode ?? (() => ""))
  })
  /** An unreadable group has no hits; the end of the search reports the error. */
  const readable = Effect.catch((error: RunStore.RunError | GroupPayload.GroupPayloadError) =>
    Effect.sync((): ReadonlyArray<Entry.Hit> => {
      unread++
      reason ??= error.message
      return []
    })
  )
  const inLogs = Effect.fnUntraced(function*(one: Recorded) {
    const payload = yield* reader.payload(one.range)
    if (isLogged(payload, sought)) return yield* hits(payload, one.group)
    if (decode === undefined) searched++
    else silent.push(one)
    return []
  }, readable)
  const inTokens = Effect.fnUntraced(function*({ group, range }: Recorded) {
    return yield* hits(yield* reader.payload(range), group)
  }, readable)
  const found = Stream.fromIterable(groups).pipe(
    Stream.mapEffect(inLogs),
    Stream.concat(Stream.suspend(() => Stream.mapEffect(Stream.fromIterable(silent), inTokens))),
    Stream.flattenIterable,
    Stream.take(Hits.most)
  )
  const end = Stream.sync((): Entry.Searched => ({
    groups: searched,
    isCut: searched + unread < groups.length,
    unread,
    reason
  }))
  return Stream.concat(found, end)
}
