/** Prints how fast `HuggingFaceTokenizer` loads, encodes and decodes: `ours.ts TEXTS TOKENIZER`; see Workload.ts. */
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import type * as Workload from "./Workload.ts"

const [textsFile = "", tokenizerFile = ""] = process.argv.slice(2)
const leastSeconds = 1

const residentMegabytes = () => process.memoryUsage().rss / 1e6

/** The value of a pass, and the seconds of the fastest one. A first pass, which is not timed, warms up the caches. */
const best = <A>(pass: () => A) => {
  let [value, seconds] = [pass(), Infinity]
  const end = performance.now() + 1000 * leastSeconds
  do {
    const start = performance.now()
    value = pass()
    seconds = Math.min(seconds, (performance.now() - start) / 1000)
  } while (performance.now() < end)
  return { value, seconds }
}

const sha256 = (parts: ReadonlyArray<string | Uint8Array>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}

const kinds: Readonly<Record<string, ReadonlyArray<string>>> = JSON.parse(readFileSync(textsFile, "utf8"))
globalThis.gc?.()
const before = residentMegabytes()
const start = performance.now()
const tokenizer = Effect.runSync(
  HuggingFaceTokenizer.fromJson(tokenizerFile, JSON.parse(readFileSync(tokenizerFile, "utf8")))
)
const loadSeconds = (performance.now() - start) / 1000
globalThis.gc?.()
const loadedMegabytes = residentMegabytes() - before

const passes = (texts: ReadonlyArray<string>): Workload.Passes => {
  const encoded = best(() => texts.map((text) => tokenizer.encode(text)))
  const decoded = best(() => encoded.value.map((ids) => tokenizer.decode(ids)))
  return {
    encodeSeconds: encoded.seconds,
    decodeSeconds: decoded.seconds,
    tokens: encoded.value.reduce((sum, { length }) => sum + length, 0),
    ids: sha256(encoded.value.map((ids) => `${ids.join(",")}\n`)),
    decoded: sha256(decoded.value)
  }
}

const measured = Object.fromEntries(Object.entries(kinds).map(([kind, texts]) => [kind, passes(texts)]))
const peakMegabytes = process.resourceUsage().maxRSS / 1000
process.stdout.write(JSON.stringify({ loadSeconds, loadedMegabytes, peakMegabytes, kinds: measured }))
