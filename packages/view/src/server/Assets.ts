/** The page's own files. From a clone they are TypeScript, stripped of its types; in the published package they are built. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Path from "effect/Path"
import { stripTypeScriptTypes } from "node:module"

const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"

export const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>effect-rl</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/page.css">
<script type="module" src="/assets/page/Main.${extension}"></script>
</head>
<body><noscript>This page needs JavaScript.</noscript></body>
</html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<path d="M2 13 6 8l3 2 5-8" fill="none" stroke="#3b6fd4" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>`

const read = Effect.fnUntraced(function*(relative: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* fs.readFileString(yield* path.fromFileUrl(new URL(relative, import.meta.url)))
})

const script = (name: string) =>
  Effect.map(
    read(`../${name}`),
    (source) =>
      HttpServerResponse.text(extension === "ts" ? stripTypeScriptTypes(source) : source, {
        contentType: "text/javascript"
      })
  )

const style = Effect.map(
  read("../../src/page/page.css"),
  (text) => HttpServerResponse.text(text, { contentType: "text/css" })
)

const isModule = new RegExp(`^(?:page|story)/[A-Z][A-Za-z]*\\.${extension}$`)

const missing = HttpServerResponse.empty({ status: 404 })

/** The file at the path below `/assets/`. */
export const file = (name: string) => {
  if (name === "page.css") return Effect.orDie(style)
  if (name === "icon.svg") return Effect.succeed(HttpServerResponse.text(icon, { contentType: "image/svg+xml" }))
  return isModule.test(name) ? Effect.orElseSucceed(script(name), () => missing) : Effect.succeed(missing)
}
