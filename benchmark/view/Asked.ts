/** Thirty questions that practitioners ask about a run: the steps to the answer on the page, and the key's answer. */
import * as Key from "./Key.ts"

/** One click, key, choice or typed text. */
export type Step =
  | { readonly click: string }
  | { readonly press: string }
  | { readonly type: string; readonly into: string }
  | { readonly choose: string; readonly in: string }

/** A text, a pattern, or a number that may differ slightly from the key's. */
export type Sought = string | RegExp | { readonly says: string; readonly isIn: (text: string) => boolean }

export interface Question {
  readonly text: string
  /** The kinds of run about which the question is asked. */
  readonly kinds: ReadonlyArray<string>
  readonly steps: (run: Key.Run) => ReadonlyArray<Step>
  /** Texts that the page must show, as computed by the key. */
  readonly answer: (run: Key.Run, other: Key.Run) => ReadonlyArray<Sought>
  /** Texts that the page must not show. */
  readonly wrong?: (run: Key.Run) => ReadonlyArray<string>
  /** Whether `effect-rl show` must print the answer too. */
  readonly isShown?: true
  /** Whether another browser that opens the final address must show the answer too. */
  readonly isShared?: true
  /** The kind of run to compare with. */
  readonly beside?: string
  /** How Inspect View, Trackio and prime-rl's dashboard answer: ● fully, ◐ partly, ○ not at all, with the number of steps if known. */
  readonly others: readonly [inspect: string, trackio: string, primeRl: string]
}

/** For each kind of run, the pattern of the planted fault's diagnosis. */
export const planted: Readonly<Record<string, RegExp>> = {
  "arithmetic-0": /✓ (learned|solved)/,
  "arith-seed1": /✓ (learned|solved)/,
  "arith-cispo-1": /✓ (learned|solved)/,
  "async-ppo": /✓ (learned|solved)/,
  "stale-0": /✓ (learned|solved)/,
  "calculator-0": /✓ (learned|solved)/,
  "guess-0": /✓ (learned|solved)/,
  "supervised-0": /✓ (learned|solved)/,
  "dpo-0": /✓ (learned|solved)/,
  "killed-7": /✓ (learned|solved)/,
  "wide-0": /✓ (learned|solved)|no clear change/i,
  collapse: /✗ collapsed/i,
  "hack-0": /Do not trust/,
  "fail-0": /✗ failed/i
}

const all = Object.keys(planted)
const rl = all.filter((name) => name !== "supervised-0" && name !== "dpo-0")
const sums = ["arithmetic-0", "arith-seed1", "arith-cispo-1", "killed-7"]

const none = () => []
const menu = (name: string): Step => ({ click: `nav.levels a:text-is("${name}"), a:text-is("${name}")` })

/** A number as the page's `Text.short` writes it. */
const short = (value: number) => {
  const size = Math.abs(value)
  return size >= 1000 || size === 0
    ? String(Math.round(value))
    : String(Number(size < 0.1 ? value.toPrecision(3) : value.toFixed(3)))
}

/** Matches a metric's name, its range and its newest value. */
const newest = (run: Key.Run, name: string) =>
  new RegExp(`${name.replaceAll(/[/.]/g, "\\$&")}\\s[^\\n]+\\s${short(Key.metric(run, name).at(-1) ?? NaN)}(\\s|$)`)

const lastIteration = (run: Key.Run) => Key.number(run.of("Updated").at(-1), "iteration")

const groupsOf = (run: Key.Run, iteration: number) => run.groups().filter((group) => group["iteration"] === iteration)

/** The first group of the last update. */
const firstGroup = (run: Key.Run): Key.Json => {
  const iteration = lastIteration(run)
  const credited = run.of("Credited").find((record) => record["iteration"] === iteration)
  const key = Key.text(credited, "groups", 0, "key")
  return groupsOf(run, iteration).find((group) => group["key"] === key) ?? {}
}

const lastPoint: Step = { click: "table[aria-label=iterations] tbody tr >> nth=-1 >> a" }
const openGroup: Step = { click: "table[aria-label=groups] td a >> nth=0" }

/** The iteration with the largest fall of the reward. */
const fall = (run: Key.Run) => {
  const rewards = run.of("Updated").map((record) => Key.number(record, "reward", "mean"))
  const falls = rewards.map((reward, at) => at === 0 ? 0 : (rewards[at - 1] ?? 0) - reward)
  const index = falls.indexOf(Math.max(...falls))
  return { index, before: rewards[index - 1] ?? NaN, after: rewards[index] ?? NaN }
}

