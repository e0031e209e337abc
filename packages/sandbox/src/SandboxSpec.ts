/** The specification of a sandbox: what runs in it, with which files, network and limits, and for whom. */
import * as Effect from "effect/Effect"
import type { Runtime } from "./SandboxCapabilities.ts"
import type * as SandboxCapabilities from "./SandboxCapabilities.ts"
import { Denied, type Operation, type Reason, SandboxError, Unsupported } from "./SandboxError.ts"
import { isConfined, type SandboxFiles } from "./SandboxFiles.ts"
import * as SandboxLimits from "./SandboxLimits.ts"

/**
 * Who uses the sandbox.
 *
 * - `agent`: files that a program writes are visible to the next program.
 * - `grader`: every program starts with the same files, from the spec and from `write`. Files that it writes are deleted when it ends. It
 *   has no network.
 */
export type Role = "agent" | "grader"

/**
 * The sandbox to open.
 *
 * @example
 * const spec: SandboxSpec.SandboxSpec = {
 *   runtime: "python",
 *   role: "grader",
 *   files: SandboxFiles.make({ "main.py": "print(1)" }),
 *   limits: { wall: "2 seconds" }
 * }
 */
export interface SandboxSpec {
  readonly runtime: Runtime
  readonly role: Role
  /** The files that the sandbox starts with. Default: none. */
  readonly files?: SandboxFiles
  /** Environment variables in addition to those that the provider sets for every program, such as `PATH`, `HOME`, `TMPDIR` and `LANG`. */
  readonly environment?: Readonly<Record<string, string>>
  /**
   * Folders of the sandbox that programs also find at an absolute path, such as `{ "/app": "app" }`. Providers without their own file
   * system do not support them. Default: none.
   */
  readonly folders?: Readonly<Record<string, string>>
  /** The absolute paths in `folders` that a grader's programs cannot change. Default: none. */
  readonly readOnly?: ReadonlyArray<string>
  /** Addresses, as `host:port`, that programs may reach. Default: none. */
  readonly network?: ReadonlyArray<string>
  /** Limits of each program. Default: `SandboxLimits.defaults`. */
  readonly limits?: Partial<SandboxLimits.SandboxLimits>
  /**
   * `sampled`: commands may contain code that a model wrote. `scripted`: the caller vouches for every command, as in a test. Default:
   * `sampled`.
   */
  readonly code?: "sampled" | "scripted"
}

/** A spec that was checked against a provider, with all defaults filled in. */
export interface Resolved extends Required<Omit<SandboxSpec, "limits">> {
  readonly limits: SandboxLimits.Resolved
}

const denied = (field: string, found: unknown, expected: string): Reason =>
  new Denied({ field, found: JSON.stringify(found), expected })

function* limitProblems(limits: SandboxLimits.Resolved): Generator<Reason> {
  for (const field of ["wallMillis", "cpuMillis", "memory", "processes", "output", "disk"] as const) {
    const value = limits[field]
    if (!Number.isSafeInteger(value) || value < SandboxLimits.least[field]) {
      yield denied(`limits.${field}`, value, `a whole number of at least ${SandboxLimits.least[field]}`)
    }
  }
}

function* fileProblems(files: SandboxFiles): Generator<Reason> {
  const paths = new Set<string>()
  for (const { path } of files) {
    if (!isConfined(path)) yield denied("files", path, "paths below the root, such as \"tests/data.txt\"")
    if (paths.has(path)) yield denied("files", path, "each path once")
    paths.add(path)
  }
}

/** Top-level names that are reserved for the sandbox's system or its provider. */
const taken = new Set(
  "bin boot dev etc gates given lib lib32 lib64 nix proc run runtime sbin sys tmp usr var work".split(" ")
)

/** Whether `folders` may use this absolute path. System folders are reserved. */
export const isFolderPath = (path: string): boolean => {
  const parts = path.split("/").slice(1)
  return path.startsWith("/") && isConfined(parts.join("/")) && !taken.has(parts[0] ?? "")
}

