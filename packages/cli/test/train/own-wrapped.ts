/** A recipe whose credit wraps the one that the settings choose. */
import { Credit } from "@effect-rl/core"
import { Recipe, Recipes } from "@effect-rl/recipes"

export default Recipe.withCredit(Recipes.arithmetic, Credit.adaptiveEntropy({ target: 0.2 }))
