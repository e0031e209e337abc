/** A recipe without rewards that still sets a credit. */
import { Recipe, Recipes } from "@effect-rl/recipes"

export default Recipe.withCredit(Recipes.supervised, (credit) => credit)
