/** Work that can be ended from outside. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/** Receives a function that ends the work with an error. Returns a clean-up function that is called when the work is over. */
export type Watch<E> = (end: (error: E) => void) => () => void

/** Combines several watches into one. */
export const all = <E>(watches: ReadonlyArray<Watch<E>>): Watch<E> => (end) => {
  const over = watches.map((watch) => watch(end))
  return () => over.forEach((over) => over())
}

/** Runs the work in one additional fiber. Racing it against whatever may end it would take two fibers and always interrupt one. */
export const endable = <E2>(watch: Watch<E2>) => <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | E2, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<A, E | E2>((resume) => {
      const fiber = Effect.runForkWith(context)(work)
      let ended: Exit.Exit<never, E2> | undefined
      const over = watch((error) => {
        ended = Exit.fail(error)
        fiber.interruptUnsafe()
      })
      fiber.addObserver((exit) => {
        over()
        resume(ended === undefined || Exit.isSuccess(exit) ? exit : ended)
      })
      return Effect.suspend(() => {
        over()
        return Fiber.interrupt(fiber)
      })
    })
  )
