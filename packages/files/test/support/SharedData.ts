/** Real data beside the checkout; tests that need it say so when it is absent. */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const find = (folder: string, path: string): string | undefined => {
  const candidate = join(folder, "shared", path)
  if (existsSync(candidate)) return candidate
  return dirname(folder) === folder ? undefined : find(dirname(folder), path)
}

export const sharedFile = (path: string): string | undefined => find(dirname(fileURLToPath(import.meta.url)), path)
