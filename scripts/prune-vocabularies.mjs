/**
 * Prunes the vocabularies of Qwen3 and Llama 3 to the tokens that the tests use:
 *
 *     node scripts/prune-vocabularies.mjs FOLDER
 *
 * FOLDER has the models' `qwen3.tokenizer.json` and `llama3.tokenizer.json`. The tests are run with them; every token that is encoded or
 * decoded is kept, and so are the merges by which it is made of bytes. A merge that crosses the end of a token is never applied, so the
 * merges of a text are those of its tokens. Others cannot come first among those that are left: the same text has the same tokens.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")
const target = join(root, "packages/core/test/fixtures/vocabularies")
const tests = ["packages/core/test/renderers", "packages/files/test/tokenizer/RealTokenizers.test.ts"]
const names = ["qwen3", "llama3"]

const source = process.argv[2]
if (source === undefined) {
  console.error("usage: node scripts/prune-vocabularies.mjs FOLDER")
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), "vocabularies-"))
for (const name of names) copyFileSync(join(source, `${name}.tokenizer.json`), join(folder, `${name}.tokenizer.json`))
const env = { ...process.env, EFFECT_RL_WHOLE_VOCABULARIES: folder }
const { status } = spawnSync("npx", ["vitest", "run", ...tests], { cwd: root, env, stdio: "inherit" })
if (status !== 0) process.exit(1)

const pairOf = (left, right) => `${left} ${right}`

/** The merges that build a token from its bytes, each as the pair that it joins. */
const mergesOf = (token, ranks) => {
  const applied = []
  let parts = Array.from(token)
  while (true) {
    const pairs = parts.slice(1).map((right, at) => pairOf(parts[at], right))
    const first = pairs.reduce((least, pair) => Math.min(least, ranks.get(pair) ?? Infinity), Infinity)
    if (first === Infinity) return applied
    const at = pairs.findIndex((pair) => ranks.get(pair) === first)
    applied.push(pairs[at])
    parts = [...parts.slice(0, at), parts[at] + parts[at + 1], ...parts.slice(at + 2)]
  }
}

mkdirSync(target, { recursive: true })
for (const name of names) {
  const definition = JSON.parse(readFileSync(join(folder, `${name}.tokenizer.json`), "utf8"))
  const { merges, vocab } = definition.model
  const met = new Set(readFileSync(join(folder, `${name}.met`), "utf8").split(/\s+/).filter(Boolean).map(Number))
  const tokens = new Map(Object.entries(vocab).map(([token, id]) => [id, token]))
  const ranks = new Map(merges.map((merge, rank) => [Array.isArray(merge) ? pairOf(...merge) : merge, rank]))
  const kept = new Set(Object.keys(vocab).filter((token) => Array.from(token).length === 1))
  const keptMerges = new Set()
  for (const id of met) {
    const token = tokens.get(id)
    if (token === undefined) continue
    kept.add(token)
    for (const pair of mergesOf(token, ranks)) {
      keptMerges.add(pair)
      kept.add(pair.replace(" ", ""))
    }
  }
  const pruned = {
    ...definition,
    added_tokens: definition.added_tokens.filter(({ content }) => !content.includes("reserved_special_token")),
    model: {
      ...definition.model,
      vocab: Object.fromEntries(Object.entries(vocab).filter(([token]) => kept.has(token))),
      merges: [...ranks.keys()].filter((pair) => keptMerges.has(pair)).map((pair) => pair.split(" "))
    }
  }
  writeFileSync(join(target, `${name}.json`), `${JSON.stringify(pruned)}\n`)
  console.log(`${name}: ${kept.size} of ${tokens.size} tokens, ${keptMerges.size} of ${merges.length} merges`)
}
rmSync(folder, { recursive: true })
