/** An eval in the style of vitest-evals, one of whose scorers always fails. */
import { describeEval } from "vitest-evals"
import { ask } from "./ask.js"

describeEval("Broken", {
  data: async () => [{ input: "a" }, { input: "b" }, { input: "c" }, { input: "d" }],
  task: async (input) => ask(input),
  scorers: [() => 1, () => Promise.reject(new Error("no key"))]
})
