/** A recording, and how many times each call has been played. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Call from "./Call.ts"
import * as Difference from "./Difference.ts"
import * as Entry from "./Entry.ts"

/** An answer, and the name of the object that the call made. */
export interface Played<out A> {
  readonly id: string
  readonly answer: A
}

export interface Tape {
  /**
   * The next recorded answer to an equal call. Fails with the call's recorded error, or as `Unrecorded` if no answer is
   * left.
   */
  readonly play: <A>(call: Call.Call<A>) => Effect.Effect<Played<A>, TinkerError.TinkerError>
}

interface Near {
  readonly entry: Entry.Entry
  readonly differences: ReadonlyArray<Difference.Difference>
}

const mostDifferences = 5

const unrecorded = (file: string, operation: string, near: Near | undefined) =>
  new TinkerError.TinkerError({
    operation,
    reason: new TinkerError.Unrecorded({
      recording: file,
      ...(near === undefined ? {} : { nearest: `line ${near.entry.line}` }),
      differences: near?.differences.slice(0, mostDifferences) ?? []
    })
  })

export const make = (file: string, entries: ReadonlyArray<Entry.Entry>): Tape => {
  const waiting = new Map<string, Array<Entry.Entry>>()
  for (const entry of entries.toSorted((left, right) => left.ordinal - right.ordinal)) {
    const alike = waiting.get(entry.key)
    if (alike === undefined) waiting.set(entry.key, [entry])
    else alike.push(entry)
  }

  const isWaiting = (entry: Entry.Entry) => waiting.get(entry.key)?.includes(entry) === true

  /** The entry with the same operation and the fewest differences, preferably one not played yet. */
  const nearest = (key: string, request: Call.JsonObject): Near | undefined => {
    const alike = entries.filter((entry) => entry.key === key)
    const last = alike.at(-1)
    if (last !== undefined) {
      const times = { field: "times asked", asked: String(alike.length + 1), recorded: String(alike.length) }
      return { entry: last, differences: [times] }
    }
    const [first] = entries
      .filter(({ call }) => call["operation"] === request["operation"])
      .map((entry): Near => ({ entry, differences: Difference.between(request, entry.call) }))
      .sort((left, right) =>
        left.differences.length - right.differences.length ||
        Number(isWaiting(right.entry)) - Number(isWaiting(left.entry))
      )
    return first
  }

  return {
    play: ({ key, operation, request }) =>
      Effect.suspend(() => {
        const next = waiting.get(key)?.shift()
        if (next === undefined) return Effect.fail(unrecorded(file, operation.name, nearest(key, request)))
        return Effect.fromResult(next.outcome).pipe(
          Effect.flatMap((answer) => Effect.orDie(Schema.decodeUnknownEffect(operation.answer)(answer))),
          Effect.map((answer) => ({ id: Entry.id(key, next.ordinal), answer }))
        )
      })
  }
}
