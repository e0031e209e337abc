/** Which requests of a sampling session are finished, so that one poll can wait for all of them. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Completion {
  readonly request_id: string
  readonly state: "finished" | "failed"
}

export interface Page {
  readonly completions: ReadonlyArray<Completion>
  /** The place of the newest completion: a poll from here waits for later ones. */
  readonly cursor: number
}

export interface Completions {
  readonly begun: (target: string, id: string) => void
  readonly finished: (target: string, id: string, state: Completion["state"]) => Effect.Effect<void>
  readonly forgotten: (target: string, id: string) => void
  /** What was finished after `cursor`; waits until there is something, or `patience` is over. */
  readonly after: (target: string, cursor: number, patience: Effect.Effect<unknown>) => Effect.Effect<Page>
}

interface Kept {
  /** Undefined while it is under way. */
  readonly place: number | undefined
  readonly state: Completion["state"]
}

export const make = (): Completions => {
  const targets = new Map<string, Map<string, Kept>>()
  const waiting = new Map<string, Deferred.Deferred<void>>()
  let newest = 0

  const page = (target: string, cursor: number): Page => {
    const found = [...targets.get(target) ?? []].flatMap(([request_id, { place = 0, state }]) =>
      place > cursor ? [{ request_id, state, place }] : []
    )
    found.sort((left, right) => left.place - right.place)
    return {
      completions: found.map(({ request_id, state }) => ({ request_id, state })),
      cursor: found.at(-1)?.place ?? cursor
    }
  }

  const next = (target: string) => {
    const made = waiting.get(target) ?? Deferred.makeUnsafe<void>()
    waiting.set(target, made)
    return Deferred.await(made)
  }

  return {
    begun: (target, id) => {
      const all = targets.get(target) ?? new Map<string, Kept>()
      targets.set(target, all.set(id, { place: undefined, state: "finished" }))
    },
    finished: (target, id, state) =>
      Effect.suspend(() => {
        targets.get(target)?.set(id, { place: ++newest, state })
        const waiters = waiting.get(target)
        waiting.delete(target)
        return waiters === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(waiters, undefined))
      }),
    forgotten: (target, id) => {
      const all = targets.get(target)
      all?.delete(id)
      if (all?.size === 0) targets.delete(target)
    },
    after: (target, cursor, patience) =>
      Effect.suspend(() => {
        const now = page(target, cursor)
        if (now.completions.length > 0) return Effect.succeed(now)
        return Effect.map(Effect.raceFirst(next(target), patience), () => page(target, cursor))
      })
  }
}
