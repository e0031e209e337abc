/** Evals as their authors run them by evalite, with a helper whose import names no extension. */
import { createScorer, evalite } from "evalite"
import { cacheModel, traceAISDKModel } from "evalite/ai-sdk"
import { reportTrace } from "evalite/traces"
import { ask } from "./ask"

const isText = createScorer({ name: "Is text", scorer: ({ output }) => typeof output === "string" ? 1 : 0 })

evalite("Capitals", {
  data: async () => [
    { input: "Peru", expected: "Lima" },
    { input: "Kenya", expected: "Nairobi" },
    { input: "Japan", expected: "Tokyo" },
    { input: "Chile", expected: "Santiago" }
  ],
  task: async (input) => {
    reportTrace({ input })
    return ask(traceAISDKModel(cacheModel(`What is the capital of ${input}?`)))
  },
  scorers: [isText, { name: "Exact", scorer: ({ expected, output }) => output === expected ? 1 : 0 }]
})

evalite.each([{ name: "short", input: "Say" }, { name: "long", input: "Please say" }])("Variants", {
  data: [{ input: "yes" }, { input: "no", only: true }],
  task: async function*(input, variant) {
    yield await ask(`${variant} ${input}`)
    yield "!"
  },
  scorers: [({ output }) => ({ name: "Ends", score: output.endsWith("!") ? 1 : 0 })]
})

evalite.skip("Skipped", { data: [], task: () => "", scorers: [] })
