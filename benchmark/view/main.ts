/**
 * Measures the page in headless Chromium, with the server on the same processors, on a run of 100,000 rollouts and on a run that grows by
 * 1,000 records each second: the times that a person waits, for each of the thirty answers too, the memory of the page, and the longest
 * task while records arrive.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { chromium, type Page } from "playwright-core"
import * as Report from "../Report.ts"
import * as Answers from "./Answers.ts"
import * as Recorded from "./Recorded.ts"

const executablePath = [process.env["CHROMIUM_PATH"] ?? "", "/usr/bin/chromium"].find((file) => existsSync(file)) ?? ""

const runs = 5
const seconds = Number(process.env["EFFECT_RL_LIVE_SECONDS"] ?? "60")
const perSecond = 1000

const cli = join(import.meta.dirname, "../../packages/cli/src/bin.ts")

const node = (...args: ReadonlyArray<string>) =>
  spawn(process.execPath, ["--conditions=@effect-rl/source", ...args], { stdio: ["ignore", "pipe", "inherit"] })

/** Starts a separate server, so no measurement profits from what an earlier one read. */
const serve = async (folder: string) => {
  const child = node(cli, "view", folder)
  const [line] = await once(child.stdout, "data")
  return { url: String(line).trim(), stop: () => child.kill() }
}

const place = (url: string, fields: Readonly<Record<string, string>>) => `${url}/#${new URLSearchParams(fields)}`

const open = async <A>(look: (page: Page) => Promise<A>) => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--enable-precise-memory-info"] })
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } })
  try {
    return await look(page)
  } finally {
    await browser.close()
  }
}

/** Bytes that the page loaded, as transferred. */
const loaded = (page: Page) =>
  page.evaluate<number>(
    "performance.getEntries().reduce((sum, { transferSize = 0 }) => sum + transferSize, 0)"
  )

/** Milliseconds from navigation to the reward chart, and the bytes of this first load. */
const firstChart = (folder: string, run: string) =>
  open(async (page) => {
    const { stop, url } = await serve(folder)
    const start = performance.now()
    await page.goto(place(url, { at: "run", run }))
    await page.locator("svg.plot polyline").waitFor({ state: "attached", timeout: 60_000 })
    const time = performance.now() - start
    const bytes = await loaded(page)
    stop()
    return { time, bytes }
  })

/** Compressed bytes of the page itself: its document, scripts and styles. */
const pageBytes = (folder: string) =>
  open(async (page) => {
    const { stop, url } = await serve(folder)
    await page.goto(url)
    await page.locator("main, body").first().waitFor()
    const bytes = await page.evaluate<number>(
      `performance.getEntries().filter(({ entryType, initiatorType, name }) =>
        entryType === "navigation" || (entryType === "resource" && ["script", "link"].includes(initiatorType) && !name.includes("/api/"))
      ).reduce((sum, { transferSize = 0 }) => sum + transferSize, 0)`
    )
    stop()
    return bytes
  })

/** Makes another directory with the run's files. */
const repeat = (run: string, folder: string) => {
  mkdirSync(folder, { recursive: true })
  for (const file of readdirSync(run)) linkSync(join(run, file), join(folder, file))
}

const listed = 300

/** Milliseconds until the runs are listed, by a server that has read them before and by one that has not. */
const runList = (folder: string, run: string) =>
  open(async (page) => {
    mkdirSync(folder)
    for (let index = 0; index < listed; index++) {
      repeat(run, join(folder, `run-${index}`))
    }
    const { stop, url } = await serve(folder)
    const times: Array<number> = []
    for (let load = 0; load < 4; load++) {
      const start = performance.now()
      await page.goto(place(url, { at: "runs" }))
      if (load > 0) await page.reload()
      await page.locator("tbody tr").nth(listed - 1).waitFor({ timeout: 120_000 })
      times.push(performance.now() - start)
    }
    stop()
    const [cold = NaN, ...warm] = times
    return { cold, warm: Report.median(warm) }
  })

