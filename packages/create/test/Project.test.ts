import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import * as Project from "create-effect-rl/Project"
import * as Template from "create-effect-rl/Template"
import { Effect, FileSystem, Path } from "effect"
import { fileURLToPath } from "node:url"

const templates = fileURLToPath(new URL("../templates/", import.meta.url))

const options = { template: "plain", templates, version: "0.3.0", node: "22.19.0", packages: undefined } as const

const temporary = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped())

const manifestOf = (folder: string) =>
  Effect.map(
    FileSystem.FileSystem.use((fs) => fs.readFileString(`${folder}/package.json`)),
    (text): ReturnType<typeof Template.manifest> => JSON.parse(text)
  )

describe("a new project", () => {
  it.effect.each(Template.names)(
    "of the template %s has a task, its test and the packages that they import",
    (template) =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = `${yield* temporary}/My Task`
        yield* Project.write({ ...options, template, folder })
        const manifest = yield* manifestOf(folder)
        assert.deepInclude(manifest, { name: "my-task", type: "module", engines: { node: ">=22.19.0" } })
        assert.strictEqual(manifest.dependencies["@effect-rl/core"], "^0.3.0")
        const sources = yield* Effect.forEach(
          [...yield* fs.readDirectory(`${folder}/src`), "../test/task.test.ts"],
          (file) => fs.readFileString(`${folder}/src/${file}`)
        )
        const imported = sources.flatMap((text) =>
          Array.from(text.matchAll(/from "([^"]+)"/g), ([, from = ""]) => from)
        )
        const packages = imported.filter((from) => !/^(\.|node:)/.test(from)).map((from) =>
          from.startsWith("@") ? from.split("/").slice(0, 2).join("/") : from.split("/")[0]
        )
        assert.includeMembers(Object.keys(manifest.dependencies), packages)
        assert.strictEqual(yield* fs.readFileString(`${folder}/.gitignore`), "node_modules\nruns/\n")
        assert.isFalse(yield* fs.exists(`${folder}/gitignore`))
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("depends on packed packages by relative paths if a folder of them is given", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const { join } = yield* Path.Path
      const folder = yield* temporary
      const packages = join(folder, "tarballs")
      yield* fs.makeDirectory(packages)
      for (const name of ["effect-rl-core-0.3.0.tgz", "effect-rl-view-0.3.0.tgz", "create-effect-rl-0.3.0.tgz"]) {
        yield* fs.writeFileString(join(packages, name), "")
      }
      yield* Project.write({ ...options, packages, folder: join(folder, "task") })
      assert.deepInclude((yield* manifestOf(join(folder, "task"))).dependencies, {
        "@effect-rl/core": "file:../tarballs/effect-rl-core-0.3.0.tgz",
        "@effect-rl/view": "file:../tarballs/effect-rl-view-0.3.0.tgz"
      })
      const none = yield* Effect.flip(Project.write({ ...options, packages: templates, folder: join(folder, "other") }))
      assert.include(none.message, "it has no packed packages, such as effect-rl-core-0.1.0.tgz")
      assert.isFalse(yield* fs.exists(join(folder, "other")))
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("does not overwrite existing files", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      yield* FileSystem.FileSystem.use((fs) => fs.writeFileString(`${folder}/mine.txt`, ""))
      const refused = yield* Effect.flip(Project.write({ ...options, folder }))
      assert.strictEqual(refused.message, `${folder}: is not empty, expected a new or an empty folder`)
    }).pipe(Effect.provide(NodeServices.layer)))
})
