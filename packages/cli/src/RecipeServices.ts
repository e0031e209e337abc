/** The services that recipes need: the Hugging Face Hub, a sandbox if they run code, and a gateway if they run agents. */
import { InvalidOption } from "@effect-rl/core"
import { Hub } from "@effect-rl/files"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentServices from "./agents/AgentServices.ts"
import * as RecipeSandbox from "./RecipeSandbox.ts"

type Needs = Partial<Pick<Recipe.Recipe, "runsCode" | "startsPrograms">>

/** The services of a recipe or a pipeline. Its programs run in sandboxes, or directly on this machine with `--unsafe-host`. */
export const layer = (recipe: Needs, unsafeHost: boolean) =>
  Layer.mergeAll(Hub.Hub.layer, RecipeSandbox.layer(recipe), AgentServices.layer(recipe, unsafeHost))

const unusedUnsafeHost = new InvalidOption.InvalidOption({
  field: "--unsafe-host",
  found: "given",
  expected: "to be left out, because this recipe does not start agents"
})

/**
 * Provides the services of a recipe or a pipeline, and releases their resources at the end. Fails with `InvalidOption` if `--unsafe-host` was
 * given and nothing would be started outside of a sandbox.
 */
export const provide = (recipe: Needs, unsafeHost: boolean) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  unsafeHost && recipe.startsPrograms !== true
    ? Effect.fail(unusedUnsafeHost)
    : Effect.provide(Effect.scoped(effect), layer(recipe, unsafeHost))
