/** Compiles chat templates with `@huggingface/jinja`. */
import type { JinjaTemplate } from "@effect-rl/core/renderers"
import { Environment, parse, tokenize } from "@huggingface/jinja"
import * as Result from "effect/Result"
import * as BoundedJinja from "./BoundedJinja.ts"

const longestRange = 1_000_000

/** Python's `range`. Throws for more than 1,000,000 numbers, which no conversation needs. */
const range = (first: number, end?: number, step = 1): ReadonlyArray<number> => {
  const [start, stop] = end === undefined ? [0, first] : [first, end]
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (!(length <= longestRange)) throw new RangeError(`range of ${length} numbers, expected at most ${longestRange}`)
  return Array.from({ length }, (_, index) => start + index * step)
}

/** The variables that Hugging Face defines for templates. `strftime_now` is omitted so that prompts do not depend on the date. */
const globals: JinjaTemplate.Variables = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  raise_exception: (message: string) => {
    throw new Error(message)
  }
}

const problem = (cause: unknown) => cause instanceof Error ? cause.message : String(cause)

const run = (program: ReturnType<typeof parse>, variables: JinjaTemplate.Variables): string => {
  const environment = new Environment()
  for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value)
  return BoundedJinja.run(program, environment)
}

/** A template that is parsed on first use. Rendering fails for a syntax error, an error that the template raises, and too much work. */
export const compile = (source: string): JinjaTemplate.JinjaTemplate => {
  let parsed: Result.Result<ReturnType<typeof parse>, string> | undefined
  return {
    source,
    write: (variables) => {
      parsed ??= Result.try({
        try: () => parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })),
        catch: problem
      })
      return Result.flatMap(parsed, (program) => Result.try({ try: () => run(program, variables), catch: problem }))
    }
  }
}
