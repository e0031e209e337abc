/** Full-text search over what a run's environments logged: prompts, answers and everything else. */
import { GroupPayload, GroupResult, type RunStore, type Trajectory } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import type * as Story from "../story/Story.ts"
import type { TokenTexts } from "./TokenTexts.ts"
import * as Transcript from "./Transcript.ts"

/** Hits that are given at most. */
const most = 200

/** Characters that are shown on each side of a hit. */
const around = 60

interface Named {
  readonly turn: number
  readonly name: string
  readonly text: string
}

const textOf = (texts: TokenTexts, tokens: ReadonlyArray<number | null>) =>
  (texts(tokens) ?? []).map(({ text }) => text).join("")

/** What the environment logged of a turn; the model's own words where it logged none. */
const textsOf = ({ action, logs, observation }: Trajectory.Transition, turn: number, texts: TokenTexts) => {
  const logged = Object.entries(logs).flatMap(([name, text]): ReadonlyArray<Named> =>
    typeof text === "string" ? [{ turn, name, text }] : []
  )
  return "response" in logs ? logged : [
    ...logged,
    { turn, name: "prompt", text: textOf(texts, Transcript.promptOf(observation)) },
    { turn, name: "response", text: textOf(texts, Array.from(action.tokens)) }
  ]
}

const hitIn = ({ name, text, turn }: Named, sought: string) => {
  const at = text.toLowerCase().indexOf(sought)
  return at < 0 ? [] : [{
    turn,
    name,
    before: text.slice(Math.max(0, at - around), at),
    match: text.slice(at, at + sought.length),
    after: text.slice(at + sought.length, at + sought.length + around)
  }]
}

/** The first hit in each logged text of each member. */
const hitsIn = (result: GroupResult.GroupResult, group: Entry.Group, sought: string, texts: TokenTexts) =>
  GroupResult.isSkipped(result) ? [] : GroupResult.survivors(result).flatMap(([member, { logs = {}, transitions }]) => {
    const episode = Object.entries(logs).flatMap(([name, text]): ReadonlyArray<Named> =>
      typeof text === "string" ? [{ turn: 0, name, text }] : []
    )
    return [...episode, ...transitions.flatMap((transition, turn) => textsOf(transition, turn, texts))]
      .flatMap((text) => hitIn(text, sought))
      .map((hit): Entry.Hit => ({
        sequence: group.sequence,
        iteration: group.iteration,
        evaluator: group.evaluator ?? null,
        key: group.key,
        member,
        ...hit
      }))
  })

/** Whether a payload is worth decoding: the text stands in it, or has to be made of its tokens. */
const mayHold = (payload: string, sought: string) =>
  !payload.includes("\"response\":") || payload.toLowerCase().includes(JSON.stringify(sought).slice(1, -1))

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
    Stream.take(most)
  )
  const end = Stream.sync((): Entry.Searched => ({ groups: searched, isCut: searched < groups.length }))
  return Stream.concat(hits, end)
}
