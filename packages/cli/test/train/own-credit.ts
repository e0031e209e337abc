/** A recipe with its own per-token credit estimator: later tokens of an attempt count less. */
import { Advantage, Credit } from "@effect-rl/core"
import { Recipe, Recipes } from "@effect-rl/recipes"

const fading = Advantage.perToken("fading", (informative) => {
  const advantagesG = Advantage.centered.of(informative)
  return (member, _turn, position) => (advantagesG[member] ?? 0) * 0.9 ** position
})

export default Recipe.withCredit(Recipes.arithmetic, () => Credit.groupRelative(fading))
