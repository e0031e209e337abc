/**
 * Tasks in Harbor's folder format: `task.toml`, `instruction.md`, `environment/`, `tests/test.sh` and `solution/solve.sh`.
 *
 * The local sandbox runs this machine's programs and no Docker images. A task that names an image can be read only if `images` contains the
 * image, which declares that this machine's programs are an acceptable replacement. The Dockerfile may only copy files and set variables.
 */
import { SandboxFiles, SandboxSpec } from "@effect-rl/sandbox"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parse } from "smol-toml"
import * as Dockerfile from "./Dockerfile.ts"
import * as HarborConfig from "./HarborConfig.ts"
import type { ShellServer, ShellTask } from "./ShellTask.ts"

/** The folder does not contain a task that can run here. */
export class HarborTaskError extends Schema.TaggedError<HarborTaskError>()("HarborTaskError", {
  folder: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.folder}: ${this.detail}`
  }
}

/** The task needs a Docker image, which cannot be run here. */
export class ImageMissing extends Schema.TaggedError<ImageMissing>()("ImageMissing", {
  folder: Schema.String,
  image: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.folder}: needs the Docker image ${this.image}: ${this.detail}`
  }
}

export interface Options {
  /** Images that the local sandbox may stand in for, such as `debian:12-slim`. Default: none. */
  readonly images?: ReadonlyArray<string>
}

/** The working folder of a task that does not name one. */
const defaultWorkdir = "/app"

/** The transport of an MCP server that does not name one. */
const defaultTransport = "sse"

/** A comment at the start of an instruction that identifies copies of the task. It is not shown to the agent. */
const canary = /^\s*<!--[^]*?-->\s*/

const invalid = (folder: string, detail: string) => new HarborTaskError({ folder, detail })

const unreadable = (folder: string) => ({ message }: { readonly message: string }) => invalid(folder, message)

/** All files below a folder, or none if the folder does not exist. */
const filesIn = Effect.fnUntraced(function*(folder: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const { join, sep } = yield* Path.Path
  const root = join(folder, name)
  if (!(yield* fs.exists(root))) return []
  const contents: Record<string, Uint8Array> = {}
  for (const path of yield* fs.readDirectory(root, { recursive: true })) {
    const { type } = yield* fs.stat(join(root, path))
    if (type === "File") contents[path.replaceAll(sep, "/")] = yield* fs.readFile(join(root, path))
  }
  return SandboxFiles.make(contents)
})

const textOf = (files: SandboxFiles.SandboxFiles, path: string) => {
  const found = files.find((file) => file.path === path)
  return found === undefined ? undefined : new TextDecoder().decode(found.bytes)
}

const readText = Effect.fnUntraced(function*(folder: string, name: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  return yield* Effect.mapError(fs.readFileString(join(folder, name)), unreadable(folder))
})

const configOf = Effect.fnUntraced(function*(folder: string) {
  const text = yield* readText(folder, "task.toml")
  return yield* Effect.try({ try: () => parse(text), catch: (error) => invalid(folder, `task.toml: ${String(error)}`) })
    .pipe(
      Effect.flatMap((toml) => Schema.decodeUnknownEffect(HarborConfig.HarborConfig)(toml)),
      Effect.catchTag("SchemaError", ({ message }) => Effect.fail(invalid(folder, `task.toml: ${message}`)))
    )
})

