/** Laws of environments, and the error of an environment that breaks a law. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Mismatch } from "../contract/Case.ts"
import { LeakAudit } from "../LeakAudit.ts"
import type { EventLog } from "../simulation/EventLog.ts"
import * as Simulation from "../simulation/Simulation.ts"
import * as Play from "./Play.ts"

/** The environment broke a law. */
export class LawViolation extends Schema.TaggedError<LawViolation>()("LawViolation", {
  law: Schema.String,
  expected: Schema.String,
  found: Schema.String
}) {
  override get message() {
    return `${this.law}: expected ${this.expected}, found ${this.found}`
  }
}

export interface Law<out R = never> {
  readonly name: string
  readonly check: Effect.Effect<void, LawViolation, R>
}

/** The limit of a simulation in virtual time, which is longer than all test episodes together. */
export const deadline = "36500 days"

/** The services that an environment needs, without those that the laws provide. */
export type Needs<R> = Exclude<Exclude<Exclude<R, Scope.Scope>, LeakAudit>, EventLog>

const violation = (law: string, { expected, found }: Mismatch) => new LawViolation({ law, expected, found })

/** A law that holds if its body succeeds; the body runs its own simulations. */
export const simulating = <R>(name: string, body: Effect.Effect<unknown, Mismatch, R>): Law<R> => ({
  name,
  check: Effect.asVoid(Effect.mapError(body, (mismatch) => violation(name, mismatch)))
})

/** Runs a body in virtual time with its own audit. */
const simulated = <A, R>(body: Effect.Effect<A, Mismatch, R>) =>
  Effect.gen(function*() {
    const audited = Effect.provideServiceEffect(body, LeakAudit, LeakAudit.make)
    const { exit } = yield* Simulation.run(0, audited, { deadline })
    return yield* Option.getOrElse(exit, () => Exit.fail(new Mismatch({ expected: "an end", found: "a hang" })))
  })

/** A law that holds if its body succeeds, in virtual time with its own audit. */
export const make = <R>(name: string, body: Effect.Effect<unknown, Mismatch, R>) => simulating(name, simulated(body))

/** Plays one episode in its own simulation. */
export const episode = <E, R>(makeEnv: Play.MakeEnv<E, R>, line: Play.Line, options: Play.Options) =>
  simulated(Play.episode(makeEnv, line, options))

export const describe = ({ seed, style }: Play.Line) =>
  `seed ${seed}, ${"reply" in style ? JSON.stringify(style.reply) : `drawn replies ${style.drawn}`}`

/** A law that holds if `holds` succeeds for every test episode. The episodes run in virtual time. */
export const forEpisodes = <E, R>(
  name: string,
  makeEnv: Play.MakeEnv<E, R>,
  options: Play.Options,
  holds: (played: Play.Played) => Effect.Effect<unknown, Mismatch>
) =>
  make(
    name,
    Effect.forEach(
      Play.lines(options),
      (line) => Effect.flatMap(Play.episode(makeEnv, line, options), holds),
      { discard: true }
    )
  )
