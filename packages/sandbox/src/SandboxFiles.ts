/** Files of a sandbox, each known by the hash of its content. */
import { createHash } from "node:crypto"

export interface SandboxFile {
  /** Relative to the root of the sandbox, with `/` between its parts. */
  readonly path: string
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string
}

export type SandboxFiles = ReadonlyArray<SandboxFile>

const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex")

const encoder = new TextEncoder()

/** Text as UTF-8; bytes as they are. */
export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? encoder.encode(content) : content

/**
 * Files from their contents by path, ordered by path.
 *
 * @example
 * const files = SandboxFiles.make({ "main.py": "print(input())" })
 * files.map(({ path }) => path) // => ["main.py"]
 */
export const make = (contents: Readonly<Record<string, string | Uint8Array>>): SandboxFiles =>
  Object.keys(contents).sort().map((path) => {
    const bytes = bytesOf(contents[path] ?? "")
    return { path, bytes, hash: sha256(bytes) }
  })

/** One hash of all files, for records: it changes with any path and any content. */
export const digest = (files: SandboxFiles): string =>
  sha256(
    files.map(({ hash, path }) => `${hash}  ${JSON.stringify(path)}\n`).sort().join("")
  )

const isName = (part: string) => part !== "" && part !== "." && part !== ".." && part.length <= 255

/** Whether a path names a file below the root, by its text alone: relative, without `.` and `..`, at most 1,000 characters. */
export const isConfined = (path: string): boolean =>
  path.length <= 1000 && !/[\0\\]/.test(path) && path.split("/").every(isName)
