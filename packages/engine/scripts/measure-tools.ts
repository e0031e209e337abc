/** Prints how well preset `tiny-tools` uses unseen tools: `npm run measure-tools -w packages/engine -- [tasks]`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { load } from "./pretrain/Loading.ts"
import * as ToolEvaluation from "./pretrain/ToolEvaluation.ts"

const [tasks = "512"] = process.argv.slice(2)
const { compute, tokenizer } = await Effect.runPromise(
  load(new URL("../presets/tiny-tools/", import.meta.url)).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
console.log(JSON.stringify(ToolEvaluation.run(compute, tokenizer, Number(tasks))))
