/**
 * Compares the page with Inspect View and Trackio on the same run, with the same script in headless Chromium: the number of clicks and keys
 * to the answer of a question, and the time until the first paint and until the answer is visible. Inspect View and Trackio come from
 * PyPI, in the virtual environment of `npm run conformance:readers`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { chromium, type Page } from "playwright-core"
import * as Report from "../Report.ts"
import { type Missing, questions, type Step, type Way } from "./Questions.ts"

const executablePath = [process.env["CHROMIUM_PATH"] ?? "", "/usr/bin/chromium"].find((file) => existsSync(file))
const environments = process.env["CONFORMANCE_ENVIRONMENTS"] ?? join(tmpdir(), "effect-rl-conformance")
const tool = (name: string) => join(environments, "readers/bin", name)
const cli = join(import.meta.dirname, "../../packages/cli/src/bin.ts")
const node = ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning", cli]

const attempts = 5
/** Milliseconds to wait for an answer, enough for a busy machine. An answer that is not visible by then counts as missing. */
const patience = 15_000

const effectRl = (...args: ReadonlyArray<string>) =>
  void execFileSync(process.execPath, [...node, ...args], { stdio: ["ignore", "ignore", "inherit"] })

const freePort = async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  return typeof address === "object" && address !== null ? address.port : 0
}

interface Served {
  readonly url: string
  readonly stop: () => void
}

const isUp = (url: string) => fetch(url).then(({ ok }) => ok, () => false)

const served = async (url: string, child: ChildProcess): Promise<Served> => {
  for (let tries = 0; tries < 600 && !await isUp(url); tries++) await new Promise((resolve) => setTimeout(resolve, 100))
  return { url, stop: () => void child.kill() }
}

const start = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  spawn(command, args, { stdio: "ignore", env: { ...process.env, ...env } })

/** Whether enough of the elements are visible at the same time. */
const isAnswered = async (page: Page, { answer, count = 1 }: Way) => {
  const { height = 0, width = 0 } = page.viewportSize() ?? {}
  let seen = 0
  for (const element of await page.locator(answer).all()) {
    const box = await element.boundingBox().catch(() => null)
    if (box !== null && box.width > 0 && box.x >= 0 && box.y >= 0 && box.x < width && box.y < height) seen++
  }
  return seen >= count
}

const take = async (page: Page, step: Step) => {
  if ("click" in step) return page.locator(step.click).first().click()
  if ("press" in step) return page.keyboard.press(step.press)
  if ("type" in step) return page.locator(step.into).first().fill(step.type)
  if ("wheel" in step) return page.mouse.move(640, 400).then(() => page.mouse.wheel(0, step.wheel))
  return page.locator(step.scrollTo).first().scrollIntoViewIfNeeded()
}

const open = async <A>(look: (page: Page) => Promise<A>) => {
  const browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
    page.setDefaultTimeout(patience)
    return await look(page)
  } finally {
    await browser.close()
  }
}

const until = async (page: Page, way: Way) => {
  const began = performance.now()
  while (!await isAnswered(page, way)) {
    if (performance.now() - began > patience) throw new Error(`no answer in sight at ${way.answer}`)
    await page.waitForTimeout(20)
  }
}

/** Follows the steps from the tool's first page and checks the answer. */
const walk = (url: string, way: Way) =>
  open(async (page) => {
    await page.goto(url)
    for (const step of way.steps) {
      await take(page, step)
      // A person sees the result of a step before the next one.
      await page.waitForTimeout(300)
    }
    await until(page, way)
  })

/** Milliseconds from navigation until the browser painted something, and until the first question is answered. */
const paints = (url: string, way: Way) =>
  open(async (page) => {
    await page.goto(url)
    for (const step of way.steps) await take(page, step)
    await until(page, way)
    const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
    return { first: await page.evaluate<number>(paint), answered: await page.evaluate<number>("performance.now()") }
  })

const cell = async (url: string, way: Way | Missing) => {
  if ("missing" in way) return `no: ${way.missing}`
  const note = way.note === undefined ? "" : ` (${way.note})`
  return walk(url, way).then(
    () => `${way.steps.length}${note}`,
    (error: Error) => `failed: ${error.message.split("\n")[0]}`
  )
}

