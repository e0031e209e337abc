/** Finds real data in the folder `shared` of the checkout or of a folder above it. Tests are skipped if their data are missing. */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const find = (folder: string, path: string): string | undefined => {
  const candidate = join(folder, "shared", path)
  if (existsSync(candidate)) return candidate
  return dirname(folder) === folder ? undefined : find(dirname(folder), path)
}

export const sharedFile = (path: string): string | undefined => find(dirname(fileURLToPath(import.meta.url)), path)
