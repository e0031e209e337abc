/** Tasks to train on, their graders, datasets and benchmarks, and the settings of the command's recipes. Stable. */

/** The settings that an algorithm of the literature stands for, as `Algorithm` in core has them for programs. */
export * as AlgorithmSettings from "./AlgorithmSettings.ts"
/** The settings that all recipes share. */
export * as CommonSettings from "./CommonSettings.ts"
/** The credit of a recipe: the name of a rule with its own options, and the reward shaping before it. */
export * as CreditSettings from "./CreditSettings.ts"
/** The settings of recipes that train on examples, of answers to imitate or of preferences. */
export * as ExampleSettings from "./ExampleSettings.ts"
/** Recipes trained one after the other, each from checkpoints of the earlier ones. */
export * as Pipeline from "./Pipeline.ts"
/** Recipes: tasks with everything that is needed to train on them. */
export * as Recipe from "./Recipe.ts"
/** The groups of a recipe's task for a worker: it puts the same task together, and finds in it the groups that it is sent. */
export * as RecipeTask from "./RecipeTask.ts"
/** The recipes that come with effect-rl. */
export * as Recipes from "./Recipes.ts"
/** The settings that all reinforcement learning recipes share, with each recipe's own defaults. */
export * as TrainingSettings from "./TrainingSettings.ts"

/** The command that starts an agent, and how it is handed its task. No shell reads it. */
export * as AgentCommand from "./agent/AgentCommand.ts"
/** Trains an agent that is a program of its own, started by a command for each episode. */
export * as AgentProgram from "./agent/AgentProgram.ts"
/** Recipes of one's own agents: functions of this process that talk to a model, with the tasks that they are trained on. */
export * as AgentRecipe from "./agent/AgentRecipe.ts"
/** Scorers of agents that are programs: a function, a judge, or a file that the agent writes says what an episode was worth. */
export * as AgentScorer from "./agent/AgentScorer.ts"
/** The tasks of an agent, from a file or a folder: those that it is trained on, and those that are held out. */
export * as AgentTasks from "./agent/AgentTasks.ts"
/** Agents that are programs in a sandbox, whose only network is the gateway of their sessions. */
export * as SandboxLauncher from "./agent/SandboxLauncher.ts"

/** Recipes of eval files: what a file measures is what a model is trained on, played with and evaluated by. */
export * as EvalRecipe from "./evals/EvalRecipe.ts"

/** The answer a response put into a box. */
export * as Boxed from "./grading/Boxed.ts"
/** Grades the boxed answer of a response. */
export * as BoxedAnswer from "./grading/BoxedAnswer.ts"
/** Grades a mathematical answer against a reference. */
export * as MathAnswer from "./grading/MathAnswer.ts"
/** Grades mathematical answers, optionally in a thread of its own. */
export * as MathGrader from "./grading/MathGrader.ts"
/** Exact fractions, read from the ways in which answers write numbers. */
export * as Rational from "./grading/Rational.ts"

/** Training on problems of any dataset whose answers are expected in a box. */
export * as BoxedProblems from "./math/BoxedProblems.ts"
/** A problem whose answer is expected in a box. */
export * as MathEnv from "./math/MathEnv.ts"
/** The source of the problems of MATH: a folder, or the hub. */
export * as MathSource from "./math/MathSource.ts"

/** Sums of two numbers to ask for, and which of them are never trained on. */
export * as Sums from "./arithmetic/Sums.ts"
/** Conversations in which a sum is worked out before it is answered, to imitate or to prefer. */
export * as WorkedSums from "./arithmetic/WorkedSums.ts"

/** Expressions to work out. */
export * as Calculation from "./calculator/Calculation.ts"
/** A long calculation, with a calculator as a tool. */
export * as CalculatorEnv from "./calculator/CalculatorEnv.ts"
/** Arithmetic as people write it, worked out exactly. */
export * as Expression from "./calculator/Expression.ts"

/** A number is guessed in a few turns, each answered with too low or too high. */
export * as GuessNumberEnv from "./guessNumber/GuessNumberEnv.ts"

/** People and their rooms, to be searched by name. */
export * as Directory from "./lookup/Directory.ts"
/** A question about a fact that only the search tool knows. */
export * as LookupEnv from "./lookup/LookupEnv.ts"

/** Trains a model to write a list in the format it is asked for. */
export * as Format from "./format/Format.ts"

