/** A scorer as a user would write it. */
import type { AgentScorer } from "@effect-rl/recipes"

const score: AgentScorer.Function = ({ stdout, task: { answer } }) => {
  const success = stdout.includes(`"content":"${answer}`)
  return { value: Number(success), success, answer: stdout }
}

export default score
