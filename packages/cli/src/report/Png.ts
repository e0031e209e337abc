/** Converts SVG documents to PNG images. */
import { initWasm, Resvg } from "@resvg/resvg-wasm"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"

const fonts = ["DejaVuSans", "DejaVuSans-Bold"]

const readModuleFile = Effect.fnUntraced(function*(specifier: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = yield* Effect.orDie(path.fromFileUrl(new URL(import.meta.resolve(specifier))))
  return yield* fs.readFile(file)
})

let starting: Promise<void> | undefined

/** Initializes the WebAssembly module, once per process. */
const start = Effect.flatMap(
  readModuleFile("@resvg/resvg-wasm/index_bg.wasm"),
  (wasm) => Effect.promise(() => starting ??= initWasm(wasm))
)

/** Pixels per SVG unit, so text is sharp on dense screens. */
const scale = 2

export const fromSvg = Effect.fn("Png.fromSvg")(function*(svg: string) {
  yield* start
  const fontBuffers = yield* Effect.forEach(fonts, (font) => readModuleFile(`dejavu-fonts-ttf/ttf/${font}.ttf`))
  return yield* Effect.acquireUseRelease(
    Effect.sync(() =>
      new Resvg(svg, {
        fitTo: { mode: "zoom", value: scale },
        font: { fontBuffers, defaultFontFamily: "DejaVu Sans" }
      })
    ),
    (image) => Effect.sync(() => image.render().asPng()),
    (image) => Effect.sync(() => image.free())
  )
})
