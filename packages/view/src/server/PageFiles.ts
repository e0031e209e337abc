/**
 * The page's script and style. The published package contains the bundled script; in a clone of the repository it is bundled at the first
 * request.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

const isSource = import.meta.url.endsWith(".ts")

const fileAt = Effect.fnUntraced(function*(relative: string) {
  return yield* (yield* Path.Path).fromFileUrl(new URL(relative, import.meta.url))
})

const read = Effect.fnUntraced(function*(relative: string) {
  return yield* (yield* FileSystem.FileSystem).readFileString(yield* fileAt(relative))
}, Effect.orDie)

/** Bundles the page's modules and their libraries into one script. */
export const bundle = Effect.gen(function*() {
  const { rolldown } = yield* Effect.promise(() => import("rolldown"))
  const input = yield* Effect.orDie(fileAt("../page/Main.ts"))
  const build = yield* Effect.acquireRelease(
    Effect.promise(() =>
      rolldown({
        input,
        platform: "browser",
        resolve: { conditionNames: ["@effect-rl/source", "browser", "import", "default"] },
        checks: { circularDependency: true }
      })
    ),
    (build) => Effect.promise(() => build.close())
  )
  const { output } = yield* Effect.promise(() => build.generate({ format: "iife", minify: true, codeSplitting: false }))
  return output[0].code
}).pipe(Effect.scoped)

/** The page's script. */
export const script = isSource ? bundle : read("../page.js")

/** The page's style sheet. */
export const style = read("../../src/page/page.css")
