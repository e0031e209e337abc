/** The folder of a sandbox on the host. Files are only accessed below its root. */
import * as Effect from "effect/Effect"
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync
} from "node:fs"
import { lstat, opendir } from "node:fs/promises"
import { dirname, join, sep } from "node:path"
import { Denied, type Operation, Provision, type Reason, SandboxError } from "../SandboxError.ts"
import type { SandboxFiles } from "../SandboxFiles.ts"
import * as FolderRemoval from "./FolderRemoval.ts"

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

/**
 * Makes a folder with the given files, which is removed when the scope closes. `isWritable`: whether programs may write to it. Fails as
 * `Provision`.
 */
export const make = (path: string, files: SandboxFiles, owner: Owner | undefined, isWritable: boolean) =>
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
    // Removing the folder in a separate process takes longer.
    () => isWritable ? FolderRemoval.remove(path) : Effect.sync(() => rmSync(path, { recursive: true, force: true }))
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

/** The least number of bytes that a file or a folder counts as. Otherwise a program could make any number of empty ones. */
const leastBytes = 4096

/** Whether a program made something that cannot be measured. Other failures are those of the host, such as too many open files. */
const isHidden = (cause: unknown) =>
  cause instanceof Error && "code" in cause &&
  (cause.code === "EACCES" || cause.code === "EPERM" || cause.code === "ENAMETOOLONG")

// Names need not be UTF-8. In Latin-1 every byte is a character.
const encoding = "latin1"

const bytesOf = (path: string) => Buffer.from(path, encoding)

/**
 * The paths of all files and folders below a folder. Undefined if there are more than `most`, or if its owner may not read a folder.
 */
const list = async (folder: string, most: number): Promise<ReadonlyArray<string> | undefined> => {
  const folders = [Buffer.from(folder).toString(encoding)]
  const paths: Array<string> = []
  for (const path of folders) {
    const opened = await opendir(bytesOf(path), { encoding, bufferSize: 1024 }).catch(isHidden)
    if (opened === true) return undefined
    if (opened === false) continue
    const next = () => opened.read().catch(() => null)
    for (let entry = await next(); entry !== null && paths.length <= most; entry = await next()) {
      const below = `${path}/${entry.name}`
      paths.push(below)
      if (entry.isDirectory()) folders.push(below)
    }
    await opened.close()
    if (paths.length > most) return undefined
  }
  return paths
}

/** The files that are measured at the same time. */
const together = 256

/**
 * Whether the files and folders below a folder together exceed `most` bytes, or contain something that cannot be measured, such as a folder
 * that its owner may not read. Links are not followed, and files that disappear meanwhile count as empty.
 */
export const exceeds = async (folder: string, most: number): Promise<boolean> => {
  const paths = await list(folder, Math.floor(most / leastBytes))
  if (paths === undefined) return true
  const sizeOf = (path: string) =>
    lstat(bytesOf(path)).then(({ size }) => Math.max(leastBytes, size), (cause) => isHidden(cause) ? Infinity : 0)
  let total = 0
  for (let start = 0; start < paths.length && total <= most; start += together) {
    const sizes = await Promise.all(paths.slice(start, start + together).map(sizeOf))
    total = sizes.reduce((sum, size) => sum + size, total)
  }
  return total > most
}

/**
 * Whether an in-memory file system has more files and folders than `most` bytes allow. The file system itself limits
 * only the size of contents.
 */
export const hasTooMany = (path: string, most: number): boolean => {
  try {
    const { ffree, files } = statfsSync(path)
    return leastBytes * (files - ffree - 1) > most
  } catch {
    return false
  }
}
