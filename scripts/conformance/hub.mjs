// Reads the first rows of every published dataset and benchmark, or the tokenizer of every known model, from the Hugging Face hub.
//   npm run conformance:datasets         -- NAME… those whose names begin so
//   npm run conformance:tokenizers
// HF_ENDPOINT, HF_TOKEN and HF_HUB_CACHE are those of Hugging Face. Downloads the first file of each split: some have hundreds of MB.
import { Hub, HuggingFace } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { benchmarks, datasets, tokenizers } from "./hub/Check.ts"

const [kind, ...names] = process.argv.slice(2)
const all = kind === "tokenizers" ? tokenizers : [...datasets, ...benchmarks]
const checks = all.filter(({ name }) => names.length === 0 || names.some((begin) => name.startsWith(begin)))

const hub = process.env.HF_ENDPOINT ?? "https://huggingface.co"
const problem = await fetch(hub, { method: "HEAD", signal: AbortSignal.timeout(10_000) }).then(
  () => undefined,
  (error) => error.cause?.message ?? error.message
)
if (problem !== undefined) {
  for (const { name, what } of checks) console.log(`skipped    ${name}: ${what}`)
  console.log(`${checks.length} skipped: ${hub} cannot be reached (${problem})`)
  process.exit(0)
}

/** Whether the hub refused the credentials. */
const isRefused = (error) => error.reason?._tag === "Unauthorized"

const counts = { works: 0, refused: 0, fails: 0 }
const tell = (outcome, { name, what }, detail) => {
  counts[outcome]++
  console.log(`${outcome.padEnd(8)} ${name}: ${what}: ${detail.replaceAll(/\s+/g, " ")}`)
}

await Effect.forEach(checks, (check) =>
  Effect.matchEffect(check.run, {
    onSuccess: (found) => Effect.sync(() => tell("works", check, found)),
    onFailure: (error) => Effect.sync(() => tell(isRefused(error) ? "refused" : "fails", check, error.message))
  })).pipe(
    Effect.provide(Layer.provideMerge(HuggingFace.layerNoDeps, Hub.Hub.layer)),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )

console.log(Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`).join(", "))
process.exit(counts.fails > 0 ? 1 : 0)
