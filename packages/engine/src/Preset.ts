/** The models that ship with this package. They are tiny: further training takes a minute or two. */

const names = ["tiny-64", "tiny-128", "tiny-tasks", "tiny-code", "tiny-tools", "tiny-questions"] as const

/**
 * Each preset's folder, in Hugging Face layout, by the preset's name.
 *
 * @example
 * const folder = Preset.folders.get("effect-rl/tiny-64")
 */
export const folders: ReadonlyMap<string, URL> = new Map(
  names.map((name) => [`effect-rl/${name}`, new URL(`../presets/${name}/`, import.meta.url)])
)
