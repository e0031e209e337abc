/** Loads two eval files twice at the same time, and prints the names of their evals. */
import * as EvalModule from "@effect-rl/recipes/evals/EvalModule"
import { Effect } from "effect"

const load = (name: string) =>
  Effect.map(
    EvalModule.load(name, new URL(`./${name}.eval.mjs`, import.meta.url).href),
    (definitions) => definitions.map(({ name }) => name).join(", ")
  )

const names = ["capitals", "broken", "capitals", "broken"]

Effect.runPromise(Effect.forEach(names, load, { concurrency: "unbounded" })).then((all) => console.log(all.join("\n")))