/** A stage with its share of the time, which may differ from the key's by at most 0.03. */
const percent = (stage: string, share: number): Sought => ({
  says: `${stage} ${(100 * share).toFixed(1)} %`,
  isIn: (text) => {
    const shown = [...text.matchAll(new RegExp(`${stage} ([\\d.]+) %`, "g"))].map(([, found]) => Number(found))
    return shown.length === 0 ? share < 0.005 : shown.some((found) => Math.abs(found - 100 * share) <= 3)
  }
})

/** A text followed by a number that may differ from the key's by 5 %, because the page may start to count at a different record. */
const around = (name: string, value: number): Sought => ({
  says: `${name} ${short(value)}`,
  isIn: (text) => Math.abs(Number(text.split(name)[1]?.trim().split(/\s/)[0]) - value) <= value / 20
})

const prices = { prefilled: 0.1, sampled: 0.4, trained: 0.5 }

/** Checkpoints, each with the first evaluator's measurement after the same number of iterations. */
const scored = (run: Key.Run) =>
  run.of("Saved").flatMap((saved) => {
    const measured = run.of("Evaluated").find((record) => record["iteration"] === saved["iteration"])
    return measured === undefined
      ? []
      : [{ iteration: Key.number(saved, "iteration"), score: Key.number(measured, "score", "value") }]
  })

const longest = (run: Key.Run) =>
  Math.max(
    ...run.of("GroupRolledOut").flatMap((group) =>
      Key.list(group, "members").map((member) => Key.number(member, "sampled"))
    ).filter(Number.isFinite)
  )

const verdicts = (run: Key.Run, verdict: string) =>
  run.of("Credited").flatMap((record) => Key.list(record, "groups")).filter((group) =>
    Key.text(group, "verdict") === verdict
  ).length

