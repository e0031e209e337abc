/** The backend as a program and its evaluators see it: what their own clients read and sample is paid from the run's budget. */
import * as Effect from "effect/Effect"
import type { Tinker } from "../backend/Tinker.ts"
import type { TrainingClient } from "../backend/TrainingClient.ts"
import type { TokenBudget } from "./TokenBudget.ts"

/** Such as of a reference policy or a teacher; the passes of a program's updates are counted when they are formed. */
export const make = (tinker: Tinker["Service"], budget: TokenBudget): Tinker["Service"] => {
  const training = (client: TrainingClient): TrainingClient => ({
    ...client,
    forward: budget.meterForward(client.forward),
    saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, budget.meter)
  })
  return {
    ...tinker,
    createLoraTrainingClient: (options) => Effect.map(tinker.createLoraTrainingClient(options), training),
    createTrainingClientFromState: (path) => Effect.map(tinker.createTrainingClientFromState(path), training),
    createSamplingClient: (from) => Effect.map(tinker.createSamplingClient(from), budget.meter)
  }
}
