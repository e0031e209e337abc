export * as AlgorithmSettings from "./AlgorithmSettings.ts"
export * as CommonSettings from "./CommonSettings.ts"
export * as ExampleSettings from "./ExampleSettings.ts"
export * as Pipeline from "./Pipeline.ts"
export * as Recipe from "./Recipe.ts"
export * as Recipes from "./Recipes.ts"
export * as TrainingSettings from "./TrainingSettings.ts"

export * as Boxed from "./grading/Boxed.ts"
export * as BoxedAnswer from "./grading/BoxedAnswer.ts"
export * as MathAnswer from "./grading/MathAnswer.ts"
export * as MathGrader from "./grading/MathGrader.ts"
export * as Rational from "./grading/Rational.ts"

export * as BoxedProblems from "./math/BoxedProblems.ts"
export * as MathEnv from "./math/MathEnv.ts"
export * as MathSource from "./math/MathSource.ts"

export * as Sums from "./arithmetic/Sums.ts"
export * as WorkedSums from "./arithmetic/WorkedSums.ts"

export * as Calculation from "./calculator/Calculation.ts"
export * as CalculatorEnv from "./calculator/CalculatorEnv.ts"
export * as Expression from "./calculator/Expression.ts"

export * as GuessNumberEnv from "./guessNumber/GuessNumberEnv.ts"

export * as Directory from "./lookup/Directory.ts"
export * as LookupEnv from "./lookup/LookupEnv.ts"

export * as Format from "./format/Format.ts"

export * as TicTacToe from "./games/TicTacToe.ts"
export * as TicTacToeOpponents from "./games/TicTacToeOpponents.ts"

export * as DigitShareEnv from "./gsm8k/DigitShareEnv.ts"
export * as Gsm8k from "./gsm8k/Gsm8k.ts"
export * as Gsm8kRow from "./gsm8k/Gsm8kRow.ts"
export * as Gsm8kSource from "./gsm8k/Gsm8kSource.ts"
export * as PromptLength from "./gsm8k/PromptLength.ts"
export * as Split from "./gsm8k/Split.ts"

export * as ChatSets from "./datasets/ChatSets.ts"
export * as DatasetsOrder from "./datasets/DatasetsOrder.ts"
export * as Decontamination from "./datasets/Decontamination.ts"
export * as MathSets from "./datasets/MathSets.ts"
export * as Source from "./datasets/Source.ts"
export * as TaskSets from "./datasets/TaskSets.ts"

export * as Benchmark from "./benchmarks/Benchmark.ts"
export * as Benchmarks from "./benchmarks/Benchmarks.ts"
export * as Extraction from "./benchmarks/Extraction.ts"
export * as InstructionChecks from "./benchmarks/InstructionChecks.ts"
