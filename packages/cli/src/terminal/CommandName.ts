/** The command to type to run this program again. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"

/** `effect-rl`, or the npm script that runs it in this repository. */
export const commandName: Effect.Effect<string> = Config.String("npm_package_name").pipe(
  Effect.map((name) => name === "effect-rl" ? "npm run effect-rl --" : "effect-rl"),
  Effect.orElseSucceed(() => "effect-rl")
)
