/** The models that ship with this package: tiny, made to be trained further within a minute or two. */

const names = ["tiny-64", "tiny-128", "tiny-tasks", "tiny-code", "tiny-tools"] as const

/**
 * Folder of each preset under the name it is asked for, in the layout of Hugging Face models.
 *
 * @example
 * const folder = Preset.folders.get("effect-rl/tiny-64")
 */
export const folders: ReadonlyMap<string, URL> = new Map(
  names.map((name) => [`effect-rl/${name}`, new URL(`../presets/${name}/`, import.meta.url)])
)
