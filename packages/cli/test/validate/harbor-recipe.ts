/** The terminal tasks of the recipes' tests, none of which is held out. */
import { HarborRecipe } from "@effect-rl/recipes"

export default HarborRecipe.make({
  name: "harbor",
  tasks: new URL("../../../recipes/test/fixtures/harbor", import.meta.url).pathname,
  images: ["debian:12-slim"],
  heldOut: 0
})
