/**
 * The thirty questions of `Asked.ts`, on the run of 100,000 rollouts: the screens that answer them, the last step to each, and the element
 * that shows the answer. The audit of all transcripts (7) and comparisons (19–21) are measured by servers of their own.
 */
import type { Page } from "playwright-core"

export interface Answer {
  /** The questions' numbers and what the screen shows. */
  readonly name: string
  /** The address before the last step, without the run. */
  readonly from: Readonly<Record<string, string>>
  /** What is visible before the last step. */
  readonly ready: string
  readonly step: (page: Page) => Promise<unknown>
  readonly answer: string
}

const ofRun = { at: "run" }
const runReady = "svg.plot polyline"
const iteration = { at: "iteration", iteration: "61" }
const groups = "table[aria-label=groups] td a"

const click = (selector: string) => (page: Page) => page.locator(selector).first().click()

const choose = (label: string, option: string) => (page: Page) =>
  page.locator(`label:has-text("${label}") select`).first().selectOption(option)

const search = async (page: Page) => {
  await page.locator("input[type=search]").fill("turn 2 is 517")
  await page.keyboard.press("Enter")
}

const tokens = async (page: Page) => {
  await click(groups)(page)
  await page.locator("article.member").first().waitFor()
  await page.keyboard.press("t")
}

const cells = (table: string) => `table[aria-label="${table}"] tbody td`

export const answers: ReadonlyArray<Answer> = [
  {
    name: "1–3, 8, 10, 11, 17, 18, 27–29: the whole page of the run",
    from: { at: "runs" },
    ready: "tbody tr a",
    step: click("tbody tr a"),
    answer: "section[aria-label=Log], section[aria-label=Audit]"
  },
  {
    name: "4: an iteration",
    from: ofRun,
    ready: runReady,
    step: click("table[aria-label=iterations] tbody a"),
    answer: groups
  },
  {
    name: "5, 6: problems",
    from: ofRun,
    ready: runReady,
    step: click("a:text-is(\"problems\")"),
    answer: cells("problems")
  },
  {
    name: "9, 16, 23: all metrics",
    from: ofRun,
    ready: runReady,
    step: click("a:text-is(\"metrics\")"),
    answer: "figure.small >> nth=2"
  },
  { name: "12: tokens of a group", from: iteration, ready: groups, step: tokens, answer: "article.member .token" },
  {
    name: "13: a rollout",
    from: iteration,
    ready: groups,
    step: async (page) => {
      await click(groups)(page)
      await click("article.member a")(page)
    },
    answer: "section:has-text(\"Turn 0\")"
  },
  {
    name: "14, 30: all attempts at a problem",
    from: iteration,
    ready: groups,
    step: click(groups),
    answer: "article.member"
  },
  {
    name: "15: rollouts by a metric",
    from: { at: "rollouts" },
    ready: "label:has-text(\"measure\") option:text-is(\"format\")",
    step: choose("measure", "format"),
    answer: "th:has-text(\"format\")"
  },
  {
    name: "22: rewards by tag",
    from: ofRun,
    ready: runReady,
    step: click("a:text-is(\"rollouts\")"),
    answer: "text=/Mean reward by tag/"
  },
  {
    name: "24: the longest rollouts",
    from: { at: "rollouts" },
    ready: cells("rollouts"),
    step: click("th a:text-is(\"tokens\")"),
    answer: "th[aria-sort=descending]:has-text(\"tokens\")"
  },
  {
    name: "25: first hit of a search",
    from: { at: "search" },
    ready: "input[type=search]",
    step: search,
    answer: "mark"
  },
  {
    name: "26: another estimator",
    from: iteration,
    ready: groups,
    step: choose("advantages by", "normalized"),
    answer: "th:has-text(\"advantages by this rule\")"
  }
]
