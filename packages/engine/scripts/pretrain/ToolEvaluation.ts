/** Measures how well a model uses tools with unseen names, parameters and subjects. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Compute } from "@effect-rl/engine/model/Compute"
import * as Random from "../corpus/Random.ts"
import * as ToolTask from "../corpus/tools/ToolTask.ts"
import * as ToolText from "../corpus/tools/ToolText.ts"
import * as Words from "../corpus/tools/Words.ts"
import * as Generate from "./Generate.ts"

export interface Report {
  readonly tasks: number
  /** Share of tasks whose first call has the right tool and arguments, at temperature 1. */
  readonly called: number
  /** Share of solved tasks: all calls are right, and the answer states the result. */
  readonly solved: number
  /** Share of solved tasks among those that need two calls. */
  readonly chained: number
}

interface Play {
  readonly task: ToolTask.ToolTask
  readonly text: string
  readonly steps: number
  readonly solved: boolean
}

const said = (
  compute: Compute,
  tokenizer: Tokenizer.Tokenizer,
  uniform: () => number,
  texts: ReadonlyArray<string>
) => {
  const stop = tokenizer.specialToken("<|im_end|>") ?? -1
  const piece = 16
  return Array.from({ length: Math.ceil(texts.length / piece) }, (_, i) => texts.slice(i * piece, (i + 1) * piece))
    .flatMap((some) =>
      Generate.generate(compute, some.map((text) => tokenizer.encode(text)), { stop, uniform, maxTokens: 96 })
    )
    .map((tokens) => tokenizer.decode(tokens).replace("<|im_end|>", ""))
}

/** Continues a task after the assistant's message; undefined if the task is over. */
const next = (play: Play, text: string): Play => {
  const step = play.task.steps[play.steps]
  if (step === undefined) return { ...play, text: "", solved: play.task.facts.every((fact) => text.includes(fact)) }
  if (text !== ToolText.written(step.call)) return { ...play, text: "" }
  return { ...play, text: `${play.text}${text}<|im_end|>${ToolText.told(step.result)}`, steps: play.steps + 1 }
}

const share = (all: ReadonlyArray<Play>, is: (play: Play) => boolean): number =>
  all.length === 0 ? 0 : all.filter(is).length / all.length

/** Plays `count` tasks with held-out words that need at least one call. */
export const run = (
  compute: Compute,
  tokenizer: Tokenizer.Tokenizer,
  count: number,
  lexicon = Words.heldOut
): Report => {
  const random = Random.make(8)
  const { uniform } = Random.make(9)
  let plays: ReadonlyArray<Play> = Array.from({ length: count }, () => {
    for (;;) {
      const offer = ToolTask.offer(random, lexicon)
      const task = offer.task()
      const text = ToolText.system(offer.tools, "") + ToolText.asked(task.request)
      if (task.steps.length > 0) return { task, text, steps: 0, solved: false }
    }
  })
  while (plays.some(({ text }) => text !== "")) {
    const open = plays.filter(({ text }) => text !== "")
    const texts = said(compute, tokenizer, uniform, open.map(({ text }) => text))
    const played = new Map(open.map((play, index) => [play, next(play, texts[index] ?? "")]))
    plays = plays.map((play) => played.get(play) ?? play)
  }
  return {
    tasks: count,
    called: share(plays, ({ steps }) => steps > 0),
    solved: share(plays, ({ solved }) => solved),
    chained: share(plays.filter(({ task }) => task.steps.length > 1), ({ solved }) => solved)
  }
}
