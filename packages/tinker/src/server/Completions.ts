/** Tracks which requests of a sampling session are finished, so one poll can wait for all of them. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Completion {
  readonly request_id: string
  readonly state: "finished" | "failed"
}

export interface Page {
  readonly completions: ReadonlyArray<Completion>
  /** The position of the newest completion. A poll with this cursor waits for later ones. */
  readonly cursor: number
}

export interface Completions {
  readonly finished: (target: string, id: string, state: Completion["state"]) => Effect.Effect<void>
  readonly forgotten: (target: string, id: string) => void
  /**
   * Results finished after `cursor`. Waits until there is one or `patience` completes. Earlier results are dropped, because the client has
   * seen them.
   */
  readonly after: (target: string, cursor: number, patience: Effect.Effect<unknown>) => Effect.Effect<Page>
}

interface Kept {
  readonly place: number
  readonly completion: Completion
}

export const make = (): Completions => {
  /** Completions of each target, in the order in which they finished. */
  const targets = new Map<string, Map<string, Kept>>()
  const waiting = new Map<string, Deferred.Deferred<void>>()
  let newest = 0

  const forgotten: Completions["forgotten"] = (target, id) => {
    const kept = targets.get(target)
    kept?.delete(id)
    if (kept?.size === 0) targets.delete(target)
  }

  const page = (target: string, cursor: number): Page => {
    for (const [id, { place }] of targets.get(target) ?? []) {
      if (place > cursor) break
      forgotten(target, id)
    }
    const kept = Array.from(targets.get(target)?.values() ?? [])
    return { completions: kept.map(({ completion }) => completion), cursor: kept.at(-1)?.place ?? cursor }
  }

  const next = (target: string) => {
    const made = waiting.get(target) ?? Deferred.makeUnsafe<void>()
    waiting.set(target, made)
    return Deferred.await(made)
  }

  return {
    forgotten,
    finished: (target, request_id, state) =>
      Effect.suspend(() => {
        const kept = targets.get(target) ?? new Map<string, Kept>()
        targets.set(target, kept.set(request_id, { place: ++newest, completion: { request_id, state } }))
        const waiters = waiting.get(target)
        waiting.delete(target)
        return waiters === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(waiters, undefined))
      }),
    after: (target, cursor, patience) =>
      Effect.suspend(() => {
        const now = page(target, cursor)
        if (now.completions.length > 0) return Effect.succeed(now)
        return Effect.map(Effect.raceFirst(next(target), patience), () => page(target, cursor))
      })
  }
}