const heap = (page: Page) => page.evaluate<number>("performance.memory.usedJSHeapSize / 2 ** 20")

/** Milliseconds from a click on a group to its members, for groups throughout the run, and the page's memory at the end. */
const transcripts = (folder: string, run: string) =>
  open(async (page) => {
    const { stop, url } = await serve(folder)
    await page.goto(place(url, { at: "run", run }))
    await page.locator("svg.plot polyline").waitFor({ state: "attached", timeout: 60_000 })
    const times: Array<number> = []
    for (const iteration of [1, 31, 61, 91, 125, 8, 78, 102]) {
      await page.evaluate(
        `location.hash = ${JSON.stringify(place("", { at: "iteration", run, iteration: String(iteration) }).slice(2))}`
      )
      await page.getByRole("heading", { name: `Iteration ${iteration}`, exact: true }).waitFor()
      const link = page.locator("table[aria-label=groups] td a").nth(iteration % 50)
      await link.waitFor()
      const start = performance.now()
      await link.click()
      await page.locator("article.member").first().waitFor()
      times.push(performance.now() - start)
    }
    const memory = await heap(page)
    stop()
    return { times, memory }
  })

/** Milliseconds from the last step to each answer, and the longest task meanwhile. The server has read the records before. */
const answered = (folder: string, run: string) =>
  open(async (page) => {
    const { stop, url } = await serve(folder)
    await watchTasks(page)
    await page.goto(place(url, { at: "run", run }))
    await page.locator("svg.plot polyline").waitFor({ state: "attached", timeout: 60_000 })
    const times: Array<{ readonly name: string; readonly time: number }> = []
    for (const { answer, from, name, ready, step } of Answers.answers) {
      await page.evaluate(`location.hash = ${JSON.stringify(place("", { ...from, run }).slice(2))}`)
      await page.locator(ready).first().waitFor({ state: "attached", timeout: 60_000 })
      const start = performance.now()
      await step(page)
      await page.locator(answer).first().waitFor({ state: "attached", timeout: 600_000 })
      times.push({ name, time: performance.now() - start })
      Report.progress(`${name}: ${(performance.now() - start).toFixed(0)} ms`)
    }
    const longest = await page.evaluate<number>("window.longest")
    stop()
    return { times, longest }
  })

/** Milliseconds from navigation to the answer, by a server that has read nothing. */
const navigated = (folder: string, fields: Readonly<Record<string, string>>, answer: string) =>
  open(async (page) => {
    const { stop, url } = await serve(folder)
    const start = performance.now()
    await page.goto(place(url, fields))
    await page.locator(answer).first().waitFor({ state: "attached", timeout: 600_000 })
    const time = performance.now() - start
    stop()
    return time
  })

/** Measures the longest task of each page that is opened afterwards, as `window.longest`. */
const watchTasks = (page: Page) =>
  page.addInitScript(`
    window.longest = 0
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
    }).observe({ entryTypes: ["longtask"] })`)

/** The page's longest task while records arrive, and how many of the written records it has at the end. */
const live = (folder: string, run: string) =>
  open(async (page) => {
    const writer = node(join(import.meta.dirname, "writer.ts"), run, String(perSecond), String(seconds))
    while (!existsSync(join(run, "records.jsonl"))) await new Promise((resolve) => setTimeout(resolve, 50))
    const { stop, url } = await serve(folder)
    await watchTasks(page)
    await page.goto(place(url, { at: "run", run }))
    await page.locator("svg.plot polyline").waitFor({ state: "attached", timeout: 60_000 })
    await page.evaluate("window.longest = 0")
    if (writer.exitCode === null) await once(writer, "exit")
    await page.waitForTimeout(2000)
    const longest = await page.evaluate<number>("window.longest")
    const written = readFileSync(join(run, "records.jsonl"), "utf8").trimEnd().split("\n").length
    const shown = await page.evaluate<number>("Number(document.documentElement.dataset.records)")
    const memory = await heap(page)
    stop()
    return { longest, written, shown, memory }
  })

