/** An agent that first asks another model for a summary. */
import { AgentRecipe } from "@effect-rl/recipes"

export default AgentRecipe.make({
  name: "summarised",
  tasks: { train: ["one two", "three four"], test: ["five six"] },
  defaults: { model: "effect-rl/tiny-64", groupsPerBatch: 2, groupSize: 2, maxTokens: 8, iterations: 1, evalEvery: 1 },
  run: async ({ baseUrl, fetch }, content) => {
    const ask = async (model: string) => {
      const body = JSON.stringify({ model, max_tokens: 8, messages: [{ role: "user", content }] })
      return await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
    }
    const [summary, answer] = [await ask("summariser"), await ask("effect-rl/tiny-64")]
    return summary.ok ? (await answer.text()).length % 7 : 0
  }
})
