/** Reads the files that an agent left in its sandbox as data: names, bytes and whether they are executable. */
import { Outcome, type Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export interface LeftFiles {
  /**
   * Paths relative to the sandbox's root. Left out are links, empty folders, unreadable files, and files in `tests`, `logs` and `solution`.
   */
  readonly files: SandboxFiles.SandboxFiles
  /** Paths of the executable files. */
  readonly executable: ReadonlyArray<string>
}

/** The agent left more files than can be copied to another sandbox, or files that cannot be listed. This counts as the agent's fault. */
export class LeftTooMuch extends Schema.TaggedError<LeftTooMuch>()("LeftTooMuch", { detail: Schema.String }) {
  override get message() {
    return `the files cannot be copied: ${this.detail}`
  }
}

/** Limits on changed files: their number, and their total size in bytes. */
const mostFiles = 512
const mostBytes = 32 * 1024 * 1024

/** Folder names that are reserved for the grader. */
const graders = new Set(["tests", "logs", "solution"])

/**
 * Lists the executable paths and an empty entry, each ended by NUL, then a line with hash and path for each file. The options also work in
 * images without the GNU tools.
 */
const list = "find . -type f -perm -100 -print0; printf '\\0'; find . -type f -print0 | xargs -0 -r sha256sum"

const pathOf = (name: string) => name.replace(/^\.\//, "")

const isTaken = (path: string) => SandboxFiles.isConfined(path) && !graders.has(path.split("/")[0] ?? "")

/** Parses a line of `sha256sum`. A leading backslash means that backslashes and line breaks in the name are escaped as in C. */
const lineOf = (line: string) => {
  const [, escaped, hash = "", name = ""] = /^(\\?)([0-9a-f]{64}) [ *]([^]*)$/.exec(line) ?? []
  const plain = name.replace(/\\([nr\\])/g, (_, letter) => letter === "n" ? "\n" : letter === "r" ? "\r" : "\\")
  return { hash, path: pathOf(escaped === "" ? name : plain) }
}

/**
 * Parses the listing. If names are not escaped, a name with line breaks may look like further lines; of several lines
 * with the same path, the last counts.
 */
const parse = (output: string) => {
  const entries = output.split("\0")
  const middle = entries.indexOf("")
  const lines = entries.slice(middle + 1).join("").split("\n").map(lineOf)
  const hashed = new Map(lines.map((line) => [line.path, line]))
  return {
    executable: entries.slice(0, middle).map(pathOf).filter(isTaken),
    hashed: Array.from(hashed.values()).filter(({ path }) => isTaken(path))
  }
}

const listed = (outcome: Outcome.Outcome) =>
  Outcome.is("Exited")(outcome) && outcome.code === 0
    ? Effect.succeed(parse(Outcome.text(outcome.stdout)))
    : Effect.fail(new LeftTooMuch({ detail: `they could not be listed (${outcome._tag})` }))

/** The content of a file, or undefined if the agent made it unreadable. */
const readable = (place: Sandbox.Handle, path: string) =>
  Effect.catchIf(place.read(path), ({ reason }) => reason._tag === "Denied", () => Effect.undefined)

/**
 * Reads the files that an agent left in its sandbox. Files with the same content as one of the sandbox's original files are not read again.
 * Fails with `LeftTooMuch` if more than 512 files or 32 MiB changed, or if the files cannot be listed.
 *
 * @example
 * const left = Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.open({ runtime: "shell", role: "agent" })).pipe(
 *   Effect.flatMap((place) => LeftFiles.read(place))
 * )
 */
export const read = Effect.fn("LeftFiles.read")(function*(place: Sandbox.Handle) {
  const { executable, hashed } = yield* Effect.flatMap(place.exec({ argv: ["sh", "-c", list] }), listed)
  const given = new Map(place.spec.files.map(({ bytes, hash }) => [hash, bytes]))
  const changed = hashed.filter(({ hash }) => !given.has(hash))
  if (changed.length > mostFiles) {
    return yield* new LeftTooMuch({ detail: `${changed.length} files changed, expected at most ${mostFiles}` })
  }
  let total = 0
  const files = yield* Effect.forEach(
    hashed,
    Effect.fnUntraced(function*({ hash, path }) {
      const bytes = given.get(hash) ?? (yield* readable(place, path))
      total += given.has(hash) ? 0 : bytes?.length ?? 0
      if (total > mostBytes) return yield* new LeftTooMuch({ detail: `expected at most ${mostBytes} bytes` })
      return bytes === undefined ? [] : SandboxFiles.make({ [path]: bytes })
    })
  )
  const left: LeftFiles = { files: Arr.flatten(files), executable }
  return left
})