/** The load before the measurement, because its browsers load the machine. */
const [loadBefore = 0] = loadavg()

const folder = mkdtempSync(join(tmpdir(), "effect-rl-view-"))
try {
  const large = join(folder, "large")
  Report.progress("writing 100,000 rollouts")
  await Effect.runPromise(Recorded.write(join(large, "run")))
  const loads: Array<Awaited<ReturnType<typeof firstChart>>> = []
  for (let index = 0; index < runs; index++) loads.push(await firstChart(large, join(large, "run")))
  const charts = loads.map(({ time }) => time)
  Report.progress(`first chart: ${charts.map((time) => time.toFixed(0)).join(", ")} ms`)
  const opened = await transcripts(large, join(large, "run"))
  Report.progress(`transcripts: ${opened.times.map((time) => time.toFixed(0)).join(", ")} ms`)
  const asked = await answered(large, join(large, "run"))
  const pair = join(folder, "pair")
  const sides = [join(pair, "one"), join(pair, "other")] as const
  for (const side of sides) repeat(join(large, "run"), side)
  const answers = [
    ...asked.times,
    {
      name: "7: the audit of all transcripts",
      time: await navigated(
        large,
        { at: "run", run: join(large, "run") },
        "section[aria-label^=Audit]:not(:has-text(\"Reading\"))"
      )
    },
    {
      name: "19–21: a comparison of two runs of this size",
      time: await navigated(pair, { at: "compare", run: sides[0], others: sides[1] }, "svg.plot polyline")
    }
  ]
  const slowest = Math.max(...answers.map(({ time }) => time))
  const short = join(folder, "short")
  await Effect.runPromise(Recorded.writeLive(short, 500, 1))
  const list = await runList(join(folder, "many"), short)
  Report.progress(`list of ${listed} runs: ${list.cold.toFixed(0)}, then ${list.warm.toFixed(0)} ms`)
  const weight = await pageBytes(join(folder, "many"))
  const growing = join(folder, "growing")
  const followed = await live(growing, join(growing, "run"))
  Report.publish("view", "The page on a run of 100,000 rollouts", [
    `${runs} fresh servers and browsers; ${opened.times.length} groups of 8 members with 4 turns of 64 tokens; ${perSecond} new records per
second for ${seconds} s.${
      loadBefore > cpus().length
        ? " Other programs kept the processors busy meanwhile, so that times are upper bounds."
        : ""
    }`,
    [
      Report.aim("from navigation to the reward chart, median", Report.median(charts) / 1000, " s", "at most", 1.5),
      Report.aim("first load over the wire", Math.max(...loads.map(({ bytes }) => bytes)) / 1e6, " MB", "at most", 1),
      Report.aim("the page itself, compressed", weight / 1000, " kB", "at most", 120),
      Report.aim("a group's transcripts, median", Report.median(opened.times), " ms", "at most", 150),
      Report.aim("a group's transcripts, slowest", Math.max(...opened.times), " ms", "at most", 300),
      Report.aim("the slowest of thirty answers, below", slowest / 1000, " s", "at most", 2),
      Report.aim("longest task while they are asked", asked.longest, " ms", "at most", 50),
      Report.aim(`list of ${listed} runs, warm, median`, list.warm / 1000, " s", "at most", 1),
      `- the same by a server that has not read them: ${(list.cold / 1000).toFixed(1)} s`,
      Report.aim("memory of the page", opened.memory, " MiB", "at most", 300),
      Report.aim("longest task while records arrive", followed.longest, " ms", "at most", 50),
      Report.aim("memory of the page afterwards", followed.memory, " MiB", "at most", 300),
      Report.aim("records missing from the page at the end", followed.written - followed.shown, "", "at most", 0)
    ].join("\n"),
    "Milliseconds from the last step to the answer of each of the [thirty questions](questions.md), by the screen that answers it:",
    Report.table(
      ["answers", "ms"],
      answers.toSorted((left, right) => right.time - left.time).map(({ name, time }) => [name, time.toFixed(0)])
    )
  ])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
