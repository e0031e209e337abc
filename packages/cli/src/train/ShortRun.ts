/** Settings for runs that download nothing: a short run on the embedded engine, or generated problems. */
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Backend from "./Backend.ts"

const hasSmolLm2 = Effect.gen(function*() {
  const { SmolLm2 } = yield* Effect.promise(() => import("@effect-rl/engine"))
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.orElseSucceed(fs.exists(yield* SmolLm2.file), () => false)
})

/** Replacements for the recipe's defaults, with the mock backend, and with the engine if no model is named; otherwise none. */
export const settings = Effect.fnUntraced(function*(
  { onEngine, sample = {} }: Pick<Recipe.Recipe, "onEngine" | "sample">,
  backend: Backend.Name,
  model: unknown
) {
  if (backend === "mock") return sample
  if (backend !== "engine" || model !== undefined || onEngine === undefined) return {}
  const { settings, withSmolLm2 } = onEngine
  const others = withSmolLm2 !== undefined && (yield* hasSmolLm2) ? withSmolLm2.settings : {}
  return { ...sample, ...settings, ...others }
})

/** Logs what a short run can achieve, if the model is one that short runs train. */
export const say = ({ onEngine }: Pick<Recipe.Recipe, "onEngine">, model: string) => {
  const runs = onEngine === undefined ? [] : [onEngine, onEngine.withSmolLm2]
  const short = runs.find((run) => run?.settings["model"] === model)
  return short === undefined ? Effect.void : Effect.logWarning(short.says)
}