/** The program in a response: the last block of code between fences. */
export * as CodeBlock from "./code/CodeBlock.ts"
/** A programming problem: the program in the last response is run against hidden tests. */
export * as CodeEnv from "./code/CodeEnv.ts"
/** Runs a program against hidden tests in a sandbox of its own. */
export * as CodeGrader from "./code/CodeGrader.ts"
/** The prompts of programming problems. */
export * as CodePrompt from "./code/CodePrompt.ts"
/** The source of programming problems: made-up ones, or a published dataset. */
export * as CodeSource from "./code/CodeSource.ts"
/** A programming problem, and the tests that decide whether a program solves it. */
export * as CodeTask from "./code/CodeTask.ts"
/** Small programs over lists and strings to write, each with hidden tests. */
export * as ListPrograms from "./code/ListPrograms.ts"
/** Whether a program printed what it should have. */
export * as PrintedOutput from "./code/PrintedOutput.ts"
/** Whether a function returned what it should have, by the rules of Python's equality. */
export * as ReturnedValue from "./code/ReturnedValue.ts"

/** Recipes of terminal tasks in Harbor's folder format. */
export * as HarborRecipe from "./terminal/HarborRecipe.ts"
/** Tasks in the folder format of Harbor. */
export * as HarborTask from "./terminal/HarborTask.ts"
/** The files that an agent left in its sandbox, read as data. */
export * as LeftFiles from "./terminal/LeftFiles.ts"
/** A task in a terminal: the model runs commands in a sandbox of its own, and tests in another one judge the files that it left. */
export * as ShellEnv from "./terminal/ShellEnv.ts"
/** Runs the tests of a task in a sandbox of their own, over the files that an agent left. */
export * as ShellGrader from "./terminal/ShellGrader.ts"
/** The reference solution of a terminal task, as a model would run it. */
export * as ShellSolution from "./terminal/ShellSolution.ts"
/** A task in a terminal: an instruction, the files that it starts from, and the tests that judge what was left of them. */
export * as ShellTask from "./terminal/ShellTask.ts"

/** Three in a row. */
export * as TicTacToe from "./games/TicTacToe.ts"
/** Players of tic-tac-toe that are not models. */
export * as TicTacToeOpponents from "./games/TicTacToeOpponents.ts"

/** A problem whose reward is the share of right digits, rather than right or wrong. */
export * as DigitShareEnv from "./gsm8k/DigitShareEnv.ts"
/** Grade-school word problems, as in upstream's `rl_basic`. */
export * as Gsm8k from "./gsm8k/Gsm8k.ts"
/** Grade-school word problems with worked solutions. */
export * as Gsm8kRow from "./gsm8k/Gsm8kRow.ts"
/** The source of the problems of GSM8K: a folder, or the dataset on the hub. */
export * as Gsm8kSource from "./gsm8k/Gsm8kSource.ts"
/** Problems that leave the model no room to answer, found before a run begins. */
export * as PromptLength from "./gsm8k/PromptLength.ts"
/** Training problems and test problems, with no problem in both. */
export * as Split from "./gsm8k/Split.ts"

/** Datasets of conversations, and of two answers of which one is preferred. */
export * as ChatSets from "./datasets/ChatSets.ts"
/** Datasets of programming problems with tests. */
export * as CodeSets from "./datasets/CodeSets.ts"
/** The order that Hugging Face's `datasets` gives rows, for runs that have to train on and hold out the same rows as the cookbook's. */
export * as DatasetsOrder from "./datasets/DatasetsOrder.ts"
/** Training rows that do not repeat held-out ones. */
export * as Decontamination from "./datasets/Decontamination.ts"
/** Datasets of mathematical problems with their answers. */
export * as MathSets from "./datasets/MathSets.ts"
/** Tests of LiveCodeBench, which are published as compressed pickles. */
export * as PackedTests from "./datasets/PackedTests.ts"
/** Published datasets: where their rows are, the fields of a row, and the licence. */
export * as Source from "./datasets/Source.ts"
/** Datasets of instructions, searches and tool calls. */
export * as TaskSets from "./datasets/TaskSets.ts"

/** Held-out evaluations as they are published: rows, prompts, graders and metrics. */
export * as Benchmark from "./benchmarks/Benchmark.ts"
/** The benchmarks by name. */
export * as Benchmarks from "./benchmarks/Benchmarks.ts"
/** Answers found in the responses to benchmarks. */
export * as Extraction from "./benchmarks/Extraction.ts"
/** Checks of the instructions of IFEval, as the cookbook makes them. */
export * as InstructionChecks from "./benchmarks/InstructionChecks.ts"
