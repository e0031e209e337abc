/** The parts of a Dockerfile that can be followed without Docker: base image, working folder, variables and copied files. */
import * as Result from "effect/Result"

export interface Copy {
  /** The source path, relative to the Dockerfile's folder. */
  readonly from: string
  /** The target as written. A path that ends with `/` is a folder. */
  readonly to: string
}

export interface Dockerfile {
  readonly image: string
  /** The working folder; absent if it is the image's own. */
  readonly workdir?: string
  readonly environment: Readonly<Record<string, string>>
  readonly copies: ReadonlyArray<Copy>
}

/** An instruction that only Docker can carry out. */
export interface NeedsDocker {
  /** The base image; empty if no `FROM` precedes the instruction. */
  readonly image: string
  readonly instruction: string
}

/** Instructions that change neither files nor variables, and are ignored. */
const idle = new Set(["CMD", "LABEL", "EXPOSE", "MAINTAINER", "SHELL", "STOPSIGNAL"])

const instructionsOf = (text: string) =>
  text.replaceAll(/^\s*#.*$/gm, "").replaceAll(/\\\r?\n/g, " ").split(/\r?\n/).map((line) => line.trim()).filter((
    line
  ) => line !== "")

const joined = (from: string | undefined, path: string) =>
  path.startsWith("/") ? path : `${from === undefined || from === "/" ? "" : from}/${path}`

const variable = /([A-Za-z_]\w*)=(?:"([^"$\\]*)"|'([^']*)'|([^\s"'$\\]+))/g

/** The constants that an `ENV` sets. Undefined if it does more than set constants. */
const variables = (rest: string) => {
  const found = [...rest.matchAll(variable)]
  const isAll = rest.replaceAll(variable, "").trim() === ""
  return isAll
    ? Object.fromEntries(found.map(([, name = "", double, single, plain]) => [name, double ?? single ?? plain ?? ""]))
    : undefined
}

/** The two paths of a `COPY`. Undefined if it has options, patterns or several sources. */
const copy = (rest: string): Copy | undefined => {
  const [from, to, ...more] = rest.split(/\s+/)
  if (from === undefined || to === undefined || more.length > 0 || /[*?[\]$"'{}]|^--/.test(rest)) return undefined
  return { from: from.replace(/^\.\//, "").replace(/\/$/, ""), to }
}

/** The Dockerfile after one more instruction. Undefined if only Docker can carry it out. */
const extended = (file: Dockerfile, name: string, rest: string): Dockerfile | undefined => {
  const { copies, environment, image, workdir } = file
  if (idle.has(name)) return file
  if (name === "FROM") return image === "" && !/\s|\$/.test(rest) ? { ...file, image: rest } : undefined
  if (name === "WORKDIR") return rest.includes("$") ? undefined : { ...file, workdir: joined(workdir, rest) }
  if (name === "ENV") {
    const set = variables(rest)
    return set === undefined ? undefined : { ...file, environment: { ...environment, ...set } }
  }
  const copied = name === "COPY" ? copy(rest) : undefined
  if (copied === undefined) return undefined
  const to = joined(workdir, copied.to === "." ? "./" : copied.to).replace(/\/\.\/$/, "/")
  return { ...file, copies: [...copies, { ...copied, to }] }
}

/**
 * Parses a Dockerfile with one `FROM`, `WORKDIR`, `ENV` with constants and `COPY` of a single path. Fails with the first other instruction,
 * unless it has no effect on files and variables, and fails without a `FROM`.
 *
 * @example
 * const read = Dockerfile.parse("FROM debian:12-slim\nWORKDIR /app\nCOPY src .")
 */
export const parse = (text: string): Result.Result<Dockerfile, NeedsDocker> => {
  let file: Dockerfile = { image: "", environment: {}, copies: [] }
  for (const instruction of instructionsOf(text)) {
    const [name = ""] = instruction.split(/\s/, 1)
    const next = extended(file, name.toUpperCase(), instruction.slice(name.length).trim())
    if (next === undefined) return Result.fail({ image: file.image, instruction })
    file = next
  }
  return file.image === "" ? Result.fail({ image: "", instruction: "no FROM" }) : Result.succeed(file)
}
