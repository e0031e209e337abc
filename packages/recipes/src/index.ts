/** Tasks to train on, their graders, datasets and benchmarks, and the settings of the command's recipes. Stable. */

/** The settings that a published algorithm implies, taken from `Algorithm` in core. */
export * as AlgorithmSettings from "./AlgorithmSettings.ts"
/** The settings that all recipes share. */
export * as CommonSettings from "./CommonSettings.ts"
/** The credit settings of a recipe: a credit rule with its options, and the reward shaping applied before it. */
export * as CreditSettings from "./CreditSettings.ts"
/** The settings of recipes that train on examples: answers to imitate, or preferences. */
export * as ExampleSettings from "./ExampleSettings.ts"
/** Pipelines: recipes trained one after another, each from checkpoints of earlier stages. */
export * as Pipeline from "./Pipeline.ts"
/** Recipes: tasks with everything needed to train on them. */
export * as Recipe from "./Recipe.ts"
/** The rollout task of a recipe for a worker. The worker builds the same task as the driver, and looks up the groups that it is sent. */
export * as RecipeTask from "./RecipeTask.ts"
/** The recipes that come with effect-rl. */
export * as Recipes from "./Recipes.ts"
/** The settings that all reinforcement learning recipes share. Each recipe has its own defaults. */
export * as TrainingSettings from "./TrainingSettings.ts"

/** The command that starts an agent, with placeholders for its task. It runs without a shell. */
export * as AgentCommand from "./agent/AgentCommand.ts"
/** Trains an agent that is a separate program, started by a command for each episode. */
export * as AgentProgram from "./agent/AgentProgram.ts"
/** Recipes for your own agents: functions in this process that talk to a model, with the tasks to train them on. */
export * as AgentRecipe from "./agent/AgentRecipe.ts"
/** Scorers for agents that are programs: a function, a judge model, or a verdict file that the agent writes. */
export * as AgentScorer from "./agent/AgentScorer.ts"
/** Loads the tasks of an agent from a file or a folder, and splits them into training and held-out tasks. */
export * as AgentTasks from "./agent/AgentTasks.ts"
/** Runs agent programs in sandboxes whose only network access is the gateway of their sessions. */
export * as SandboxLauncher from "./agent/SandboxLauncher.ts"

/** Recipes made from eval files, to train, play and evaluate a model on what the file measures. */
export * as EvalRecipe from "./evals/EvalRecipe.ts"

/** Extracts the boxed answer of a response. */
export * as Boxed from "./grading/Boxed.ts"
/** Grades the boxed answer of a response. */
export * as BoxedAnswer from "./grading/BoxedAnswer.ts"
/** Grades a mathematical answer against a reference. */
export * as MathAnswer from "./grading/MathAnswer.ts"
/** Grades mathematical answers, optionally in a separate thread. */
export * as MathGrader from "./grading/MathGrader.ts"
/** Exact fractions, parsed from common notations for numbers. */
export * as Rational from "./grading/Rational.ts"

/** Trains on problems of any dataset whose answers are expected in a box. */
export * as BoxedProblems from "./math/BoxedProblems.ts"
/** An environment for a problem whose answer is expected in a box. */
export * as MathEnv from "./math/MathEnv.ts"
/** Loads the problems of MATH, DeepMath and POLARIS from a folder or the hub. */
export * as MathSource from "./math/MathSource.ts"

/** Sums of two numbers as problems, and the sums that are never trained on. */
export * as Sums from "./arithmetic/Sums.ts"
/** Conversations with sums worked out step by step, for imitation or preferences. */
export * as WorkedSums from "./arithmetic/WorkedSums.ts"

/** Arithmetic expressions as problems. */
export * as Calculation from "./calculator/Calculation.ts"
/** An environment that asks for the value of an expression and offers a calculator tool. */
export * as CalculatorEnv from "./calculator/CalculatorEnv.ts"
/** Parses and evaluates arithmetic expressions exactly. */
export * as Expression from "./calculator/Expression.ts"

/** An environment in which the model guesses a number in a few turns. Each guess is answered with "Too low" or "Too high". */
export * as GuessNumberEnv from "./guessNumber/GuessNumberEnv.ts"

/** The other player of twenty questions: a script or a model. */
export * as Answerer from "./twentyQuestions/Answerer.ts"
/** Things to guess, and yes-or-no questions whose answers are known for each of them. */
export * as Things from "./twentyQuestions/Things.ts"
/** An environment in which the model finds a thing by yes-or-no questions. */
export * as TwentyQuestionsEnv from "./twentyQuestions/TwentyQuestionsEnv.ts"

/** A directory of people and their rooms, searchable by name. */
export * as Directory from "./lookup/Directory.ts"
/** An environment with a question about a fact that the model can only find with a search tool. */
export * as LookupEnv from "./lookup/LookupEnv.ts"

/** Keyword search: documents ranked by BM25. */
export * as Bm25 from "./searchTool/Bm25.ts"
/** Documents to search, and questions about them. */
export * as SearchCorpus from "./searchTool/SearchCorpus.ts"
/** An environment with a question whose answer the model finds in documents with a search tool. */
export * as SearchEnv from "./searchTool/SearchEnv.ts"

