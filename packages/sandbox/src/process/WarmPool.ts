/**
 * Sandboxes that are set up before the program to run is known.
 *
 * Invariants: each sandbox receives one program, runs it and ends. Sandboxes are set up only while a permit is free, at most as many wait
 * as there are permits, and their `Running` ends them with its scope.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Semaphore } from "effect/Semaphore"
import type { Outcome } from "../Outcome.ts"
import type { SandboxError } from "../SandboxError.ts"
import type { Order } from "./BoundedProcess.ts"
import * as StartScript from "./StartScript.ts"

/** A sandbox that is set up. */
export interface Warm {
  readonly isWaiting: () => boolean
  /**
   * Starts a program in the sandbox at once. Undefined if the sandbox no longer waits, or if the arguments are too
   * long.
   */
  readonly run: (argv: ReadonlyArray<string>, stdin: Uint8Array) => Fiber.Fiber<Outcome, SandboxError> | undefined
}

export interface WarmPool {
  /** Sets up a sandbox that waits for its program until `start` ends. Undefined if no permit is free or enough sandboxes wait. */
  readonly add: (start: (order: Order) => Effect.Effect<Outcome, SandboxError>) => Effect.Effect<Warm | undefined>
}

/** The longest command line sent to a waiting shell, which reads it byte by byte. */
const longestLine = 4096

export const make = (turns: Semaphore, most: number): WarmPool => {
  let waiting = 0
  const isFree = Effect.map(turns.withPermitsIfAvailable(1)(Effect.void), Option.isSome)
  const add: WarmPool["add"] = Effect.fnUntraced(function*(start) {
    if (waiting >= most || !(yield* isFree)) return undefined
    let tell: ((line: string, stdin: Uint8Array) => boolean) | undefined
    const leave = () => {
      if (tell !== undefined) waiting--
      tell = undefined
    }
    const on: Order["on"] = (given) => {
      waiting++
      tell = given
    }
    // Detached: in the sandbox's scope, this fiber would be interrupted before its program is killed, and so would the fiber that awaits
    // the outcome.
    const fiber = yield* Effect.forkDetach(Effect.ensuring(start({ on }), Effect.sync(leave)), {
      startImmediately: true
    })
    return {
      isWaiting: () => tell !== undefined,
      run: (argv, stdin) => {
        const line = StartScript.line(argv)
        if (line.length > longestLine || tell?.(line, stdin) !== true) return undefined
        leave()
        return fiber
      }
    }
  })
  return { add }
}
