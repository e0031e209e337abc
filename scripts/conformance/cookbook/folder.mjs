/**
 * The folder in which recipes run. A model and a dataset of the hub are looked for in the folder of that name before the hub is asked, so
 * that folders named as the hub names them stand in for it: the tiny preset for models, sums for every dataset.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const preset = "packages/engine/presets/tiny-64"

/** Longer than the preset's training context, because some recipes request answers of up to 2,048 tokens. */
const contextLength = 4096

const change = (file, f) => writeFileSync(file, JSON.stringify(f(JSON.parse(readFileSync(file, "utf8")))))

/** Adds the thinking tokens that some renderers need. They replace the last two merges. */
const withThinking = ({ added_tokens, model, ...tokenizer }) => {
  const last = model.merges.slice(-2).map((merge) => merge.replace(" ", ""))
  const { [last[0]]: open, [last[1]]: close, ...vocab } = model.vocab
  const token = (content, id) => ({ ...added_tokens[0], content, id, special: false })
  return {
    ...tokenizer,
    added_tokens: [token("<think>", open), token("</think>", close), ...added_tokens],
    model: { ...model, vocab, merges: model.merges.slice(0, -2) }
  }
}

const addModel = (folder, name) => {
  const target = join(folder, name)
  cpSync(preset, target, { recursive: true })
  change(join(target, "config.json"), (config) => ({ ...config, max_position_embeddings: contextLength }))
  change(join(target, "tokenizer.json"), withThinking)
  return target
}

const jsonl = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("")

/** Writes a dataset repository: rows by split, and a card that names the configuration. */
const addDataset = (folder, name, splits, config = "default") => {
  const target = join(folder, name)
  mkdirSync(target, { recursive: true })
  const files = Object.keys(splits).map((split) => `  - split: ${split}\n    path: ${split}.jsonl\n`)
  writeFileSync(
    join(target, "README.md"),
    `---\nconfigs:\n- config_name: ${config}\n  data_files:\n${files.join("")}---\n`
  )
  for (const [split, rows] of Object.entries(splits)) writeFileSync(join(target, `${split}.jsonl`), jsonl(rows))
}

/** Sums of two digits, repeated. There are so few that guessed answers are sometimes right. */
const sums = (count) =>
  Array.from({ length: count }, (_, index) => {
    const [left, right] = [index % 10, Math.floor(index / 10) % 10]
    return { left, right, question: `What is ${left} + ${right}?`, sum: left + right }
  })

const dialogue = (question, answer) => ({
  messages: [{ role: "user", content: question }, { role: "assistant", content: answer }],
  prompt: question,
  prompt_id: question,
  category: "Sums"
})

const inBox = "Write the number inside \\boxed{}, without units."

/** Examples in the format of rl_loop, without which the tiny model boxes no answer. */
const boxed = ({ question, sum }) => {
  const row = dialogue(`${question} ${inBox}`, `\\boxed{${sum}}`)
  const example = [
    { role: "user", content: `How many letters has the word "strawberry"? ${inBox}` },
    {
      role: "assistant",
      content: "One after the other: 1) s 2) t 3) r 4) a 5) w 6) b 7) e 8) r 9) r 10) y. \\boxed{10}"
    }
  ]
  return { ...row, messages: [...example, ...row.messages] }
}

const spoken = ({ left, question, right, sum }) => dialogue(question, `The sum of ${left} and ${right} is ${sum}.`)

const preferred = ({ question, sum }) => ({
  chosen: `\n\nHuman: ${question}\n\nAssistant: ${sum}`,
  rejected: `\n\nHuman: ${question}\n\nAssistant: I am not sure.`
})

const choice = ({ question, sum }, index) => ({
  domain: "Chemistry",
  details: { level: "L3" },
  type: "mcq-4-choices",
  question,
  choices: { label: ["A", "B"], text: index % 2 === 0 ? [`${sum}`, `${sum + 1}`] : [`${sum + 1}`, `${sum}`] },
  answerKey: index % 2 === 0 ? "A" : "B"
})

/** The tiny model is also the grader; the first digit of its answer is the score. */
const graded = ({ question, sum }) => ({
  convo: [{ role: "user", content: question }],
  rubric_items: [{
    rubric_str: `Is the answer ${sum}?`,
    extraction_regex: "(\\d)",
    grader_output_format_instruction: "Say a number."
  }]
})

/** Writes models and datasets, and returns each model's folder by name. */
export const fill = (folder, models) => {
  const solved = ({ question, sum }) => ({ question, answer: `#### ${sum}` })
  addDataset(folder, "openai/gsm8k", { train: sums(640).map(solved), test: sums(64).map(solved) }, "main")
  addDataset(folder, "HuggingFaceH4/no_robots", { train: sums(640).map(boxed), test: sums(32).map(boxed) })
  addDataset(folder, "Anthropic/hh-rlhf", { train: sums(640).map(preferred), test: sums(1024).map(preferred) })
  addDataset(folder, "zwhe99/DeepMath-103K", {
    train: sums(640).map(({ question }) => ({ question: `${question} Write your answer in \\boxed{} format.` }))
  })
  addDataset(folder, "hicai-zju/SciKnowEval", { test: sums(320).map(choice) })
  writeFileSync(join(folder, "sums.jsonl"), jsonl(sums(640).map((row) => ({ messages: spoken(row).messages }))))
  for (const [file, rows] of [["rubric_train.jsonl", sums(320)], ["rubric_test.jsonl", sums(8)]]) {
    writeFileSync(join(folder, file), jsonl(rows.map(graded)))
  }
  return models.map((name) => `${name}=${addModel(folder, name)}`)
}
