/** The real GSM8K problems, if they are next to the checkout. */
import { Array } from "effect"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"

const ancestors = (folder: string): ReadonlyArray<string> =>
  dirname(folder) === folder ? [folder] : [folder, ...ancestors(dirname(folder))]

/** The folder of `train.jsonl` and `test.jsonl`, or undefined if it is missing. */
export const folder = Array.findFirst(
  ancestors(import.meta.dirname).map((ancestor) => join(ancestor, "shared/data/gsm8k")),
  (candidate) => existsSync(join(candidate, "train.jsonl"))
)
