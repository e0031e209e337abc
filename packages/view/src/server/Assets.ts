/** Serves the page's own files. */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as PageFiles from "./PageFiles.ts"

export const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>effect-rl</title>
<link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="/assets/page.css">
<script defer src="/assets/page.js"></script>
</head>
<body><noscript>This page needs JavaScript.</noscript></body>
</html>
`

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<path d="M2 13 6 8l3 2 5-8" fill="none" stroke="#3b6fd4" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>`

const answer = (contentType: string) => (text: string) => HttpServerResponse.text(text, { contentType })

/** Responses for the files below `/assets/` by name. The script is bundled once, before the first request. */
export const make = Effect.gen(function*() {
  const script = yield* Effect.cached(PageFiles.script)
  yield* Effect.forkScoped(script)
  return (name: string) => {
    switch (name) {
      case "page.js":
        return Effect.map(script, answer("text/javascript"))
      case "page.css":
        return Effect.map(PageFiles.style, answer("text/css"))
      case "icon.svg":
        return Effect.succeed(answer("image/svg+xml")(icon))
      default:
        return Effect.succeed(HttpServerResponse.empty({ status: 404 }))
    }
  }
})
