/** The short run that the embedded engine gives to recipes whose default model it does not have, where no model is named. */
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"

const hasSmolLm2 = Effect.gen(function*() {
  const { SmolLm2 } = yield* Effect.promise(() => import("@effect-rl/engine"))
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.orElseSucceed(fs.exists(yield* SmolLm2.file), () => false)
})

/** In place of the recipe's defaults. */
export const settings = Effect.fnUntraced(function*({ onEngine }: Pick<Recipe.Recipe, "onEngine">) {
  if (onEngine === undefined) return {}
  return (yield* hasSmolLm2) ? { ...onEngine.settings, ...onEngine.withSmolLm2 } : onEngine.settings
})

/** What may be expected of it, where the model is that of the short run. */
export const say = ({ onEngine }: Pick<Recipe.Recipe, "onEngine">, model: string) =>
  onEngine === undefined || model !== onEngine.settings["model"] ? Effect.void : Effect.logWarning(onEngine.says)
