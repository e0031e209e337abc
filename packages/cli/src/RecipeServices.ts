/** What recipes find while they are built and run: the hub, a sandbox for those that run code, and a gateway for those with agents. */
import { Hub } from "@effect-rl/files"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentServices from "./agents/AgentServices.ts"
import * as RecipeSandbox from "./RecipeSandbox.ts"

type Needs = Partial<Pick<Recipe.Recipe, "runsCode" | "startsPrograms">>

/** The services of a recipe or a pipeline; its programs run in sandboxes, or where `--unsafe-host` is given on this machine. */
export const layer = (recipe: Needs, unsafeHost: boolean) =>
  Layer.mergeAll(Hub.Hub.layer, RecipeSandbox.layer(recipe), AgentServices.layer(recipe, unsafeHost))

/** With the services of a recipe or a pipeline, and with what it acquires released in the end. */
export const provide = (recipe: Needs, unsafeHost: boolean) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(Effect.scoped(effect), layer(recipe, unsafeHost))
