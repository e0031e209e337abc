/** Full-text search over the prompts and answers of a run, and everything that its environments logged. */
import { GroupPayload, GroupResult, type RunStore, type Trajectory } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as Hits from "../story/Hits.ts"
import type * as Story from "../story/Story.ts"
import type { TokenTexts } from "./TokenTexts.ts"
import * as Transcript from "./Transcript.ts"

const textOf = (texts: TokenTexts, tokens: ReadonlyArray<number | null>) =>
  (texts(tokens) ?? []).map(({ text }) => text).join("")

const memberOf = ({ logs = {}, transitions }: Trajectory.Trajectory, texts: TokenTexts): Hits.Member => ({
  logs,
  turns: transitions.map(({ action, logs, observation }) => ({
    logs,
    prompt: () => textOf(texts, Transcript.promptOf(observation)),
    response: () => textOf(texts, Array.from(action.tokens))
  }))
})

const hitsIn = (result: GroupResult.GroupResult, group: Entry.Group, sought: string, texts: TokenTexts) =>
  GroupResult.isSkipped(result) ?
    [] :
    GroupResult.survivors(result).flatMap(([member, trajectory]) =>
      Hits.inMember(memberOf(trajectory, texts), sought).map((hit): Entry.Hit => ({
        sequence: group.sequence,
        iteration: group.iteration,
        evaluator: group.evaluator ?? null,
        key: group.key,
        member,
        ...hit
      }))
    )

/** Whether a payload is worth decoding: the text stands in it, or has to be made of its tokens. */
const mayHold = (payload: string, sought: string) =>
  !Hits.ofTokens.every((name) => payload.includes(`"${name}":`))
  || payload.toLowerCase().includes(JSON.stringify(sought).slice(1, -1))

/** Hits in the newest groups first, then what was searched. Case does not count. */
export const run = (
  reader: RunStore.RunReader,
  story: Story.Story,
  text: string,
  texts: TokenTexts
): Stream.Stream<Entry.Hit | Entry.Searched, RunStore.RunError | GroupPayload.GroupPayloadError> => {
  const sought = text.toLowerCase()
  const groups = story.entries.filter((entry) => entry._tag === "GroupRolledOut").toReversed()
  let searched = 0
  const hits = Stream.fromIterable(groups).pipe(
    Stream.mapEffect(Effect.fnUntraced(function*(group) {
      if (group.payload === undefined) return []
      const { length, offset } = group.payload
      if (length === null || offset === null) return []
      const payload = yield* reader.payload({ length, offset })
      searched++
      return mayHold(payload, sought) ? hitsIn(yield* GroupPayload.decode(payload), group, sought, texts) : []
    })),
    Stream.flattenIterable,
    Stream.take(Hits.most)
  )
  const end = Stream.sync((): Entry.Searched => ({ groups: searched, isCut: searched < groups.length }))
  return Stream.concat(hits, end)
}
