/** What a run on the engine came to, as its folder tells. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const lines = (file: string): ReadonlyArray<Record<string, unknown>> =>
  readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line))

const isTime = (name: string) => name.startsWith("time/") || name === "segment"

/** The last record of each step and group, without times: what a reader of the run sees. */
const seen = (file: string) => {
  const records = new Map<string, string>()
  for (const record of lines(file)) {
    const entries = Object.entries(record).filter(([name]) => !isTime(name))
    records.set(`${record["step"]} ${record["key"]}`, JSON.stringify(entries))
  }
  return [...records].toSorted()
}

const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

/** Everything about a finished run that must not depend on how often it was interrupted. */
export const outcome = (folder: string) => {
  const last = lines(join(folder, "checkpoints.jsonl")).at(-1)
  const state = join(folder, "checkpoints", String(last?.["state_path"]).replace("engine://", ""))
  return {
    name: last?.["name"],
    tokens: last?.["tokens"],
    metrics: seen(join(folder, "metrics.jsonl")),
    groups: seen(join(folder, "events.jsonl")),
    adapter: hash(join(state, "adapter_model.safetensors")),
    optimizer: hash(join(state, "optimizer.safetensors"))
  }
}
