/** An in-process agent as a user would write it. */
import { AgentRecipe } from "@effect-rl/recipes"

const capitals: ReadonlyArray<readonly [string, string]> = [["Peru", "Lima"], ["Kenya", "Nairobi"], ["Japan", "Tokyo"]]

export default AgentRecipe.make({
  name: "capitals",
  tasks: { train: capitals.slice(0, 2), test: capitals.slice(2) },
  shown: ([question, reference]) => ({ question, reference }),
  defaults: { model: "effect-rl/tiny-64", groupsPerBatch: 2, groupSize: 2, maxTokens: 8, iterations: 1, evalEvery: 1 },
  run: async ({ baseUrl, fetch }, [country, capital]) => {
    const messages = [{ role: "user", content: `What is the capital of ${country}?` }]
    const body = JSON.stringify({ model: "effect-rl/tiny-64", messages })
    const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
    return (await response.text()).includes(capital) ? 1 : 0
  }
})
