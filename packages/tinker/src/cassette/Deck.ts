/**
 * Answers the calls to one client of a backend, either from the live client while recording its answers, or from a
 * recording alone.
 */
import type { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Call from "./Call.ts"
import type { Recorder } from "./Recorder.ts"
import type { Tape } from "./Tape.ts"

type Answer<A, R = never> = Effect.Effect<A, TinkerError.TinkerError, R>

/**
 * An object that a call created, such as a sampling client: its id in the recording, its recorded description, and the
 * deck that answers calls to it.
 */
export interface Made<A, M> {
  readonly id: string
  readonly answer: A
  readonly deck: Deck<M>
}

/** Answers calls to one object. `ask` calls the live object and is used only while recording. */
export interface Deck<L> {
  readonly answer: <A>(call: Call.Call<A>, ask: (live: L) => Answer<A>) => Answer<A>
  /** Makes another object; `describe` returns the answer to record for it. */
  readonly make: <A, M>(
    call: Call.Call<A>,
    ask: (live: L) => Answer<M, Scope.Scope>,
    describe: (made: M) => A
  ) => Answer<Made<A, M>, Scope.Scope>
}

const same = <A>(value: A) => value

export const recording = <L>({ record }: Recorder, live: L): Deck<L> => ({
  answer: (call, ask) => Effect.map(record(call, ask(live), same), ({ value }) => value),
  make: (call, ask, describe) =>
    Effect.map(record(call, ask(live), describe), ({ id, value }) => ({
      id,
      answer: describe(value),
      deck: recording({ record }, value)
    }))
})

/** A deck that answers from a recording, without a backend. */
export const replaying = ({ play }: Tape): Deck<never> => ({
  answer: (call) => Effect.map(play(call), ({ answer }) => answer),
  make: (call) => Effect.map(play(call), ({ answer, id }) => ({ id, answer, deck: replaying({ play }) }))
})