const measured = async (name: string, url: string, way: Way) => {
  const all: Array<{ readonly first: number; readonly answered: number }> = []
  for (let attempt = 0; attempt < attempts; attempt++) all.push(await paints(url, way))
  const median = (of: "first" | "answered") => `${Report.median(all.map((one) => one[of])).toFixed(0)} ms`
  return [name, median("first"), median("answered")]
}

const equalSteps =
  `Inspect View takes as few steps as effect-rl for questions about single attempts or scores, because its first page lists one log per iteration with
attempts as rows. Brackets say what an answer lacks.`

/** The load before the measurement, because its browsers load the machine. */
const [loadBefore = 0] = loadavg()
const busy = loadBefore > cpus().length ? ", while other programs kept the processors busy: not to be quoted" : ""

const compare = async (folder: string) => {
  const runs = join(folder, "runs")
  const [first, second] = [join(runs, "sums"), join(runs, "faster")]
  const small = ["--model", "effect-rl/tiny-64", "--iterations", "5", "--groups-per-batch", "16", "--eval-every", "5"]
  Report.progress("training two runs")
  effectRl("train", "arithmetic", ...small, "--log-path", first)
  effectRl("train", "arithmetic", ...small, "--learning-rate", "0.003", "--log-path", second)
  const [logs, tracked] = [join(folder, "inspect"), join(folder, "trackio")]
  effectRl("export", first, logs, "--format", "inspect")
  for (const run of [first, second]) effectRl("export", run, tracked, "--format", "trackio")

  const [ours, theirs, others] = [await freePort(), await freePort(), await freePort()]
  const page = await served(
    `http://127.0.0.1:${ours}/`,
    start(process.execPath, [...node, "view", runs, "--port", `${ours}`])
  )
  const inspect = await served(
    `http://127.0.0.1:${theirs}/`,
    start(tool("inspect"), ["view", "start", "--log-dir", logs, "--host", "127.0.0.1", "--port", `${theirs}`])
  )
  const trackio = await served(
    `http://127.0.0.1:${others}/?project=effect-rl`,
    start(tool("trackio"), ["show", "--project", "effect-rl"], {
      TRACKIO_DIR: tracked,
      GRADIO_SERVER_PORT: `${others}`,
      HF_HUB_OFFLINE: "1"
    })
  )
  try {
    const run = `${page.url}#${new URLSearchParams({ at: "run", run: first })}`
    const rows: Array<ReadonlyArray<string>> = []
    for (const question of questions) {
      Report.progress(question.text)
      rows.push([
        question.text,
        await cell(run, question.effectRl),
        await cell(inspect.url, question.inspect),
        await cell(trackio.url, question.trackio),
        question.primeRl,
        question.chef
      ])
    }
    const [learning] = questions
    if (learning === undefined || "missing" in learning.inspect || "missing" in learning.trackio) return
    const times = [
      await measured("effect-rl view", run, learning.effectRl),
      await measured("Inspect View", inspect.url, learning.inspect),
      await measured("Trackio", trackio.url, learning.trackio)
    ]
    const version = (name: string) =>
      execFileSync(tool("python"), ["-c", `from importlib.metadata import version; print(version("${name}"))`], {
        encoding: "utf8"
      }).trim()
    Report.publish("view-beside", "Questions about a run, in three tools", [
      `One run of 5 iterations with 16 groups of 8 and two evaluations of 512 problems, exported to Inspect View ${
        version("inspect_ai")
      } and Trackio ${version("trackio")}. The
numbers are clicks, keys, typed texts and wheel turns in headless Chromium (1280 × 720), from the tool's first page on the run until the
answer is visible. prime-rl's dashboard and Tinker Chef were not run: their columns are from their documentation.`,
      Report.table(
        ["question", "effect-rl view", "Inspect View", "Trackio", "prime-rl, not run", "Chef, not run"],
        rows
      ),
      equalSteps,
      `Medians of ${attempts} fresh browsers${busy}:`,
      Report.table(["tool", "first paint", "rewards in sight"], times)
    ])
  } finally {
    for (const { stop } of [page, inspect, trackio]) stop()
  }
}

if (executablePath === undefined || !existsSync(tool("inspect")) || !existsSync(tool("trackio"))) {
  Report.print(
    "skipped: needs Chromium (CHROMIUM_PATH), and Inspect and Trackio, as npm run conformance:readers installs them"
  )
} else {
  const folder = mkdtempSync(join(tmpdir(), "effect-rl-beside-"))
  await compare(folder).finally(() => rmSync(folder, { recursive: true, force: true }))
}
