/** A recipe with rewards from a preference model, and its own credit. */
import { Advantage, Credit } from "@effect-rl/core"
import { Recipe, Recipes } from "@effect-rl/recipes"

export default Recipe.withCredit(Recipes.preferenceRl, () => Credit.groupRelative(Advantage.leaveOneOut))