/** Describes each feature that a task requests and a sandbox does not have. */
function* lacking(config: HarborConfig.HarborConfig, environment: SandboxFiles.SandboxFiles): Generator<string> {
  const { environment: { env = {}, gpus = 0, mcp_servers = [], os = "linux" } = {}, steps = [], verifier } = config
  if (steps.length > 0) yield "has steps, expected a task with one instruction"
  if (gpus > 0) yield `asks for ${gpus} GPUs, expected none: sandboxes have none`
  if (os !== "linux") yield `is for ${os}, expected linux`
  for (const { command, name, transport = defaultTransport } of mcp_servers) {
    if (transport !== "stdio") yield `has the MCP server ${name} over ${transport}, expected stdio: there is no network`
    if (command === undefined) yield `has the MCP server ${name} without a command, expected the command that starts it`
  }
  if (environment.some(({ path }) => /^(docker-)?compose\.ya?ml$/.test(path))) {
    yield "has several containers, expected at most a Dockerfile"
  }
  for (const [name, value] of Object.entries({ ...env, ...verifier?.env })) {
    if (value.includes("${")) yield `takes ${name} from this machine's environment, expected a constant`
  }
}

const serversOf = ({ environment }: HarborConfig.HarborConfig): ReadonlyArray<ShellServer> =>
  (environment?.mcp_servers ?? []).flatMap(({ args = [], command, name }) =>
    command === undefined ? [] : [{ name, command: [command, ...args] }]
  )

/** Fails with `ImageMissing` if the task names a Docker image that is not in `images`. */
const imageProblem = (folder: string, config: HarborConfig.HarborConfig, images: ReadonlyArray<string>) => {
  const named = [config.environment?.docker_image, config.verifier?.environment?.docker_image]
  const missing = named.find((image) => image !== undefined && !images.includes(image))
  return missing === undefined ? Effect.void : Effect.fail(notHere(folder, missing))
}

const notHere = (folder: string, image: string) =>
  new ImageMissing({
    folder,
    image,
    detail:
      "this machine cannot run images. List it in images if this machine's own programs are an acceptable replacement"
  })

const dockerfileOf = (folder: string, text: string, images: ReadonlyArray<string>) =>
  Result.match(Dockerfile.parse(text), {
    onFailure: ({ image, instruction }) => {
      const detail = `only Docker can execute "${instruction.slice(0, 80)}"`
      return Effect.fail(new ImageMissing({ folder, image: image || "of its Dockerfile", detail }))
    },
    onSuccess: (file) => images.includes(file.image) ? Effect.succeed(file) : Effect.fail(notHere(folder, file.image))
  })

/** The absolute path of a file after a `COPY`. Undefined if the file is not copied. */
const copied = ({ from, to }: Dockerfile.Copy, path: string): string | undefined => {
  if (path === from) return to.endsWith("/") ? `${to}${path.split("/").at(-1)}` : to
  const below = from === "." || from === ""
    ? path
    : path.startsWith(`${from}/`)
    ? path.slice(from.length + 1)
    : undefined
  return below === undefined ? undefined : `${to.replace(/\/$/, "")}/${below}`
}

/** The files in the working folder after a Dockerfile's copies. */
const copiedFiles = Effect.fnUntraced(function*(
  folder: string,
  workdir: string,
  context: SandboxFiles.SandboxFiles,
  { copies }: Dockerfile.Dockerfile
) {
  const contents = new Map<string, Uint8Array>()
  for (const copy of copies) {
    const placed = context.flatMap(({ bytes, path }) => {
      const to = copied(copy, path)
      return to === undefined ? [] : [[to, bytes] as const]
    })
    if (placed.length === 0) return yield* invalid(folder, `COPY ${copy.from} finds no file in environment`)
    for (const [to, bytes] of placed) {
      if (!to.startsWith(`${workdir}/`)) {
        return yield* invalid(folder, `COPY to ${to}, expected a path below the working folder ${workdir}`)
      }
      contents.set(to.slice(workdir.length + 1), bytes)
    }
  }
  return SandboxFiles.make(Object.fromEntries(contents))
})

const isDefinition = ({ path }: SandboxFiles.SandboxFile) => path === "Dockerfile" || path === ".dockerignore"

