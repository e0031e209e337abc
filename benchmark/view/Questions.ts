/** Questions that a person asks about a run, and the steps to the answer in each tool. */

/** One click, key press, choice, typed text or mouse wheel turn. */
export type Step =
  | { readonly click: string }
  | { readonly press: string }
  | { readonly type: string; readonly into: string }
  | { readonly scrollTo: string }
  | { readonly wheel: number }

/** The steps, and the elements that show the answer. `count` of them must be visible at the same time. */
export interface Way {
  readonly steps: ReadonlyArray<Step>
  readonly answer: string
  readonly count?: number
  /** What the answer lacks, or why it takes more steps than in the other tools. */
  readonly note?: string
}

/** The reason why a tool has no answer. */
export interface Missing {
  readonly missing: string
}

export interface Question {
  readonly text: string
  readonly effectRl: Way
  readonly inspect: Way | Missing
  readonly trackio: Way | Missing
  /** The answer according to prime-rl's documentation, because its dashboard is not run here. */
  readonly primeRl: string
  readonly chef: string
}

/** The answer is visible on the first page. */
const inSight = (answer: string): Way => ({ steps: [], answer })

/** The answer is on the first page, after scrolling. */
const furtherDown = (answer: string): Way => ({ steps: [{ scrollTo: answer }], answer })

/** A chart of Trackio's. */
const chart = (metric: string) => furtherDown(`text="${metric}"`)

const lastPoint: Step = { click: "circle.point >> nth=-1" }

const firstGroup: Step = { click: "table[aria-label=groups] td a >> nth=0" }

const lastLog: Step = { click: "text=\"train iteration 4\"" }

const numbersAlone = "numbers without their meaning or healthy range"

export const questions: ReadonlyArray<Question> = [
  {
    text: "Is it learning? The mean reward of every iteration",
    effectRl: inSight("svg.plot polyline"),
    inspect: { ...inSight("text=\"train iteration 4\""), note: "as numbers, without a curve or an error" },
    trackio: { ...chart("reward/total"), note: "among 65 charts" },
    primeRl: "step bar and curves",
    chef: "curves, smoothed"
  },
  {
    text: "Is it healthy? A verdict on entropy, divergence, ratios, truncation",
    effectRl: inSight(".tile:last-child dd >> nth=0"),
    inspect: { missing: "has evaluations, but no training metrics" },
    trackio: { missing: numbersAlone },
    primeRl: "sections of metrics with explanations",
    chef: "not documented"
  },
  {
    text: "How many tokens has it cost so far?",
    effectRl: inSight(".tile >> text=/^tokens$/"),
    inspect: { missing: "tokens by log and sample, no sum" },
    trackio: { ...chart("total_sampled"), note: "a chart" },
    primeRl: "not documented",
    chef: "not documented"
  },
  {
    text: "How good is it on held-out problems, within which interval?",
    effectRl: inSight(".tile >> text=/after \\d+ iteration/"),
    inspect: { ...inSight("text=\"held_out before iteration 5\""), note: "without the interval" },
    trackio: { ...chart("score_high"), note: "a chart for each end" },
    primeRl: "avg@k of each evaluation",
    chef: "scores in the list of runs"
  },
  {
    text: "Where does the time go, and what would help?",
    effectRl: furtherDown("text=/bottleneck|between the stages/"),
    inspect: { missing: "durations of logs and samples" },
    trackio: { missing: numbersAlone },
    primeRl: "step times",
    chef: "timing of a step"
  },
  {
    text: "How many groups still teach something?",
    effectRl: inSight("svg.shares"),
    inspect: { missing: "does not know groups" },
    trackio: chart("by_group/frac_mixed"),
    primeRl: "in the metrics",
    chef: "not documented"
  },
  {
    text: "What did all eight attempts at one problem of the last iteration answer, and earn?",
    effectRl: { steps: [lastPoint, firstGroup], answer: "article.member .reward", count: 8 },
    inspect: {
      steps: [lastLog, { wheel: 70 }],
      answer: "[role=row] >> text=/^0\\//",
      count: 7,
      note: "rows of a list, seven of them in sight at a time"
    },
    trackio: { missing: "a reward is shown in one opened trace at a time" },
    primeRl: "one trace at a time",
    chef: "side by side"
  },
  {
    text: "Which attempts of the last iteration earned least?",
    effectRl: {
      steps: [lastPoint, { click: "button.bar >> nth=0" }],
      answer: "table[aria-label=groups] svg.rewards >> nth=0"
    },
    inspect: {
      steps: [lastLog, { click: "text=\"Score\" >> nth=-1" }],
      answer: "[role=row] >> text=/^-0\\.1$/",
      note: "a column to sort by"
    },
    trackio: { missing: "traces cannot be filtered by reward" },
    primeRl: "filter by outcome",
    chef: "histogram of rewards"
  },
  {
    text: "Which exact tokens did the model write, how likely was each?",
    effectRl: { steps: [lastPoint, firstGroup, { press: "t" }], answer: "article.member .token >> nth=0" },
    inspect: { missing: "messages alone" },
    trackio: { missing: "messages alone" },
    primeRl: "tokens coloured by log-probability, advantage, mask",
    chef: "not documented"
  },
  {
    text: "Where in the whole run was \\boxed{100} answered?",
    effectRl: {
      steps: [{ press: "/" }, { type: "\\boxed{100}", into: "input[type=search]" }, { press: "Enter" }],
      answer: "mark >> nth=0"
    },
    inspect: { missing: "searches one log or one sample at a time" },
    trackio: { missing: "searches requests, not answers" },
    primeRl: "not documented",
    chef: "not documented"
  },
  {
    text: "Is another run better beyond chance, and how is it configured?",
    effectRl: {
      steps: [
        { click: "nav.crumbs a >> nth=0" },
        { click: "input[type=checkbox] >> nth=0" },
        {
          click: "input[type=checkbox] >> nth=1"
        },
        { press: "c" },
        { scrollTo: "table[aria-label=\"held-out problems\"]" }
      ],
      answer: "table[aria-label=\"held-out problems\"] tbody td >> nth=6"
    },
    inspect: { missing: "no comparison of logs" },
    trackio: { missing: "curves and settings side by side, no test" },
    primeRl: "not documented",
    chef: "curves of 2 to 4 runs"
  }
]
