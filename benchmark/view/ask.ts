/**
 * Thirty questions on fourteen kinds of run: asked of the page, in headless Chromium, and of `effect-rl show`, and compared with a key that
 * is computed from the raw records. `node … ask.ts [FOLDER [NUMBER | KIND] …]` first trains the runs that the folder lacks; the results
 * are written if all questions are asked of all kinds.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { chromium, type Page } from "playwright-core"
import * as Report from "../Report.ts"
import { type Question, questions, type Sought, type Step } from "./Asked.ts"
import * as Key from "./Key.ts"
import * as Kinds from "./Kinds.ts"

const executablePath = [process.env["CHROMIUM_PATH"] ?? "", "/usr/bin/chromium"].find((file) => existsSync(file))
const cli = join(import.meta.dirname, "../../packages/cli/src/bin.ts")
const node = ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning", cli]

/** Time limit for an answer, long enough for a busy machine. */
const patience = Number(process.env["EFFECT_RL_PATIENCE"] ?? "20") * 1000

const [given = join(tmpdir(), "effect-rl-questions", "runs"), ...chosen] = process.argv.slice(2)
const folder = resolve(given)
await Kinds.make(folder)
const runs = new Map(Kinds.kinds.map(({ name }) => [name, Key.read(folder, name)]))
const runOf = (name: string) => {
  const run = runs.get(name)
  if (run === undefined) throw new Error(`no run ${name}`)
  return run
}

const place = (run: Key.Run, { beside }: Question) =>
  new URLSearchParams(
    beside === undefined
      ? { at: "run", run: run.folder }
      : { at: "compare", run: run.folder, others: join(folder, beside) }
  )

const take = async (page: Page, step: Step) => {
  if ("click" in step) return page.locator(step.click).first().click()
  if ("press" in step) return page.keyboard.press(step.press)
  if ("choose" in step) return page.locator(step.in).first().selectOption(step.choose).then(() => undefined)
  return page.locator(step.into).first().fill(step.type).then(() => page.locator(step.into).first().press("Tab"))
}

const plain = (text: string) => text.replaceAll("−", "-").replaceAll(/[ \u00a0\u2009]+/g, " ")

const isIn = (text: string, sought: Sought) =>
  typeof sought === "string"
    ? text.includes(plain(sought).trim())
    : sought instanceof RegExp
    ? sought.test(text)
    : sought.isIn(text)

const says = (sought: Sought) =>
  typeof sought === "string" || sought instanceof RegExp ? String(sought) : `about ${sought.says}`

interface Asked {
  readonly kind: string
  readonly verdict: "right" | "partly" | "not"
  readonly steps: number
  readonly missing: string
  readonly milliseconds: number
}

/** Takes the steps and waits for the answer. A verdict counts only after the audit has been loaded. */
const ask = async (page: Page, url: string, question: Question, kind: string): Promise<Asked> => {
  const run = runOf(kind)
  const steps = question.steps(run)
  const answer = question.answer(run, runOf(question.beside ?? kind))
  if (answer.length === 0) throw new Error(`the key has no answer to "${question.text}" of ${kind}`)
  const wrong = question.wrong?.(run) ?? []
  await page.goto(`${url}/#${place(run, question)}`)
  let missing = "the page"
  let verdict: Asked["verdict"] = "not"
  let began = performance.now()
  try {
    await page.getByRole("heading", { level: 1, name: question.beside === undefined ? run.folder : "Comparison" })
      .waitFor({ timeout: patience })
    for (const step of steps) {
      await take(page, step)
      // A person sees the result of a step before the next one.
      await page.waitForTimeout(300)
      await page.locator("main .empty", { hasText: /^Reading / }).waitFor({ state: "detached", timeout: patience })
    }
    if (question.isShared === true) {
      const address = page.url()
      await page.goto("about:blank")
      await page.goto(address)
    }
    began = performance.now()
    for (;;) {
      const text = plain(await page.innerText("body"))
      const absent = answer.filter((one) => !isIn(text, one))
      const present = wrong.filter((one) => text.includes(one)).map((one) => `shows ${one}`)
      missing = [...present, ...absent.map((one) => `lacks ${says(one)}`)].join(", ")
      verdict = missing === "" ? "right" : present.length > 0 || absent.length === answer.length ? "not" : "partly"
      if (missing === "" || performance.now() - began > patience) break
      await page.waitForTimeout(250)
    }
  } catch (error) {
    missing = String(error).split("\n")[0] ?? "an error"
  }
  const milliseconds = performance.now() - began
  return { kind, verdict, steps: steps.length, missing, milliseconds }
}

const shown = new Map<string, string>()

const show = (kind: string) => {
  const known = shown.get(kind)
  if (known !== undefined) return known
  const text = plain(execFileSync(process.execPath, [...node, "show", join(folder, kind)], { encoding: "utf8" }))
  shown.set(kind, text)
  return text
}

