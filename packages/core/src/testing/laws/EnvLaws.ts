/** The laws of every environment; they use only the `Env` interface. */
import * as EpisodeLaws from "./EpisodeLaws.ts"
import type * as Law from "./Law.ts"
import * as LifetimeLaws from "./LifetimeLaws.ts"
import type * as Play from "./Play.ts"
import * as PromptLaws from "./PromptLaws.ts"
import * as RepeatLaws from "./RepeatLaws.ts"
import * as StepLaws from "./StepLaws.ts"

export { type Law, LawViolation } from "./Law.ts"
export type { MakeEnv, Options } from "./Play.ts"

/**
 * Laws that check an environment. Each runs in virtual time with its own `LeakAudit`, in which the environment may track the resources that
 * it acquires.
 */
export const envLaws = <E, R>(
  makeEnv: Play.MakeEnv<E, R>,
  options: Play.Options
): ReadonlyArray<Law.Law<Law.Needs<R>>> => [
  ...PromptLaws.laws(makeEnv, options),
  ...EpisodeLaws.laws(makeEnv, options),
  ...StepLaws.laws(makeEnv, options),
  ...RepeatLaws.laws(makeEnv, options),
  ...LifetimeLaws.laws(makeEnv, options)
]
