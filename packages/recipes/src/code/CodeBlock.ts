/** Extracts the program from a response's fenced code blocks. */
import * as PythonText from "@effect-rl/core/renderers/text/PythonText"
import * as Option from "effect/Option"

/**
 * The trimmed content of the last fenced block, or none if no fence is closed.
 *
 * @example
 * CodeBlock.last("First:\n```python\nprint(1)\n```\nBetter:\n```python\nprint(2)\n```") // Option.some("print(2)")
 *
 * @see tinker-cookbook `extract_code_from_model`
 */
export const last = (response: string): Option.Option<string> =>
  Option.map(
    Option.fromUndefinedOr([...response.matchAll(/```[\p{L}\p{N}_]*\n([^]*?)```/gu)].at(-1)?.[1]),
    PythonText.strip
  )

/**
 * The program that benchmarks run: the first block marked as Python, else the last block, else the whole response.
 *
 * @see tinker-cookbook `eval/benchmarks/_common.py: extract_python_code`
 */
export const firstPython = (response: string): string => {
  const marked = /```python[^\S\n]*\n([^]*?)\n```/.exec(response)?.[1]
  if (marked !== undefined) return PythonText.strip(marked)
  return PythonText.strip([...response.matchAll(/```[\p{L}\p{N}_]*[^\S\n]*\n([^]*?)\n```/gu)].at(-1)?.[1] ?? response)
}