const shownText = (question: Question, kind: string) => {
  if (question.isShown === undefined) return "–"
  const run = runOf(kind)
  const lacking = question.answer(run, run).find((one) => !isIn(show(kind).replaceAll(/\s*\n\s*/g, " "), one))
  return lacking === undefined ? "yes" : `no: ${says(lacking)}`
}

const server = spawn(process.execPath, [...node, "view", folder], {
  stdio: ["ignore", "pipe", "inherit"]
})
const browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] })
try {
  const [line] = await once(server.stdout, "data")
  const url = String(line).trim().replace(/\/$/, "")
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
  page.setDefaultTimeout(patience)
  const numbered = questions.map((question, index) => ({ question, number: index + 1 }))
  const [numbers, kinds] = [chosen.filter((one) => /^\d+$/.test(one)), chosen.filter((one) => !/^\d+$/.test(one))]
  const wanted = numbered.filter(({ number }) => numbers.length === 0 || numbers.includes(String(number)))
  const asked = new Map(wanted.map(({ question }) => [question, new Array<Asked>()]))
  // Each run is read once for all its questions.
  for (const kind of runs.keys()) {
    if (kinds.length > 0 && !kinds.includes(kind)) continue
    for (const { number, question } of wanted) {
      if (!question.kinds.includes(kind)) continue
      const one = await ask(page, url, question, kind)
      asked.get(question)?.push(one)
      Report.progress(`${kind}, ${number}: ${one.missing === "" ? "right" : one.missing.slice(0, 300)}`)
    }
  }
  const wrong: Array<string> = []
  const rows = wanted.map(({ number, question }): ReadonlyArray<string> => {
    const all = asked.get(question) ?? []
    const told = question.kinds.map((kind) => shownText(question, kind))
    const count = (verdict: Asked["verdict"]) => all.filter((one) => one.verdict === verdict).length
    wrong.push(
      ...all.flatMap(({ kind, missing }) => missing === "" ? [] : [`- ${number}, ${kind}: ${missing}`]),
      ...told.flatMap((one, at) =>
        one.startsWith("no") ? [`- ${number}, ${question.kinds[at]}, in \`show\`: ${one.slice(4)}`] : []
      )
    )
    return [
      `${number}. ${question.text}`,
      count("right") === all.length ? "right" : count("not") === all.length ? "**not**" : "**partly**",
      `${count("right")} / ${count("partly")} / ${count("not")}`,
      String(Math.max(...all.map(({ steps }) => steps))),
      question.isShown === undefined ? "–" : `${told.filter((one) => one === "yes").length} of ${told.length}`,
      ...question.others
    ]
  })
  const times = [...asked.values()].flat().flatMap(({ milliseconds, verdict }) =>
    verdict === "right" ? [milliseconds] : []
  )
  const right = rows.filter(([, verdict]) => verdict === "right").length
  const parts = [
    `\`npm run bench:questions -- FOLDER\`, on the ${Kinds.kinds.length} runs that \`benchmark/view/Kinds.ts\` makes there. An answer is
right if, for every kind of run that the question concerns, the page shows what \`Key.ts\` computes from the raw records; \`Key.ts\` imports
nothing from the repository. An answer is partly right for a kind of run if only some of the expected texts are shown. Steps are clicks,
keys, choices and typed texts, starting from the page of the run or of the comparison; scrolling does not count.`,
    `**${right} of ${rows.length} right**; right answers appeared at most ${
      Math.max(...times).toFixed(0)
    } ms after the last step, in the median ${Report.median(times).toFixed(0)} ms.`,
    Report.table(
      ["question", "answer", "kinds right / partly / not", "steps", "`show`", "Inspect View", "Trackio", "prime-rl"],
      rows
    ),
    `● answers, ◐ partly, ○ not. These columns were not measured here: a designer judged Inspect View 0.3.285 and Trackio 0.43.0 on
such runs, and prime-rl's dashboard by its documentation, on 2026-11-26. A number after a mark is the number of steps in that tool to the
answer of the closest question in [view-beside.md](view-beside.md); other numbers of steps are unknown.`,
    `\`Kinds.ts\` and \`Asked.ts\` list the runs and their planted faults. Two definitions of the key are taken from the page: a
reward of at least 0.5 is good, and overlapping stages share their time equally.`,
    `When the questions were first asked, on 2026-11-28, 23 answers were right. The page was then changed for questions 5
(it showed no count if the count was 0), 11 (no dollars by kind of token), 12 (a click on a token in a group lost the token), 21 (no
reading at equal tokens), 22 (no mean by tag) and 29 (nothing recorded). The answer key was wrong for questions 5, 6, 10, 12 and 15,
because it had been written only from the records; for 5, 6, 10 and 12 it was corrected after reading the page's code.`,
    ...(wrong.length === 0 ? [] : ["## What is wrong or missing", wrong.join("\n")])
  ]
  if (chosen.length === 0) Report.publish("questions", "Thirty questions on fourteen kinds of run", parts)
} finally {
  await browser.close()
  server.kill()
}
