/** Assigns credit on behalf of a run or a re-grading, and checks what the credit, which may be a user's, returns. */
import * as Effect from "effect/Effect"
import type { Weights } from "../backend/Weights.ts"
import type { Json } from "../records/Json.ts"
import type * as GroupResult from "../rollout/GroupResult.ts"
import * as Credit from "./Credit.ts"
import * as CreditError from "./CreditError.ts"
import * as CreditText from "./CreditText.ts"
import type { TrainingDatum } from "./TrainingData.ts"

const placeOf = ({ group, member }: TrainingDatum["origin"]) => `group "${group}", member ${member}`

/** What is wrong with the advantages of a datum; undefined if they are one finite number for each of its tokens. */
const complaint = ({ inputs: { advantages, targetTokens }, origin }: TrainingDatum) => {
  if (advantages.length !== targetTokens.length) {
    return `gave ${advantages.length} advantages for the ${targetTokens.length} tokens of ${placeOf(origin)}`
  }
  const t = advantages.findIndex((advantage) => !Number.isFinite(advantage))
  return t < 0
    ? undefined
    : `gave ${advantages[t]} for ${placeOf(origin)}, token ${t} of ${targetTokens.length}, expected a finite number`
}

const check = (rule: string, { groups, replayed = [] }: Credit.Assigned) => {
  const [first, ...others] = [...groups.flatMap(({ data }) => data), ...replayed].flatMap((datum) =>
    complaint(datum) ?? []
  )
  if (first === undefined) return Effect.void
  const detail = others.length === 0 ? first : `${first}, and ${others.length} more like it`
  return Effect.fail(new CreditError.CreditError({ rule, detail }))
}

/**
 * The credit of the groups. Fails with `CreditError` if the credit throws, or if the advantages of a datum are not one finite number for
 * each of its tokens.
 */
export const assign = Effect.fnUntraced(function*<E, R>(
  credit: Credit.Credit<E, R>,
  groups: ReadonlyArray<GroupResult.GroupResult>,
  memory: Json,
  weights: Weights
) {
  const rule = `credit "${CreditText.name(Credit.identityOf(credit))}"`
  const assigned = yield* Effect.catchDefect(
    Effect.suspend(() => credit.assign(groups, memory, weights)),
    (defect) => Effect.fail(CreditError.fromThrown(rule, "failed")(defect))
  )
  yield* check(rule, assigned)
  return assigned
})
