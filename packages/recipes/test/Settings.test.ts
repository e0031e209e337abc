/** Every setting of every recipe: its default, and whether a resumed run must have the same value. */
import { Setting } from "@effect-rl/core"
import { Recipes } from "@effect-rl/recipes"
import { expect, it } from "vitest"

const described = ({ name, settings: { fields } }: { readonly name: string; readonly settings: Setting.Struct }) =>
  Object.entries(fields).map(([key, field]) => {
    const setting = Setting.of(field)
    const value = setting?.default === undefined ? "left out" : JSON.stringify(setting.default)
    return `${name}.${key}: ${value}${setting?.identity === true ? ", identity" : ""}`
  })

it("recipes keep the defaults of their settings and the set of settings that identify a run", async () => {
  const lines = [...Recipes.all, ...Recipes.pipelines].flatMap(described)
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./settings.txt")
})
