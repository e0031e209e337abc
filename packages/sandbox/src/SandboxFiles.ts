/** The files of a sandbox, each with the hash of its content. */
import { createHash } from "node:crypto"

export interface SandboxFile {
  /** The path relative to the sandbox's root, with `/` as separator. */
  readonly path: string
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string
}

export type SandboxFiles = ReadonlyArray<SandboxFile>

const sha256 = (content: Uint8Array | string) => createHash("sha256").update(content).digest("hex")

const encoder = new TextEncoder()

/** Text encoded as UTF-8; bytes unchanged. */
export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? encoder.encode(content) : content

/**
 * Files from a record of contents by path. The result is ordered by path.
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

/** A hash of all files, for records. It depends on every path and content. */
export const digest = (files: SandboxFiles): string =>
  sha256(
    files.map(({ hash, path }) => `${hash}  ${JSON.stringify(path)}\n`).sort().join("")
  )

const isName = (part: string) => part !== "" && part !== "." && part !== ".." && part.length <= 255

/** Whether a path names a file below the root: relative, without `.` and `..`, and at most 1,000 characters. Only the text is checked. */
export const isConfined = (path: string): boolean =>
  path.length <= 1000 && !/[\0\\]/.test(path) && path.split("/").every(isName)