export const questions: ReadonlyArray<Question> = [
  {
    text: "Is it learning?",
    kinds: all.filter((name) => name !== "fail-0" && name !== "hack-0"),
    steps: none,
    answer: (run) => [Key.change(run)],
    isShown: true,
    others: ["◐ 0", "● 1", "●"]
  },
  {
    text: "Is it healthy?",
    kinds: all,
    steps: none,
    answer: ({ name }) => [planted[name] ?? ""],
    others: ["○", "○", "◐"]
  },
  {
    text: "What is it doing now, when will it end?",
    kinds: all,
    steps: none,
    answer: (run) => {
      const { length } = run.of("Updated")
      const isFailed = run.of("Failed").length > 0
      return [isFailed ? /failed/ : "completed", `${length} / ${Key.number(run.of("Opened")[0], "iterations")}`]
    },
    others: ["◐", "○", "◐"]
  },
  {
    text: "Why did the reward fall?",
    kinds: ["collapse", "stale-0", "calculator-0"],
    steps: (run) => [{ click: `table[aria-label=iterations] tbody tr >> nth=${fall(run).index} >> a` }],
    answer: (run) => [
      new RegExp(`${fall(run).before.toFixed(3)}|[-−]${short(fall(run).before - fall(run).after)}`)
    ],
    others: ["○", "○", "◐"]
  },
  {
    text: "Which problems never succeed?",
    kinds: [...sums, "guess-0", "calculator-0"],
    steps: () => [menu("problems")],
    answer: (run) => [new RegExp(`never solved ${Key.neverSolved(run)}\\b`)],
    others: ["◐", "○", "○"]
  },
  {
    text: "Which held-out problems became worse?",
    kinds: [...sums, "collapse"],
    steps: () => [menu("problems")],
    answer: (run) => [new RegExp(`became worse ${Key.becameWorse(run)}\\b`)],
    others: ["○", "○", "○"]
  },
  {
    text: "Is the reward being hacked?",
    kinds: ["hack-0", ...sums, "calculator-0"],
    steps: none,
    answer: ({ name }) => name === "hack-0" ? [/pays for at least 2[45] characters/] : [planted[name] ?? ""],
    wrong: ({ name }) => name === "hack-0" ? [] : ["Do not trust"],
    others: ["○", "○", "○"]
  },
  {
    text: "Did the policy collapse, and when?",
    kinds: ["collapse"],
    steps: none,
    answer: (run) => {
      const truncated = Key.metric(run, "env/all/truncated")
      const since = truncated.findLastIndex((share) => share <= 0.1) + 2
      return [/collapsed/i, new RegExp(`since iteration ${since}\\b`)]
    },
    others: ["○", "◐", "●"]
  },
  {
    text: "What do entropy, divergence and length do beside the reward?",
    kinds: rl.filter((name) => name !== "fail-0"),
    steps: () => [menu("metrics")],
    answer: (run) =>
      ["optim/entropy", "optim/kl_sample_train_v1", "env/all/response_tokens/p50"]
        .filter((name) => Number.isFinite(Key.metric(run, name).at(-1))).map((name) => newest(run, name)),
    others: ["○", "●", "●"]
  },
  {
    text: "Where does the time go?",
    kinds: all,
    steps: none,
    answer: (run) => ["sampling", "training", "evaluation"].map((stage) => percent(stage, Key.share(run, stage))),
    others: ["◐", "○", "◐"]
  },
  {
    text: "Where does the money go?",
    kinds: ["calculator-0"],
    steps: none,
    answer: (run) => {
      const spent = (name: keyof typeof prices) => Key.number(run.records.at(-1), "spent", name)
      const dollars = (["prefilled", "sampled", "trained"] as const)
        .reduce((sum, name) => sum + spent(name) * prices[name] / 1e6, 0)
      const prefilled = spent("prefilled") / 1e6 * prices.prefilled
      return [`$${dollars.toFixed(2)}`, `$${prefilled >= 0.01 ? prefilled.toFixed(2) : prefilled.toPrecision(2)}`]
    },
    others: ["◐", "○", "○"]
  },
  {
    text: "What did the model see, token by token, and how likely was each?",
    kinds: ["arithmetic-0", "calculator-0", "wide-0"],
    steps: () => [lastPoint, openGroup, { press: "t" }, { click: "article.member .token >> nth=0" }],
    answer: (run) => {
      const value = Key.logprob(run, firstGroup(run))
      return [
        new RegExp(`\\nlog-probability\\s+${value.toFixed(3)}\\s+sampled with ${(100 * Math.exp(value)).toFixed(1)} %`)
      ]
    },
    others: ["○", "○", "●"]
  },
  {
    text: "Read a typical rollout",
    kinds: ["arithmetic-0", "calculator-0", "guess-0", "wide-0"],
    steps: () => [lastPoint, openGroup, { click: "article.member a >> nth=0" }],
    answer: (run) => [
      ...Key.asked(run, firstGroup(run), 0),
      ...Key.said(run, firstGroup(run), 0).map((said) => said.replace(/^calculator\(|\)$/g, ""))
    ],
    others: ["●", "◐", "●"]
  },
  {
    text: "All attempts at one problem side by side",
    kinds: rl.filter((name) => name !== "fail-0"),
    steps: () => [lastPoint, openGroup],
    answer: (run) => [...new Set(Key.list(firstGroup(run), "rewards").map((reward) => short(Number(reward))))],
    others: ["◐ 2", "○", "○"]
  },
  {
    text: "Which tool failed, how often?",
    kinds: ["calculator-0"],
    steps: () => [
      menu("rollouts"),
      { choose: "tool_errors", in: "label:has-text(\"measure\") select" },
      { type: "1", into: "label:has-text(\"tool_errors from\") input" }
    ],
    answer: (run) => {
      const failed = Key.reported(run, "tool_errors").filter(({ value }) => value >= 1)
      return [`${failed.length} of ${Key.rollouts(run)} rollouts`]
    },
    others: ["◐", "○", "◐"]
  },
  {
    text: "Is the share of cut answers rising?",
    kinds: ["collapse", "arithmetic-0", "wide-0"],
    steps: () => [menu("metrics")],
    answer: (run) => [newest(run, "env/all/truncated")],
    others: ["○", "●", "●"]
  },
  {
    text: "Which samples were dropped as stale?",
    kinds: ["stale-0", "async-ppo"],
    steps: none,
    answer: (run) => {
      const stale = verdicts(run, "stale")
      return stale === 0 ? [/In updates: \d+ trained on/] : [new RegExp(`${stale} too old`)]
    },
    others: ["○", "○", "◐"]
  },
  {
    text: "What are the settings?",
    kinds: all,
    steps: none,
    answer: (run) => [
      Key.text(run.of("Opened")[0], "launch", "command"),
      ...Key.given(run).map(([name, value]) => new RegExp(`${name}\\s+${value.replaceAll(/[/.]/g, "\\$&")}`))
    ],
    isShown: true,
    others: ["●", "●", "●"]
  },
  {
    text: "What changed between two runs?",
    kinds: ["arithmetic-0"],
    beside: "arith-cispo-1",
    steps: none,
    answer: () => [/loss\s+"?importance_sampling"?\s+"?cispo"?/, /seed\s+0\s+1/],
    others: ["○", "◐", "○"]
  },
  {
    text: "Is the other better beyond chance?",
    kinds: ["arithmetic-0"],
    beside: "arith-cispo-1",
    steps: none,
    answer: (run, other) => {
      const theirs = Key.newest(other, "held_out")
      const differences = [...Key.newest(run, "held_out")].map(([key, reward]) => (theirs.get(key) ?? 0) - reward)
      const [better, worse] = [differences.filter((one) => one > 0), differences.filter((one) => one < 0)]
      const equal = differences.length - better.length - worse.length
      return [
        Key.isClear(differences) ? /better|worse/ : "no clear difference: the interval contains 0",
        `${better.length} / ${worse.length} / ${equal} of ${differences.length}`
      ]
    },
    others: ["○", "○", "○"]
  },
  {
    text: "Is it better at equal tokens, time or dollars?",
    kinds: ["arithmetic-0"],
    beside: "wide-0",
    steps: () => [{ choose: "tokens", in: "label:has-text(\"over\") select" }],
    answer: (run, other) => {
      const shared = Math.min(...[run, other].map(Key.spentTokens))
      const [ours, theirs] = [run, other].map((of) => short(Key.scoreAt(of, "held_out", shared)))
      return [`values at tokens ${shared}`, new RegExp(`held_out\\s+${ours}\\s+${theirs}\\s`)]
    },
    others: ["○", "◐", "○"]
  },
  {
    text: "Which tag is bad?",
    kinds: ["calculator-0", "arithmetic-0"],
    steps: () => [menu("rollouts")],
    answer: (run) =>
      Key.tagMeans(run).map(({ mean, rollouts, tag }) => `${tag} ${short(mean)} of ${rollouts} rollouts`),
    others: ["○", "○", "●"]
  },
  {
    text: "What do the parts of the reward do?",
    kinds: ["arithmetic-0", "hack-0", "wide-0"],
    steps: () => [menu("metrics")],
    answer: (run) => [newest(run, "env/all/correct"), newest(run, "env/all/format")],
    others: ["○", "◐", "●"]
  },
  {
    text: "Which rollouts are longest?",
    kinds: rl,
    steps: () => [menu("rollouts"), { click: "th button:text-is(\"tokens\"), th a:text-is(\"tokens\")" }],
    answer: (run) => [new RegExp(`tags\\s[^\\n]*\\t${longest(run)}\\t|rollout[^\\n]*\\n[^\\n]*\\s${longest(run)}\\s`)],
    others: ["● 2", "◐", "◐"]
  },
  {
    text: "Where does a text occur in the run?",
    kinds: ["arithmetic-0"],
    steps: () => [{ press: "/" }, { type: "\\boxed{100}", into: "input[type=search]" }, { press: "Enter" }],
    answer: (run) => {
      const found = run.of("GroupRolledOut").flatMap((record) =>
        Key.list(run.payload(record), "members").flatMap((_, member) => Key.answers(run, record, member))
      ).filter((answer) => answer.includes("\\boxed{100}"))
      return [new RegExp(`\\b${found.length}\\b`), "\\boxed{100}"]
    },
    others: ["◐", "◐", "◐"]
  },
  {
    text: "What would another estimator have done?",
    kinds: ["arithmetic-0", "wide-0"],
    steps: () => [lastPoint, { choose: "normalized", in: "label:has-text(\"advantages by\") select" }],
    answer: (run) =>
      groupsOf(run, lastIteration(run)).map((group) => Key.list(group, "rewards").map(Number))
        .filter((rewards) => new Set(rewards).size > 1).slice(0, 1)
        .map((rewards) => {
          const [first = 0] = Key.normalized(rewards)
          return `${first > 0 ? "+" : ""}${Number(first.toFixed(3))}`
        }),
    others: ["○", "○", "○"]
  },
  {
    text: "Why did it fail?",
    kinds: ["fail-0"],
    steps: none,
    answer: (run) => [/does not answer call 3\d\d/, new RegExp(`iteration ${run.of("Updated").length + 1}`)],
    isShown: true,
    others: ["●", "○", "●"]
  },
  {
    text: "Which checkpoint is best, and how is it talked to?",
    kinds: [...sums, "calculator-0"],
    steps: none,
    answer: (run) => {
      const best = scored(run).toSorted((left, right) => right.score - left.score)[0]
      return [/Use the best one/, new RegExp(`chat --checkpoint \\S+@${best?.iteration}\\b`)]
    },
    others: ["–", "○", "◐"]
  },
  {
    text: "Is the machine busy?",
    kinds: rl,
    steps: none,
    answer: (run) => {
      const { memory, processors, requests } = Key.machine(run)
      return [
        new RegExp(
          `memory of the process, GiB\\s+${short(memory.mean)}\\s+${short(memory.newest)}\\s+${short(memory.most)}\\s`
        ),
        new RegExp(`processors busy for the process\\s+${short(processors.mean)}\\s`),
        around("requests at the policy, waiting or answered", requests)
      ]
    },
    others: ["○", "●", "●"]
  },
  {
    text: "Share exactly this with a colleague",
    kinds: ["arithmetic-0", "calculator-0"],
    steps: () => [lastPoint, openGroup],
    answer: (run) => [`Group ${Key.text(firstGroup(run), "key")}`, ...Key.asked(run, firstGroup(run), 0).slice(0, 1)],
    isShared: true,
    others: ["●", "●", "◐"]
  }
]
