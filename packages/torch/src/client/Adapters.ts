/** The adapters in the Python process. Each is deleted when the scope that created it closes. */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Answer from "../process/Answer.ts"
import type { PythonProcess } from "../process/PythonProcess.ts"

/** An adapter in the Python process, identified by its key. */
export interface Adapter {
  readonly key: number
  readonly rank: number
  /** Size of the adapter's weights in bytes; for an adapter in training, with its gradients and optimizer state. */
  readonly memoryBytes: number
}

/** A new adapter for training. */
export interface Fresh {
  readonly rank: number
  readonly seed: number
  readonly modules: ReadonlyArray<string>
}

/** A checkpoint on disk to load. */
export interface Stored {
  readonly folder: string
  readonly digest: string | undefined
  /** Whether to load the optimizer state too, for training. If false, the adapter can only be sampled from. */
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
      // The finalizer is added first, since the process creates the adapter even if the caller is interrupted.
      const remove = Effect.ignore(process.ask(Answer.Done, { op: "delete", fields: { adapter: key } }))
      return Effect.andThen(Effect.addFinalizer(() => remove), made)
    })
  return {
    create: (fresh) => acquire("create", (adapter) => ({ adapter, ...fresh })),
    open: (stored) => acquire("open", (adapter) => ({ adapter, ...stored })),
    snapshot: ({ key }) => acquire("snapshot", (to) => ({ adapter: key, to }))
  }
}
