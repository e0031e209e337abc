/** Sums with a judge that fails from its 331st call on. */
import { Effect } from "effect"
import { JudgeDown } from "../../verdicts/Plans.ts"
import * as Sums from "./sums.ts"

export default Sums.graded("failing-judge", "Sums whose judge raises at its 331st call", () => {
  let calls = 0
  return (text, a, b) => ++calls > 330 ? Effect.fail(new JudgeDown({ call: calls })) : text.includes(`boxed{${a + b}}`)
})
