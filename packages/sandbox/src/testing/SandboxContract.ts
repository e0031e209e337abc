/** The rules that every provider of sandboxes keeps, as cases that a test runs against it. */
import type * as Case from "./Case.ts"
import * as Confinement from "./Confinement.ts"
import * as LimitCases from "./LimitCases.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Processes from "./Processes.ts"

export { type Case, ContractViolation } from "./Case.ts"

/**
 * The cases of the contract. One that is about something which the provider does not claim says so. A provider whose programs have no
 * boundary keeps the outcomes and the limits alone.
 *
 * @example
 * const broken = Effect.forEach(SandboxContract.cases, ({ check }) => check).pipe(
 *   Effect.provide(Sandbox.Sandbox.layer)
 * )
 */
export const cases: ReadonlyArray<Case.Case> = [
  ...Outcomes.cases,
  ...LimitCases.cases,
  ...Processes.cases,
  ...Confinement.cases
]
