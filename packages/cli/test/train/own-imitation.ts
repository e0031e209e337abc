/** A recipe that has no rewards, with a credit all the same. */
import { Recipe, Recipes } from "@effect-rl/recipes"

export default Recipe.withCredit(Recipes.supervised, (credit) => credit)
