/**
 * Programs that an assistant of mixed quality writes for `code_rl`'s training problems. Some cannot be run, and some have lines with a
 * beginner's mistake or missing lines.
 */
import { ListPrograms } from "@effect-rl/recipes"
import type { CodeTask } from "@effect-rl/recipes"
import { type Corpus, reliableShare } from "./Corpus.ts"
import * as Documents from "./Documents.ts"
import { choose } from "./Habits.ts"
import { phrases } from "./Phrases.ts"
import * as Random from "./Random.ts"

/** What a beginner writes instead of an expression. Few of these programs pass a test. */
const mistakes: Readonly<Record<string, string>> = {
  "x[::-1]": "x.reverse()",
  "sorted(x)": "x.sort()",
  "[2 * n for n in x]": "2 * x",
  "[n + 1 for n in x]": "x + 1",
  "[-n for n in x]": "-x",
  "[n * n for n in x]": "x ** 2",
  "[n for n in x if n % 2 == 0]": "[n % 2 == 0 for n in x]",
  "[n for n in x if n % 2 == 1]": "[n % 2 == 1 for n in x]",
  "[n for n in x if n > 0]": "[n > 0 for n in x]",
  "x[1:]": "x[1]",
  "x[:-1]": "x[-1]",
  "x[:3]": "x[3]",
  "x[::2]": "x[2]",
  "[n % 3 for n in x]": "x % 3",
  "list(dict.fromkeys(x))": "list(set(x))",
  "x.upper()": "upper(x)",
  "x.lower()": "lower(x)",
  "x + x": "x + 2",
  "''.join(sorted(x))": "sorted(x)",
  "x.replace('a', '')": "x.remove('a')",
  "'-'.join(x)": "x.join('-')"
}

/** How often the assistant shows each behaviour. */
interface Skill {
  /** A line is right, has a beginner's mistake, or is from elsewhere; otherwise it is missing. */
  readonly line: readonly [right: number, mistaken: number, other: number]
  /** A function is written in a fence or without one; otherwise the assistant says that it is not sure. */
  readonly form: readonly [fenced: number, bare: number]
  /** A function returns its value; otherwise it prints it. */
  readonly returned: number
}

/** The programs that the model learns first, so that it knows each phrase in Python. */
const reliable: Skill = { line: [0.94, 0.02, 0.02], form: [0.97, 0.02], returned: 0.98 }

/** The final programs: the model still knows the phrases but does not write them reliably. */
const mixed: Skill = { line: [0.45, 0.3, 0.12], form: [0.82, 0.1], returned: 0.88 }

const expressionsOf = ({ solution = "" }: CodeTask.CodeTask): ReadonlyArray<string> =>
  solution.split("\n").flatMap((line) => line.startsWith("    x = ") ? [line.slice("    x = ".length)] : [])

const kindOf = ({ id }: CodeTask.CodeTask) => id.startsWith("list:") ? "list" : "text"

const expressionsOfKind = (kind: "list" | "text") =>
  ListPrograms.trained.filter((task) => kindOf(task) === kind).flatMap(expressionsOf)

const expressions = { list: expressionsOfKind("list"), text: expressionsOfKind("text") }

const otherOf = (random: Random.Random, task: CodeTask.CodeTask): string => {
  const all = expressions[kindOf(task)]
  return all[random.below(all.length)] ?? "x"
}

const answer = (random: Random.Random, { form, line, returned }: Skill, task: CodeTask.CodeTask): string => {
  const [right, mistaken, other] = line
  const lines = expressionsOf(task).map((expression) =>
    choose(random, [
      [right, () => expression],
      [mistaken, () => mistakes[expression] ?? expression],
      [other, () => otherOf(random, task)],
      [1 - right - mistaken - other, () => ""]
    ])
  )
  const last = random.uniform() < returned ? "return x" : "print(x)"
  const body = [...lines.filter((text) => text !== "").map((text) => `x = ${text}`), last]
  const program = ["def solve(x):", ...body.map((text) => `    ${text}`)].join("\n")
  const [fenced, bare] = form
  return choose(random, [
    [fenced, () => `\`\`\`python\n${program}\n\`\`\``],
    [bare, () => program],
    [1 - fenced - bare, () => "I am not sure."]
  ])
}

const turn = (random: Random.Random, skill: Skill): Documents.Turn => {
  const task = ListPrograms.trained[random.below(ListPrograms.trained.length)]
  if (task === undefined) throw new Error("there is no program to train on")
  return { question: task.prompt, answer: answer(random, skill, task), learned: true }
}

function* turns(random: Random.Random, skill: Skill): Generator<Documents.Turn> {
  for (;;) yield turn(random, skill)
}

const texts = () => {
  const random = Random.make(1)
  return [
    ...Array.from({ length: 2000 }, () => turn(random, mixed)).map(({ answer, question }) =>
      [`user\n${question}\nassistant\n${answer}`, 1] as const
    ),
    ...phrases.map((text) => [text, 20] as const)
  ]
}

/** A corpus with one long conversation and `count` programs in each step. */
export const make = (count: number): Corpus => ({
  texts: () => Promise.resolve(texts()),
  documents: ({ encode }, steps) => {
    const random = Random.make(2)
    return Promise.resolve((step) => {
      const skill = step < steps * reliableShare ? reliable : mixed
      const length = Documents.longLength(random)
      return Promise.resolve([
        Documents.write({ encode }, turns(random, skill), (tokens) => tokens >= length),
        ...Array.from({ length: count }, () => Documents.write({ encode }, [turn(random, skill)], () => true))
      ])
    })
  }
})
