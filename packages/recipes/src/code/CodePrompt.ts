/** The prompts of programming problems, word for word as in the cookbook. */

const introduction =
  "You are an expert Python programmer. You will be given a question (problem specification) and will generate a correct Python program " +
  "that matches the specification and passes all tests."

const withStarter =
  "You will use the following starter code to write the solution to the problem and enclose your code within delimiters."

const withoutStarter =
  "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample inputs). Enclose your " +
  "code within delimiters as follows. Ensure that when the python program runs, it reads the inputs, runs the algorithm and writes output " +
  "to STDOUT."

/**
 * The prompt of LiveCodeBench, which DeepCoder uses too.
 *
 * @example
 * const prompt = CodePrompt.liveCodeBench("Print the sum of two numbers.")
 *
 * @see tinker-cookbook `fetch_live_code_bench_system_prompt`
 */
export const liveCodeBench = (question: string, starterCode = ""): string => {
  const [format, code] = starterCode === "" ? [withoutStarter, "# YOUR CODE HERE"] : [withStarter, starterCode]
  return `${introduction}\n\n${question}### Format: ${format}\n\`\`\`python\n${code}\n\`\`\`\n\n` +
    "### Answer: (use the provided format with backticks)\n\n"
}

/** The prompt of MBPP, which shows one of the tests. @see tinker-cookbook `MBPPBenchmarkBuilder` */
export const mbpp = (text: string, test: string): string =>
  `${text}\n\nExample test: \`${test}\`\n\n` +
  "Write a Python function that satisfies the requirements. Provide ONLY the function definition in a ```python code block."

/** The prompt of HumanEval: the head of the function to complete. The cookbook does not have this benchmark. */
export const humanEval = (head: string): string =>
  `Complete this Python function. Answer with the whole function in a \`\`\`python code block.\n\n\`\`\`python\n${head.trimEnd()}\n\`\`\``
