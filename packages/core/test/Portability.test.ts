import { assert, describe, it } from "@effect/vitest"
import { Effect, String } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const source = fileURLToPath(new URL("../src", import.meta.url))

const effect = fileURLToPath(new URL("../../../node_modules/effect/src", import.meta.url))

/** Whether a module of effect follows semantic versioning, according to the docstrings of its exports. */
const isStable = (module: string) => readFileSync(`${effect}/${module}.ts`, "utf8").includes("@stability stable")

const imports = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter(String.endsWith(".ts"))
  .flatMap((file) =>
    [...readFileSync(`${source}/${file}`, "utf8").matchAll(/^(?:import|export|\}) (?:.*?from )?"([^"]+)"$/gm)].map(
      ([, target = ""]) => ({ file, target })
    )
  )

describe("the core", () => {
  it("imports only its own files and stable modules of effect", () => {
    const isAllowed = (target: string) => {
      const module = /^effect\/(\w+(?:\/\w+)?)$/.exec(target)?.[1]
      return target.startsWith(".") || (module !== undefined && isStable(module))
    }
    assert.isAbove(imports.length, 100)
    assert.deepStrictEqual(imports.filter(({ target }) => !isAllowed(target)), [])
  })

  for (const entry of ["index.ts", "testing/index.ts"]) {
    it.effect(`bundles for a browser without imports of Node or other packages: ${entry}`, () =>
      Effect.gen(function*() {
        const bundle = yield* Effect.promise(() =>
          rolldown({
            input: `${source}/${entry}`,
            platform: "browser",
            resolve: { conditionNames: ["@effect-rl/source", "browser", "import"] },
            onLog: (level, log) => assert.notStrictEqual(log.code, "UNRESOLVED_IMPORT", `${level}: ${log.message}`)
          })
        )
        const { output } = yield* Effect.promise(() => bundle.generate({ format: "esm" }))
        const chunks = output.flatMap((file) => file.type === "chunk" ? [file] : [])
        assert.deepStrictEqual(chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]), [])
        assert.isFalse(chunks.some(({ code }) => /from\s*"node:|import\("node:|require\("/.test(code)))
      }))
  }
})
