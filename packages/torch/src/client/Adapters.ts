/** The adapters of the Python process, each deleted with the scope in which it was made. */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Answer from "../process/Answer.ts"
import type { PythonProcess } from "../process/PythonProcess.ts"

/** An adapter by its key. */
export interface Adapter {
  readonly key: number
  readonly rank: number
  /** Memory of its weights; with gradients and optimizer where it is trained. */
  readonly memoryBytes: number
}

/** A new adapter for training. */
export interface Fresh {
  readonly rank: number
  readonly seed: number
  readonly modules: ReadonlyArray<string>
}

/** A checkpoint on disk. */
export interface Stored {
  readonly folder: string
  readonly digest: string | undefined
  /** With its optimizer, to be trained; otherwise only to be sampled from. */
  readonly train: boolean
}

type Made = Effect.Effect<Adapter, TinkerError.Reason, Scope.Scope>

export interface Adapters {
  readonly create: (fresh: Fresh) => Made
  readonly open: (stored: Stored) => Made
  readonly snapshot: (of: Adapter) => Made
}

export const make = (process: PythonProcess): Adapters => {
  let keys = 0
  const acquire = (op: string, fieldsOf: (key: number) => Readonly<Record<string, unknown>>): Made =>
    Effect.suspend(() => {
      const key = keys++
      const made = Effect.map(
        process.ask(Answer.Made, { op, fields: fieldsOf(key) }),
        ({ header }): Adapter => ({ key, ...header })
      )
      // Deleted also where nobody waits for it any more: the process makes it all the same.
      const remove = Effect.ignore(process.ask(Answer.Done, { op: "delete", fields: { adapter: key } }))
      return Effect.andThen(Effect.addFinalizer(() => remove), made)
    })
  return {
    create: (fresh) => acquire("create", (adapter) => ({ adapter, ...fresh })),
    open: (stored) => acquire("open", (adapter) => ({ adapter, ...stored })),
    snapshot: ({ key }) => acquire("snapshot", (to) => ({ adapter: key, to }))
  }
}
