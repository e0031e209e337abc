/** A run as one self-contained HTML file, to share or archive. It is the same page with the run embedded, and needs no server. */
import { type Recorded, Rollouts } from "@effect-rl/core/records"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { elementId, type Embedded } from "../story/Embedded.ts"
import type * as Entry from "../story/Entry.ts"
import { Languages } from "./Languages.ts"
import * as LogTail from "./LogTail.ts"
import * as LossTerms from "./LossTerms.ts"
import { Measuring, withoutMeasures } from "./Measuring.ts"
import * as PageFiles from "./PageFiles.ts"
import * as RunCache from "./RunCache.ts"
import * as TrainedTurns from "./TrainedTurns.ts"
import * as Transcript from "./Transcript.ts"

/** Maximum characters of transcripts before compression, because a browser holds them in memory. */
const mostCharacters = 64e6

/** Groups alternately from both ends of the run towards its middle, because its beginning and end are the most informative. */
const fromBothEnds = (groups: ReadonlyArray<Recorded.Group>): ReadonlyArray<Recorded.Group> =>
  groups.flatMap((_, index) => {
    const group = groups[index % 2 === 0 ? groups.length - 1 - index / 2 : (index - 1) / 2]
    return group === undefined ? [] : [group]
  })

const transcriptsOf = Effect.fnUntraced(function*({ reader, story }: RunCache.Told) {
  const language = yield* Effect.flatMap(Languages, (languages) => languages.of(story))
  const loss = LossTerms.ofRun(story.opened?.identity ?? {}, undefined)
  const datumsOf = TrainedTurns.reader(reader, story)
  const transcripts: Record<string, Entry.GroupView> = {}
  let characters = 0
  for (const group of fromBothEnds(story.records.filter((entry) => entry._tag === "GroupRolledOut"))) {
    if (characters > mostCharacters) break
    const read = yield* Effect.result(Effect.zip(Rollouts.result(reader, group), datumsOf(group)))
    if (Result.isFailure(read)) {
      yield* Rollouts.leaveOut({ record: group, damage: read.failure })
      continue
    }
    const [result, datums] = read.success
    if (result === undefined) continue
    const view = yield* Transcript.make({ ...language, story, group, loss, datums }, result)
    transcripts[group.sequence] = view
    characters += JSON.stringify(view).length
  }
  return transcripts
})

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** The HTML file. It contains everything, and its content security policy allows no other source. */
const html = (script: string, style: string, data: string) => {
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${
    hash(style)
  }; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>effect-rl</title>
<style>${style}</style>
<script type="application/gzip" id="${elementId}">${data}</script>
</head>
<body><noscript>This page needs JavaScript.</noscript>
<script>${script}</script>
</body>
</html>
`
}

/**
 * The HTML page of the run in a directory. It contains all records, the measures of all rollouts, and transcripts from both ends of
 * the run, up to 64 million characters.
 *
 * @example
 * const text = yield* ExportedPage.make("runs/arithmetic-0")
 * yield* FileSystem.FileSystem.use((fs) => fs.writeFileString("page.html", text))
 */
export const make = Effect.fn("ExportedPage.make")(
  function*(run: string) {
    const cache = yield* RunCache.RunCache
    const told = yield* cache.read(run)
    const findings = yield* cache.findings(run)
    const embedded: Embedded = {
      line: yield* cache.line(run, yield* Clock.currentTimeMillis),
      entries: told.story.records.map(withoutMeasures),
      findings,
      measures: yield* Measuring.use(({ of }) => of(told)),
      log: yield* LogTail.read(run),
      transcripts: yield* transcriptsOf(told)
    }
    const script = (yield* PageFiles.script).replaceAll("</script", "<\\/script")
    return html(script, yield* PageFiles.style, gzipSync(JSON.stringify(embedded)).toString("base64"))
  },
  Effect.provide(Layer.mergeAll(RunCache.RunCache.layer, Languages.layer, Measuring.layer))
)
