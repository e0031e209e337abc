/** The real problems, where they lie beside the checkout. */
import { Array } from "effect"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"

const ancestors = (folder: string): ReadonlyArray<string> =>
  dirname(folder) === folder ? [folder] : [folder, ...ancestors(dirname(folder))]

/** The folder of `train.jsonl` and `test.jsonl`; undefined where there is none. */
export const folder = Array.findFirst(
  ancestors(import.meta.dirname).map((ancestor) => join(ancestor, "shared/data/gsm8k")),
  (candidate) => existsSync(join(candidate, "train.jsonl"))
)
