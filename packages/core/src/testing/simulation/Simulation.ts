/** Programs run in virtual time, in an order drawn from a seed. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as EventLog from "./EventLog.ts"
import * as EventLoop from "./EventLoop.ts"

/** Limits of a simulation, and when to interrupt or crash the program. */
export interface Options {
  /** The maximum virtual time, default 1 hour; a program that is still running then counts as hung. */
  readonly deadline?: Duration.Input
  /** Interrupts the program after this many tasks. */
  readonly interruptAfter?: number
  /** Stops the program after this many tasks, as if the process were killed: nothing is released, and there is no exit. */
  readonly crashAfter?: number
  /** The number of operations after which a fiber yields; default: drawn from the seed. */
  readonly yieldEvery?: number
}

/** A hang: the program was still running at its deadline, or could not continue, and was interrupted. */
export interface Hang {
  readonly millis: number
  /** Events that had started but not ended. */
  readonly pending: ReadonlyArray<EventLog.Event>
}

/** The result of a simulated program. */
export interface Simulation<out A, out E> {
  readonly seed: number
  /** `None` if the program crashed, or if not even an interruption ended it. */
  readonly exit: Option.Option<Exit.Exit<A, E>>
  readonly hang: Option.Option<Hang>
  readonly events: ReadonlyArray<EventLog.Event>
  /** The hash of the events by lane; it does not depend on the order in which fibers took turns. */
  readonly hash: string
  /** The number of tasks that were run. */
  readonly tasks: number
  /** When the program ended, crashed or was found to hang, in milliseconds of virtual time. */
  readonly millis: number
  /** When `interruptAfter` interrupted the program, in milliseconds of virtual time; `None` if it did not. */
  readonly interruptedAt: Option.Option<number>
  /** The number of fibers that outlived the program. */
  readonly leakedFibers: number
}

/** Maximum number of tasks without an advance of the clock. A program that runs more is considered to be in an endless loop. */
const tasksPerMoment = 1_000_000

/** Turns of the real event loop that promises get to settle before they count as pending. */
const settlingTurns = 3

const grace = Duration.toMillis("1 hour")

/** Runs tasks until none is ready. Returns false if `goesOn` stopped it, or after too many tasks at one moment. */
const drain = (loop: EventLoop.EventLoop, goesOn: () => boolean) => {
  for (let task = 0; task < tasksPerMoment; task++) {
    if (!loop.turn()) return true
    if (!goesOn()) return false
  }
  return false
}

const always = () => true

/** Runs until the program ends, the deadline is reached, `goesOn` returns false, or nothing more can happen. */
const drive = Effect.fnUntraced(function*(
  loop: EventLoop.EventLoop,
  fiber: Fiber.Fiber<unknown, unknown>,
  deadline: number,
  goesOn: () => boolean
) {
  let settling = 0
  while (fiber.pollUnsafe() === undefined && drain(loop, goesOn)) {
    if (fiber.pollUnsafe() !== undefined) return
    yield* Effect.yieldNow
    if (!loop.isIdle()) continue
    const due = loop.nextDue()
    if (due <= deadline) {
      loop.advance()
      settling = 0
    } else if (due !== Infinity || settling++ >= settlingTurns) return
  }
})

/**
 * Runs a program to its end. Virtual time advances when all fibers wait, and the fibers take turns in an order drawn from the seed. Replace
 * effects that wait for the outside world, because virtual time does not wait for them.
 */
export const run = Effect.fnUntraced(function*<A, E, R>(
  seed: number,
  program: Effect.Effect<A, E, R | EventLog.EventLog>,
  options: Options = {}
): Effect.fn.Return<Simulation<A, E>, never, Exclude<R, EventLog.EventLog>> {
  const loop = EventLoop.make(seed, options.yieldEvery)
  const { events, log, pending } = EventLog.make()
  const outside = yield* Effect.context<Exclude<R, EventLog.EventLog>>()
  const context = loop.context(outside)
  const logged = Effect.provideService(program, EventLog.EventLog, log)
  const deadline = Duration.toMillis(options.deadline ?? "1 hour")
  let tasks = 0
  let interruptedAt = Option.none<number>()
  const fiber = Effect.runForkWith(context)(Effect.andThen(Effect.yieldNow, logged))
  const goesOn = () => {
    if (++tasks === options.interruptAfter) {
      interruptedAt = Option.some(loop.now())
      fiber.interruptUnsafe()
    }
    return tasks !== options.crashAfter
  }
  yield* drive(loop, fiber, deadline, goesOn)
  const millis = loop.now()
  const isCrashed = tasks === options.crashAfter
  const isHung = fiber.pollUnsafe() === undefined && !isCrashed
  const hang = isHung ? Option.some({ millis, pending: [...pending] }) : Option.none()
  if (isHung) {
    fiber.interruptUnsafe()
    yield* drive(loop, fiber, millis + grace, always)
  }
  if (!isCrashed) drain(loop, always)
  return {
    seed,
    exit: Option.fromUndefinedOr(fiber.pollUnsafe()),
    hang,
    events,
    hash: EventLog.hash(events),
    tasks,
    millis,
    interruptedAt,
    leakedFibers: loop.fibers()
  }
})
