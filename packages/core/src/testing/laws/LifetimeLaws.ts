/** Laws of resources: an environment releases what it acquires. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { expect, type Mismatch } from "../contract/Case.ts"
import { LeakAudit, live } from "../LeakAudit.ts"
import * as Simulation from "../simulation/Simulation.ts"
import * as Law from "./Law.ts"
import * as Play from "./Play.ts"

/** An episode in its own simulation, and the resources that are still held afterwards. */
interface Audited {
  readonly held: Readonly<Record<string, number>>
  /** The exit with which the episode's scope was closed. */
  readonly closed: Exit.Exit<unknown, unknown>
  readonly simulation: Simulation.Simulation<Option.Option<Play.Played>, never>
}

const audited = Effect.fnUntraced(function*<E, R>(
  makeEnv: Play.MakeEnv<E, R>,
  line: Play.Line,
  options: Play.Options,
  { timeout = Infinity, ...simulated }: Simulation.Options & { readonly timeout?: number } = {}
) {
  const audit = yield* LeakAudit.make
  let closed: Exit.Exit<unknown, unknown> = Exit.void
  const watched: Play.MakeEnv<E, R> = (seed) =>
    Effect.andThen(Effect.addFinalizer((exit) => Effect.sync(() => (closed = exit))), makeEnv(seed))
  const episode = Effect.provideService(Play.episode(watched, line, options), LeakAudit, audit)
  const timed = Effect.timeoutOption(episode, timeout)
  const simulation = yield* Simulation.run(line.seed, timed, { deadline: Law.deadline, ...simulated })
  return { held: live(yield* audit.counts), closed, simulation } satisfies Audited
})

/** How the episode ended; undefined if it was interrupted or timed out. */
const endingOf = ({ simulation: { exit } }: Audited) =>
  Option.flatMap(exit, (exit) => Exit.isSuccess(exit) ? exit.value : Option.none()).pipe(
    Option.map(({ ending }) => ending),
    Option.getOrUndefined
  )

type When = (ending: Play.Ending | undefined) => boolean

const goesWell: When = (ending) => ending === "done" || ending === "left" || ending === "overflow"
const fails: When = (ending) => ending === "failed" || ending === "died"

const only = (held: Readonly<Record<string, number>>, isBad: (count: number) => boolean) =>
  Object.fromEntries(Object.entries(held).filter(([, count]) => isBad(count)))

const isHeld = (count: number) => count > 0
const isReleasedTwice = (count: number) => count < 0

const expectNone = (expected: string, found: Readonly<Record<string, number>>, when: string) =>
  expect(Object.keys(found).length === 0, expected, `${JSON.stringify(found)} ${when}`)

/** The number of evenly spaced points at which an episode is interrupted. */
const points = 24

const afterInterruption = Effect.fnUntraced(
  function*<E, R>(makeEnv: Play.MakeEnv<E, R>, line: Play.Line, options: Play.Options) {
    const whole = yield* audited(makeEnv, line, options, { yieldEvery: 4 })
    if (!goesWell(endingOf(whole))) return
    const { tasks } = whole.simulation
    for (let interruptAfter = 1; interruptAfter <= tasks; interruptAfter += Math.ceil(tasks / points)) {
      const found = yield* audited(makeEnv, line, options, { yieldEvery: 4, interruptAfter })
      if (Exit.isSuccess(found.closed)) continue
      const when = `interrupted after ${interruptAfter} tasks, ${Law.describe(line)}`
      yield* expectNone("nothing held", only(found.held, isHeld), when)
    }
  }
)

/** How long an episode may take to end after a timeout, in milliseconds. */
const leaving = 5000

const afterTimeout = Effect.fnUntraced(
  function*<E, R>(makeEnv: Play.MakeEnv<E, R>, line: Play.Line, options: Play.Options) {
    const whole = yield* audited(makeEnv, line, options)
    for (const share of [0.25, 0.5, 0.75]) {
      const timeout = Math.ceil(whole.simulation.millis * share)
      const { simulation: { millis } } = yield* audited(makeEnv, line, options, { timeout })
      const expected = `an end within ${leaving} ms of a timeout`
      yield* expect(millis <= timeout + leaving, expected, `${millis - timeout} ms, ${Law.describe(line)}`)
    }
  }
)

export const laws = <E, R>(makeEnv: Play.MakeEnv<E, R>, options: Play.Options) => {
  const forLines = <R2>(name: string, holds: (line: Play.Line) => Effect.Effect<void, Mismatch, R2>) =>
    Law.simulating(name, Effect.forEach(Play.lines(options), holds, { discard: true }))
  const released = (name: string, when: When, expected: string, isBad: (count: number) => boolean) =>
    forLines(name, (line) =>
      Effect.flatMap(audited(makeEnv, line, options), (found) =>
        when(endingOf(found))
          ? expectNone(expected, only(found.held, isBad), `after it ${endingOf(found)}, ${Law.describe(line)}`)
          : Effect.void))
  return [
    released("release: resources are released at the end", goesWell, "nothing held", isHeld),
    released("release: resources are released after a failure", fails, "nothing held", isHeld),
    released("release: resources are released only once", () => true, "one release", isReleasedTwice),
    forLines(
      "release: resources are released wherever an episode is interrupted",
      (line) => afterInterruption(makeEnv, line, options)
    ),
    forLines("timeouts: end a step or a first prompt that waits", (line) => afterTimeout(makeEnv, line, options)),
    forLines(
      "fibers: none outlives the episode",
      (line) =>
        Effect.flatMap(
          audited(makeEnv, line, options),
          ({ simulation: { leakedFibers } }) =>
            expect(leakedFibers === 0, "no fiber", `${leakedFibers}, ${Law.describe(line)}`)
        )
    )
  ]
}
