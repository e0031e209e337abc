/** The folder of a sandbox on the host. Files are only accessed below its root. */
import * as Effect from "effect/Effect"
import { chownSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { dirname, join, sep } from "node:path"
import { Denied, type Operation, Provision, type Reason, SandboxError } from "../SandboxError.ts"
import type { SandboxFiles } from "../SandboxFiles.ts"

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** The user that runs programs if this process is the superuser, because process limits do not apply to the superuser. */
export const nobody: Owner = { uid: 65534, gid: 65534 }

export const isSuperuser = (): boolean => process.getuid?.() === 0

const own = (path: string, owner: Owner | undefined) => {
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
}

const makeFolders = (root: string, path: string, owner: Owner | undefined) => {
  const parts = dirname(path).split("/").filter((part) => part !== ".")
  for (let depth = 1; depth <= parts.length; depth++) {
    const folder = join(root, ...parts.slice(0, depth))
    if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) continue
    mkdirSync(folder, { mode: 0o755 })
    own(folder, owner)
  }
}

/** Writes a file to a folder in which no untrusted program runs. */
export const put = (root: string, path: string, bytes: Uint8Array, owner: Owner | undefined): void => {
  makeFolders(root, path, owner)
  const file = join(root, path)
  writeFileSync(file, bytes, { mode: 0o644 })
  own(file, owner)
}

const provision = (cause: unknown) => new Provision({ detail: String(cause) })

/** Makes a folder with the given files, which is removed when the scope closes. Fails as `Provision`. */
export const make = (path: string, files: SandboxFiles, owner: Owner | undefined) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        mkdirSync(path, { mode: 0o755 })
        own(path, owner)
        for (const file of files) put(path, file.path, file.bytes, owner)
        return path
      },
      catch: provision
    }),
    () => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }))
  )

const outside = (path: string): Reason =>
  new Denied({
    field: "path",
    found: JSON.stringify(path),
    expected: "a file below the root, not a link to another place"
  })

const isBelow = (root: string, file: string) => realpathSync(file).startsWith(realpathSync(root) + sep)

/** Uses the path of a file. Fails as `Denied` if a link leads out of the root. */
const below = <A>(root: string, path: string, provider: string, operation: Operation, use: (file: string) => A) =>
  Effect.suspend((): Effect.Effect<A, SandboxError> => {
    const file = join(root, path)
    const parent = dirname(file)
    const exists = (of: string) => lstatSync(of, { throwIfNoEntry: false }) !== undefined
    const nearest = exists(file) ? file : exists(parent) && parent !== root ? parent : undefined
    return Effect.try({ try: () => nearest === undefined || isBelow(root, nearest), catch: () => outside(path) }).pipe(
      Effect.filterOrFail((isInside) => isInside, () => outside(path)),
      Effect.andThen(Effect.try({ try: () => use(file), catch: provision })),
      Effect.mapError((reason) => new SandboxError({ provider, operation, reason }))
    )
  })

/** Reads a file that untrusted programs may have written. Undefined if there is no such file or it is larger than `most` bytes. */
export const read = (root: string, path: string, provider: string, most: number) =>
  below(root, path, provider, "read", (file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found?.isFile() === true && found.size <= most ? new Uint8Array(readFileSync(file)) : undefined
  })

/** Writes a file to a folder that untrusted programs may have changed. */
export const write = (root: string, path: string, bytes: Uint8Array, provider: string, owner: Owner | undefined) =>
  below(root, path, provider, "write", () => put(root, path, bytes, owner))

/** The total size of all files below a folder, in bytes. Links are not followed, and files that disappear meanwhile are not counted. */
export const size = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  let total = 0
  for (const entry of entries) {
    const path = join(folder, entry.name)
    total += entry.isDirectory() ? await size(path) : lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
  }
  return total
}
