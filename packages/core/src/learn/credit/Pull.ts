/** Advantages that hold the policy near other weights, or draw it towards them. */
import * as Check from "../../settings/Check.ts"
import * as TokenAdvantages from "../TokenAdvantages.ts"
import type * as TrainingData from "../TrainingData.ts"
import type { GroupCredit } from "./Assigned.ts"

/** How strongly to stay near other weights, or to move towards them. */
export interface Pull {
  readonly coefficient: number
  /** γ of Σⱼ γʲ·k[t+j], which charges a token for the tokens after it; default 0, each token for itself. */
  readonly discount?: number
}

export const check = ({ coefficient, discount }: Pull) =>
  Check.all(
    Check.option("coefficient", coefficient, Check.number({ least: 0 })),
    Check.option("discount", discount, Check.number({ least: 0, most: 1 }))
  )

/** Adds to every trained token's advantage a multiple of how much less likely than `center` the sampler made it, in nats. */
export const add = (
  groups: ReadonlyArray<GroupCredit>,
  gapOf: (datum: TrainingData.TrainingDatum) => Float32Array,
  { coefficient, discount = 0 }: Pull,
  center: number
): ReadonlyArray<GroupCredit> =>
  groups.map((group) => ({
    ...group,
    data: group.data.map((datum) =>
      TokenAdvantages.add(datum, Float64Array.from(gapOf(datum), (gap) => coefficient * (center - gap)), discount)
    )
  }))