function* folderProblems(folders: Readonly<Record<string, string>>): Generator<Reason> {
  for (const [path, folder] of Object.entries(folders)) {
    if (!isFolderPath(path)) {
      yield denied("folders", path, "absolute paths apart from those of the system, such as \"/app\"")
    }
    if (!isConfined(folder)) yield denied(`folders.${path}`, folder, "a folder below the root, such as \"app\"")
  }
}

function* readOnlyProblems({ files, folders, readOnly, role }: Resolved): Generator<Reason> {
  if (readOnly.length > 0 && role === "agent") {
    yield denied("readOnly", readOnly, "no folder in the sandbox of an agent")
  }
  for (const path of readOnly) {
    const folder = folders[path]
    if (folder === undefined || !files.some((file) => file.path.startsWith(`${folder}/`))) {
      yield denied("readOnly", path, "one of folders, with a file in it")
    }
  }
}

const isVariable = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)

function* environmentProblems(environment: Readonly<Record<string, string>>): Generator<Reason> {
  for (const [name, value] of Object.entries(environment)) {
    if (!isVariable(name)) yield denied("environment", name, "names of letters, digits and underscores")
    if (value.includes("\0")) yield denied(`environment.${name}`, value, "text without NUL")
  }
}

function* capabilityProblems(spec: Resolved, capabilities: SandboxCapabilities.SandboxCapabilities): Generator<Reason> {
  if (spec.code === "sampled" && !capabilities.sampledCode) {
    yield denied("code", "sampled", "\"scripted\": this provider has no boundary that code of a model cannot cross")
  }
  if (!capabilities.runtimes.includes(spec.runtime)) {
    const detail = `the runtime ${spec.runtime}; choose from: ${capabilities.runtimes.join(", ")}`
    yield new Unsupported({ capability: "runtime", detail })
  }
  if (Object.keys(spec.folders).length > 0 && capabilities.folders !== true) {
    yield new Unsupported({
      capability: "folders",
      detail: "programs of this provider have no absolute paths of their own"
    })
  }
  if (spec.readOnly.length > 0 && capabilities.readOnly !== true) {
    yield new Unsupported({ capability: "readOnly", detail: "programs of this provider can change all of their files" })
  }
  if (spec.role === "grader" && spec.network.length > 0) {
    yield denied("network", spec.network, "no address in the sandbox of a grader")
  }
  if (spec.network.length > 0 && capabilities.network === "none") {
    yield new Unsupported({ capability: "network", detail: "programs of this provider reach no network" })
  }
}

/** The spec with its defaults. Fails with the first value that is invalid or that the provider does not support. */
export const resolve = (
  spec: SandboxSpec,
  provider: string,
  capabilities: SandboxCapabilities.SandboxCapabilities
): Effect.Effect<Resolved, SandboxError> =>
  Effect.suspend(() => {
    const resolved: Resolved = {
      runtime: spec.runtime,
      role: spec.role,
      files: spec.files ?? [],
      environment: spec.environment ?? {},
      folders: spec.folders ?? {},
      readOnly: spec.readOnly ?? [],
      network: spec.network ?? [],
      limits: SandboxLimits.resolve(spec.limits),
      code: spec.code ?? "sampled"
    }
    const [reason] = [
      ...limitProblems(resolved.limits),
      ...fileProblems(resolved.files),
      ...environmentProblems(resolved.environment),
      ...folderProblems(resolved.folders),
      ...readOnlyProblems(resolved),
      ...capabilityProblems(resolved, capabilities)
    ]
    return reason === undefined
      ? Effect.succeed(resolved)
      : Effect.fail(new SandboxError({ provider, operation: "open", reason }))
  })

/** Fails if a path does not lie below the root; otherwise returns it. */
export const confine = (path: string, provider: string, operation: Operation): Effect.Effect<string, SandboxError> =>
  isConfined(path)
    ? Effect.succeed(path)
    : Effect.fail(
      new SandboxError({
        provider,
        operation,
        reason: denied("path", path, "a path below the root, such as \"out/result.txt\"")
      })
    )
