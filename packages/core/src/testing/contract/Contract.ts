/** The contract of every backend, as cases that use only the port. */
import type * as Case from "./Case.ts"
import * as CheckpointCases from "./CheckpointCases.ts"
import * as DistributionCases from "./DistributionCases.ts"
import type * as Fixture from "./Fixture.ts"
import * as GradientCases from "./GradientCases.ts"
import * as LifetimeCases from "./LifetimeCases.ts"
import * as LogprobCases from "./LogprobCases.ts"
import * as LossCases from "./LossCases.ts"
import * as ModelCases from "./ModelCases.ts"
import * as OptimizerCases from "./OptimizerCases.ts"
import * as RequestCases from "./RequestCases.ts"
import * as SamplingCases from "./SamplingCases.ts"
import * as TrainingCases from "./TrainingCases.ts"
import * as ValidationCases from "./ValidationCases.ts"

export { type Case, ContractViolation, type Outcome } from "./Case.ts"
export type { Options } from "./Fixture.ts"

/** All cases of the contract; each creates its own clients. A case about a capability that the backend does not claim is inapplicable. */
export const contract = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...ModelCases.cases(options),
  ...SamplingCases.cases(options),
  ...DistributionCases.cases(options),
  ...LogprobCases.cases(options),
  ...TrainingCases.cases(options),
  ...GradientCases.cases(options),
  ...OptimizerCases.cases(options),
  ...LossCases.cases(options),
  ...RequestCases.cases(options),
  ...CheckpointCases.cases(options),
  ...ValidationCases.cases(options),
  ...LifetimeCases.cases(options)
]
