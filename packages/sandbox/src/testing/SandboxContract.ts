/** The rules that every sandbox provider must keep, as cases to run against it. */
import type * as Case from "./Case.ts"
import * as Confinement from "./Confinement.ts"
import * as LimitCases from "./LimitCases.ts"
import * as Outcomes from "./Outcomes.ts"
import * as Processes from "./Processes.ts"

export { type Case, ContractViolation } from "./Case.ts"

/**
 * The cases of the contract. A case that needs a capability which the provider does not claim returns `inapplicable`. For a provider
 * without isolation, only the cases on outcomes and limits apply.
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