/** The working folder, its files and variables. */
const environmentOf = Effect.fnUntraced(function*(
  folder: string,
  config: HarborConfig.HarborConfig,
  given: SandboxFiles.SandboxFiles,
  images: ReadonlyArray<string>
) {
  const { docker_image, env = {}, workdir } = config.environment ?? {}
  const text = docker_image === undefined ? textOf(given, "Dockerfile") : undefined
  const context = given.filter((file) => !isDefinition(file))
  if (text === undefined) return { workdir: workdir ?? defaultWorkdir, environment: env, files: context }
  const file = yield* dockerfileOf(folder, text, images)
  const place = workdir ?? file.workdir ?? "/"
  const files = yield* copiedFiles(folder, place, context, file)
  return { workdir: place, environment: { ...file.environment, ...env }, files }
})

const readTask = Effect.fnUntraced(
  function*(folder: string, { images = [] }: Options) {
    const path = yield* Path.Path
    const config = yield* configOf(folder)
    const given = yield* filesIn(folder, "environment")
    const [lack] = lacking(config, given)
    if (lack !== undefined) return yield* invalid(folder, lack)
    yield* imageProblem(folder, config, images)
    const environment = yield* environmentOf(folder, config, given, images)
    if (!SandboxSpec.isFolderPath(environment.workdir)) {
      const { workdir } = environment
      return yield* invalid(
        folder,
        `works in ${workdir}, expected a folder outside the system's folders, such as /app`
      )
    }
    const tests = yield* filesIn(folder, "tests")
    if (textOf(tests, "test.sh") === undefined) return yield* invalid(folder, "has no tests/test.sh")
    const definition = textOf(tests, "Dockerfile")
    if (definition !== undefined) yield* dockerfileOf(folder, definition, images)
    const solution = yield* filesIn(folder, "solution")
    const seconds = config.agent?.timeout_sec
    const servers = serversOf(config)
    const task: ShellTask = {
      id: path.basename(folder),
      instruction: (yield* readText(folder, "instruction.md")).replace(canary, "").trim(),
      ...environment,
      memory: HarborConfig.memory(config),
      ...(servers.length > 0 && { servers }),
      ...(seconds !== undefined && { timeout: seconds * 1000 }),
      tests: {
        files: tests,
        environment: config.verifier?.env ?? {},
        timeout: HarborConfig.testSeconds(config) * 1000
      },
      ...(solution.length > 0 && { solution })
    }
    return task
  }
)

/**
 * Reads a task from its folder. Fails with `ImageMissing` if the task needs a Docker image, and with `HarborTaskError` if the folder is not
 * a task or requests a feature that sandboxes do not have.
 *
 * @example
 * const task = HarborTask.read("tasks/hello", { images: ["debian:12-slim"] })
 *
 * @see tinker-cookbook `HarborTask`
 */
export const read = Effect.fn("HarborTask.read")((folder: string, options: Options = {}) =>
  Effect.catchTag(readTask(folder, options), "PlatformError", (error) => Effect.fail(unreadable(folder)(error)))
)

const readTasks = Effect.fnUntraced(
  function*(folder: string, options: Options) {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const isTask = (path: string) => fs.exists(join(path, "task.toml"))
    if (yield* isTask(folder)) return [yield* read(folder, options)]
    const names = (yield* fs.readDirectory(folder)).sort().map((name) => join(folder, name))
    const folders = yield* Effect.filter(names, isTask)
    if (folders.length === 0) return yield* invalid(folder, "has no task.toml, and no folder with one")
    return yield* Effect.forEach(folders, (one) => read(one, options))
  }
)

/**
 * Reads all tasks in a folder, ordered by name. If the folder is itself a task, reads only that task.
 *
 * @example
 * const tasks = HarborTask.readAll("tasks")
 *
 * @see tinker-cookbook `load_harbor_tasks`
 */
export const readAll = Effect.fn("HarborTask.readAll")((folder: string, options: Options = {}) =>
  Effect.catchTag(readTasks(folder, options), "PlatformError", (error) => Effect.fail(unreadable(folder)(error)))
)
