/** Loads two eval files twice at the same time, and prints the names of their evals. */
import * as EvalModule from "@effect-rl/recipes/evals/EvalModule"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect } from "effect"

const load = (name: string) =>
  Effect.map(
    EvalModule.load(name, new URL(`./${name}.eval.mjs`, import.meta.url).href),
    (definitions) => definitions.map(({ name }) => name).join(", ")
  )

const names = ["capitals", "broken", "capitals", "broken"]

Effect.forEach(names, load, { concurrency: "unbounded" }).pipe(
  Effect.flatMap((all) => Console.log(all.join("\n"))),
  NodeRuntime.runMain
)
