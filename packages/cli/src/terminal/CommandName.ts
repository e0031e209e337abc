/** The command to type to run this program again. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"

/** `effect-rl`, or how npm runs it: by a script of this repository, or from a project's packages. */
export const commandName: Effect.Effect<string> = Config.String("npm_package_name").pipe(
  Effect.map((name) => name === "effect-rl" ? "npm run effect-rl --" : "npx effect-rl"),
  Effect.orElseSucceed(() => "effect-rl")
)
