/** A run's checkpoints with their measurements, and the commands that use them. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import * as Story from "@effect-rl/core/story/Story"

/** An evaluator's measurement of a checkpoint's weights. */
export interface Measured extends Diagnosis.Reading {
  readonly evaluator: string
}

export interface CheckpointLine {
  readonly name: string
  readonly kind: string
  /** Number of completed iterations. */
  readonly iteration: number
  readonly at: number
  /** When the backend deletes the checkpoint, in milliseconds since 1970; null if it is kept. */
  readonly expiresAt: number | null
  readonly measured: ReadonlyArray<Measured>
}

const measuredAt = (story: Story.Story<null>, iteration: number): ReadonlyArray<Measured> =>
  Story.evaluations(story).flatMap(({ evaluated, evaluator, iteration: at }) => {
    const reading = at !== iteration || evaluated === undefined ? undefined : Diagnosis.reading(evaluated)
    return reading === undefined ? [] : [{ evaluator, ...reading }]
  })

/** The checkpoints, newest first. Of several checkpoints after the same number of iterations, only the newest is included. */
export const of = (story: Story.Story<null>): ReadonlyArray<CheckpointLine> => {
  const newest = new Map(Story.checkpoints(story).map((saved) => [saved.iteration, saved]))
  return [...newest.values()].toReversed().map(({ at, expiresAt, iteration, kind, name }) => ({
    name,
    kind,
    iteration,
    at,
    expiresAt,
    measured: measuredAt(story, iteration)
  }))
}

/** The checkpoint with the best measurement of the run's first evaluator, or the newest checkpoint if none was measured. */
export const best = (story: Story.Story<null>): CheckpointLine | undefined => {
  const [first] = Story.evaluators(story)
  const all = of(story)
  const valueOf = ({ measured }: CheckpointLine) => {
    const found = measured.find(({ evaluator }) => evaluator === first)
    return found === undefined ? -Infinity : found.isLowerBetter ? -found.value : found.value
  }
  return all.toSorted((left, right) => valueOf(right) - valueOf(left))[0]
}

/** A command line, and what it does. */
export interface Command {
  readonly does: "chat" | "evaluate" | "serve" | "export"
  readonly line: string
}

const quoted = (path: string) => /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`

/** The commands for a checkpoint of the run in the given folder. */
export const commands = (
  story: Story.Story<null>,
  run: string,
  { iteration }: Pick<CheckpointLine, "iteration">
): ReadonlyArray<Command> => {
  const named = quoted(`${run}@${iteration}`)
  const recipe = Story.launch(story)?.recipe
  return [
    { does: "chat", line: `effect-rl chat --checkpoint ${named}` },
    ...(recipe === undefined
      ? []
      : [{ does: "evaluate", line: `effect-rl eval ${quoted(recipe)} --checkpoint ${named}` } as const]),
    { does: "serve", line: `effect-rl serve --checkpoints ${quoted(`${run}/checkpoints`)}` },
    { does: "export", line: `effect-rl merge ${named} --out merged` }
  ]
}
