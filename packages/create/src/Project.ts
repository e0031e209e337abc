/** Creates a project in a new folder. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Template from "./Template.ts"

/** The project could not be created in the folder. */
export class ProjectError extends Schema.TaggedError<ProjectError>()("ProjectError", {
  folder: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.folder}: ${this.detail}`
  }
}

export interface ProjectOptions extends Omit<Template.ManifestOptions, "name" | "packed"> {
  /** The folder to create. An existing folder must be empty. */
  readonly folder: string
  /** The folder of templates. */
  readonly templates: string
  /** A folder of packed packages to install. Default: the packages on npm. */
  readonly packages: string | undefined
}

const tarball = /^effect-rl-([a-z]+)-.+\.tgz$/

/** The packed packages in a folder, as dependencies of a project. */
const packedIn = Effect.fnUntraced(function*(packages: string, folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = (yield* fs.readDirectory(packages)).sort()
  const found = files.flatMap((file): ReadonlyArray<readonly [string, string]> => {
    const [, name] = tarball.exec(file) ?? []
    const place = path.relative(path.resolve(folder), path.resolve(packages, file))
    return name === undefined ? [] : [[`@effect-rl/${name}`, `file:${place}`]]
  })
  const detail = "it has no packed packages, such as effect-rl-core-0.1.0.tgz"
  return found.length === 0 ? yield* new ProjectError({ folder: packages, detail }) : Object.fromEntries(found)
})

/** A name that npm accepts. */
const nameOf = (folder: string) => folder.toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^[._-]+/, "") || "task"

/** Writes the template's files and a package.json. */
export const write = Effect.fn("Project.write")(function*({ folder, packages, templates, ...options }: ProjectOptions) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const isTaken = yield* Effect.match(fs.readDirectory(folder), {
    onFailure: () => false,
    onSuccess: (files) => files.length > 0
  })
  if (isTaken) return yield* new ProjectError({ folder, detail: "is not empty, expected a new or an empty folder" })
  const packed = packages === undefined ? undefined : yield* packedIn(packages, folder)
  yield* fs.makeDirectory(folder, { recursive: true })
  for (const name of ["every", options.template]) {
    yield* fs.copy(path.join(templates, name), folder, { overwrite: true })
  }
  // npm excludes files named .gitignore from packages.
  yield* fs.rename(path.join(folder, "gitignore"), path.join(folder, ".gitignore"))
  const manifest = Template.manifest({ ...options, name: nameOf(path.basename(path.resolve(folder))), packed })
  yield* fs.writeFileString(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
})

/** Installs the project's dependencies with npm. */
export const install = Effect.fn("Project.install")(function*(folder: string) {
  const { exitCode } = yield* ChildProcessSpawner.ChildProcessSpawner
  const code = yield* exitCode(
    ChildProcess.make("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], {
      cwd: folder,
      stdout: "inherit",
      stderr: "inherit"
    })
  )
  const detail = `npm install ended with ${code}: fix the problem that it reports, and run it again in the folder`
  if (code !== 0) return yield* new ProjectError({ folder, detail })
})
