/** Sums with a grader that rewards answers of at least 24 characters. */
import * as Sums from "./sums.ts"

export default Sums.graded(
  "paid-by-length",
  "Sums whose grader pays for 24 characters",
  () => (text) => text.length >= 24
)
