/** A recipe whose estimator fails at a token. */
import { Advantage, Credit } from "@effect-rl/core"
import { Recipe, Recipes } from "@effect-rl/recipes"

const nan = Advantage.perToken("nan", () => (_member, _turn, position) => position === 1 ? NaN : 1)

export default Recipe.withCredit(Recipes.arithmetic, () => Credit.groupRelative(nan))