/** Conversations to continue, with the rubrics by which the next message is graded. */
export * as RubricTasks from "./rubric/RubricTasks.ts"

/** Trains a model to write a list in a requested format. */
export * as Format from "./format/Format.ts"

/** Extracts the program from a response's fenced code blocks. */
export * as CodeBlock from "./code/CodeBlock.ts"
/** An environment for a programming problem. The program in the last response is run against hidden tests. */
export * as CodeEnv from "./code/CodeEnv.ts"
/** Runs a program against hidden tests in a separate sandbox. */
export * as CodeGrader from "./code/CodeGrader.ts"
/** The prompts of programming problems. */
export * as CodePrompt from "./code/CodePrompt.ts"
/** Loads programming problems: generated ones, or a published dataset. */
export * as CodeSource from "./code/CodeSource.ts"
/** A programming problem, and the tests that decide whether a program solves it. */
export * as CodeTask from "./code/CodeTask.ts"
/** Problems that ask for small programs over lists and strings, each with hidden tests. */
export * as ListPrograms from "./code/ListPrograms.ts"
/** Compares a program's output with the expected output. */
export * as PrintedOutput from "./code/PrintedOutput.ts"
/** Compares the value that a function returned with the expected value, by the rules of Python's equality. */
export * as ReturnedValue from "./code/ReturnedValue.ts"

/** Recipes of terminal tasks in Harbor's folder format. */
export * as HarborRecipe from "./terminal/HarborRecipe.ts"
/** Tasks in Harbor's folder format. */
export * as HarborTask from "./terminal/HarborTask.ts"
/** Reads the files that an agent left in its sandbox as data. */
export * as LeftFiles from "./terminal/LeftFiles.ts"
/**
 * An environment for a terminal task. The model runs commands in its own sandbox, and tests in another sandbox judge the files that it
 * left.
 */
export * as ShellEnv from "./terminal/ShellEnv.ts"
/** Runs the tests of a task in a separate sandbox, on the files that an agent left. */
export * as ShellGrader from "./terminal/ShellGrader.ts"
/** The reference solution of a terminal task, as a tool call of a model. */
export * as ShellSolution from "./terminal/ShellSolution.ts"
/** A terminal task: an instruction, the initial files, and the tests that judge the final files. */
export * as ShellTask from "./terminal/ShellTask.ts"

/** The game of tic-tac-toe. */
export * as TicTacToe from "./games/TicTacToe.ts"
/** Scripted tic-tac-toe players, used as opponents. */
export * as TicTacToeOpponents from "./games/TicTacToeOpponents.ts"

/** A problem whose reward is the share of right digits instead of right or wrong. */
export * as DigitShareEnv from "./gsm8k/DigitShareEnv.ts"
/** Grade-school word problems, as in the cookbook's `rl_basic`. */
export * as Gsm8k from "./gsm8k/Gsm8k.ts"
/** Grade-school word problems with worked solutions. */
export * as Gsm8kRow from "./gsm8k/Gsm8kRow.ts"
/** Loads the problems of GSM8K from a folder or the hub. */
export * as Gsm8kSource from "./gsm8k/Gsm8kSource.ts"
/** Finds problems that leave the model no room to answer, before a run begins. */
export * as PromptLength from "./gsm8k/PromptLength.ts"
/** Splits problems into a training part and a test part without overlap. */
export * as Split from "./gsm8k/Split.ts"

/** Datasets of conversations, and of answer pairs with a preference. */
export * as ChatSets from "./datasets/ChatSets.ts"
/** Datasets of programming problems with tests. */
export * as CodeSets from "./datasets/CodeSets.ts"
/** The row order of Hugging Face's `datasets`, for runs that must train on and hold out the same rows as the cookbook's. */
export * as DatasetsOrder from "./datasets/DatasetsOrder.ts"
/** Removes training rows that repeat held-out rows. */
export * as Decontamination from "./datasets/Decontamination.ts"
/** Datasets of mathematical problems with their answers. */
export * as MathSets from "./datasets/MathSets.ts"
/** LiveCodeBench's private tests, which are published as compressed pickles. */
export * as PackedTests from "./datasets/PackedTests.ts"
/** Published datasets: where their rows are stored, the fields of a row, and the licence. */
export * as Source from "./datasets/Source.ts"
/** Datasets of instructions, search questions and tool calls. */
export * as TaskSets from "./datasets/TaskSets.ts"

/** Held-out evaluations as published: rows, prompts, graders and metrics. */
export * as Benchmark from "./benchmarks/Benchmark.ts"
/** The benchmarks, by name. */
export * as Benchmarks from "./benchmarks/Benchmarks.ts"
/** Extracts answers from benchmark responses. */
export * as Extraction from "./benchmarks/Extraction.ts"
/** Checks whether responses follow IFEval instructions, with the cookbook's rules. */
export * as InstructionChecks from "./benchmarks/InstructionChecks.ts"
