import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Path } from "effect"
import * as CommandLine from "./CommandLine.ts"

const { run, runFolder, short } = CommandLine

const records = (lines: ReadonlyArray<string>): ReadonlyArray<Record<string, unknown>> =>
  lines.map((line) => JSON.parse(line))

const filesOf = (folder: string) =>
  Effect.provide(Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readDirectory(folder)), NodeServices.layer)

const has = (lines: ReadonlyArray<string>, text: string) =>
  assert.isTrue(lines.some((line) => line.includes(text)), `no line has "${text}":\n${lines.join("\n")}`)

describe("effect-rl", () => {
  it.effect("lists its commands", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("--help")
      assert.isTrue(Exit.isSuccess(exit))
      has(out, "train")
    }))

  it.effect("prints its version", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* run("--version")).out, ["effect-rl v1.2.3"])
    }))

  const mistakes: ReadonlyArray<readonly [args: string, message: string | RegExp]> = [
    ["trian", "error: unknown command \"trian\"; did you mean \"train\"? Choose from: train, sweep, play"],
    [
      "train arithmetik",
      "error: unknown recipe \"arithmetik\"; did you mean \"arithmetic\"? Choose from: arithmetic, "
    ],
    ["play chess", "error: unknown recipe \"chess\"; choose from: arithmetic, "],
    ["play arithmetic --problem -1", "--problem is \"-1\", expected a whole number of at least 0"],
    ["play arithmetic --episodes 0", "--episodes is \"0\", expected a whole number of at least 1"],
    ["play arithmetic --groups-per-batch 3", "error: unknown flag --groups-per-batch"],
    ["play arithmetic --problem 800", "--problem 800: arithmetic has 800, counted from 0"],
    ["play arithmetic --model effect-rl/tiny-12", "--model \"effect-rl/tiny-12\" is not known: did you mean"],
    ["train arithmetic --group-sise 3", "error: unknown flag --group-sise; did you mean --group-size?"],
    ["train arithmetic --lr 0.1", "error: unknown flag --lr; did you mean --learning-rate?"],
    ["train arithmetic --batch-size 8", "error: unknown flag --batch-size; did you mean --groups-per-batch?"],
    ["train arithmetic --epochs 2", "error: unknown flag --epochs; did you mean --iterations?"],
    ["train dpo --batchsize 8", "error: unknown flag --batchsize; did you mean --batch-size?"],
    ["play arithmetic --lr 1", /^error: unknown flag --lr$/],
    ["train arithmetic --loss grpo", /, expected "importance_sampling" .*; did you mean --algorithm grpo\?$/],
    ["train arithmetic --loss nothing", /"ppo_with_observations"$/],
    ["train arithmetic --groups-per-batch 0", "--groups-per-batch is 0, expected a whole number of at least 1"],
    ["train arithmetic --groups-per-batch many", "error: --groups-per-batch is \"many\", expected a number"],
    ["train arithmetic --learning-rate NaN", "error: --learning-rate is \"NaN\", expected a number"],
    ["train arithmetic --learning-rate -1", "--learning-rate is -1, expected a number above 0"],
    ["train arithmetic --max-tokens-total 0", "--max-tokens-total is 0, expected a whole number of at least 1"],
    ["train arithmetic --max-dollars 0", "--max-dollars is 0, expected a number above 0"],
    ["train arithmetic --max-minutes -1", "--max-minutes is -1, expected a number above 0"],
    ["train arithmetic --max-judge-calls 1.5", "error: --max-judge-calls is \"1.5\", expected a whole number"],
    ["train arithmetic --soft-share 2", "--soft-share is 2, expected a number above 0 up to 1"],
    ["train arithmetic --max-dollars 1 --backend mock", "run.maxDollars is 1, expected to be left out, or prices for"],
    ["train arithmetic --prices package.json", "package.json.name is \"effect-rl\", expected an object"],
    ["train arithmetic --stop-on grad_norms", "--stop-on"],
    ["train arithmetic --backend gpu", "error: --backend is \"gpu\", expected \"engine\" | \"mock\" | \"tinker\""],
    ["train arithmetic --plan --model effect-rl/tiny-12", "did you mean \"effect-rl/tiny-128\"? Choose from: "],
    [
      "train arithmetic --plan --model Qwen/Qwen3-4B",
      "tiny-questions; the engine loads a folder in Hugging Face's layout or a .gguf file too, as in --model ./folder, and a service has more"
    ],
    ["train ./nope.ts", "error: ./nope.ts is not a recipe: it does not exist"],
    ["eval ./nope.ts", "error: ./nope.ts is not a recipe: it does not exist"],
    ["train arithmetic --plan --backend tinker", "error: --backend tinker needs TINKER_API_KEY in the environment"],
    ["serve --host 0.0.0.0", "error: --host 0.0.0.0 lets other machines in: set EFFECT_RL_SERVE_KEYS"],
    ["serve --host 127.evil.example", "error: --host 127.evil.example lets other machines in"],
    ["serve --max-body 0", "error: --max-body is \"0\", expected a number above 0"],
    ["serve --port 65536", "--port is \"65536\", expected a port, from 0 to 65535"],
    ["serve --checkpoints package.json", "error: --checkpoints: "],
    ["serve --ttl soon", "--ttl is \"soon\", expected a time such as \"7 days\""],
    ["serve --ttl Infinity", "--ttl is \"Infinity\", expected a time such as \"7 days\""],
    ["sample hello --max-tokens x", "error: --max-tokens is \"x\", expected a number"],
    ["sample hello --max-tokens", "error: --max-tokens needs "],
    ["serve --host 192.0.2.1 --prot 1", "error: unknown flag --prot; did you mean --port?"],
    [
      "train arithmetic --plan --temperature 0.7",
      "error: --temperature is 0.7, expected 1, or --allow-biased: "
    ],
    [
      "train arithmetic --plan --config nowhere.yaml",
      "nowhere.yaml, expected a file that can be read: it does not exist"
    ],
    ["chat --messages nowhere.json", "error: --messages nowhere.json: it does not exist"],
    ["sample hello --checkpoint nowhere", "error: --checkpoint nowhere: neither the folder of a run, such as runs"],
    ["train gsm8k --backend mock --plan --data nowhere", "error: nowhere/train.jsonl: it does not exist"]
  ]

  it.effect.each(mistakes)("%s", ([args, message]) =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run(...args.split(" "))
      assert.isTrue(Exit.isFailure(exit))
      if (typeof message === "string") has(errors, message)
      else assert.match(errors[0] ?? "", message)
      assert.isTrue(errors.every((line) => !/\n +at /.test(line)), "no stack")
      assert.deepStrictEqual(out, [])
    }))

  it.effect("escapes control characters in arguments", () =>
    Effect.gen(function*() {
      const { errors } = yield* run("train", "\u001b[31mred")
      has(errors, "\\u{1b}[31mred")
    }))
})

describe("effect-rl train --help", () => {
  it.effect("describes each setting with its unit and default", () =>
    Effect.gen(function*() {
      const { out } = yield* run("train", "arithmetic", "--help")
      const help = out.join("\n")
      for (
        const line of [
          "Base model to train (default: effect-rl/tiny-128)",
          "The policy loss; importance_sampling unless given, but required if groups are sampled ahead "
          + "(choices: importance_sampling, ppo, cispo",
          "Problems in each iteration (default: 32 problems)",
          "(default: 8 attempts)",
          "(default: 0.001)",
          "(default: 40 tokens)",
          "(default: 25 iterations)",
          "--backend"
        ]
      ) assert.include(help, line)
    }))
})

describe("effect-rl train --plan", () => {
  const plan = [
    "train",
    "arithmetic",
    "--backend",
    "mock",
    "--iterations",
    "3",
    "--groups-per-batch",
    "2",
    "--group-size",
    "4",
    "--plan"
  ]

  const prices = Effect.gen(function*() {
    const file = yield* FileSystem.FileSystem.use((fs) => fs.makeTempFileScoped({ suffix: ".yaml" }))
    yield* FileSystem.FileSystem.use((fs) =>
      fs.writeFileString(file, "effect-rl/tiny-128: { prefill: 1, sample: 2, train: 3 }\n")
    )
    return file
  }).pipe(Effect.provide(NodeServices.layer))

  it.effect("shows iterations, tokens and dollars, and writes nothing", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* run(...plan, "--eval-every", "3", "--prices", yield* prices, "--log-path", folder)
      assert.isTrue(Exit.isSuccess(exit))
      has(out, "3 iterations of 2 problems, 8 responses each, at most 40 tokens long")
      has(out, "2 evaluations of 1024 responses each")
      assert.include((yield* run("train", "preference-model", "--backend", "mock", "--plan")).out, "  5 evaluations")
      const further = yield* run(...plan, "--min-informative", "2")
      has(further.out, "counts further batches: an iteration samples up to 6 problems")
      assert.isTrue(out.some((line) => /^ {2}at most \$\d+\.\d\d$/.test(line)), out.join("\n"))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(filesOf(folder))))
    }))

  it.effect("shows no dollars without prices, and says how to add prices", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...plan, "--eval-every", "0")
      has(out, "dollars are unknown: --prices gives the prices of the model's tokens")
    }))

  it.effect("names the limits that may end the run early", () =>
    Effect.gen(function*() {
      const limits = "--max-tokens-total 100 --max-dollars 0.001 --max-minutes 10 --max-judge-calls 5".split(" ")
      const { out } = yield* run(...plan, "--eval-every", "0", "--prices", yield* prices, ...limits)
      has(out, "--max-tokens-total 100 may end it early")
      has(out, "--max-dollars 0.001 may end it early")
      has(out, "--max-minutes 10 ends it then")
      assert.notInclude(out.join("\n"), "judge-calls")
    }))

  it.effect("shows no upper bound if an episode may have several turns", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...plan.with(1, "calculator"), "--eval-every", "0")
      assert.isTrue(out.some((line) => /^ {2}about .* tokens: /.test(line)), out.join("\n"))
      has(out, "and more where episodes take longer than a silent player's, up to 4 turns")
    }))

  it.effect("prints the totals as JSON", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...plan, "--eval-every", "0", "--prices", yield* prices, "--json")
      const [record] = records(out)
      assert(record !== undefined)
      const step = { responses: 8, prefilled: 8 * 75, sampled: 8 * 40 }
      assert.deepInclude(record, { type: "plan", iterations: 3, groups: 2, evaluations: 0, sampled: 3 * step.sampled })
      const { dollars, prefilled, sampled, tokens, trained } = record
      assert.strictEqual(tokens, Number(prefilled) + Number(sampled) + Number(trained))
      assert.closeTo(Number(dollars), (Number(prefilled) + 2 * Number(sampled) + 3 * Number(trained)) / 1e6, 1e-12)
    }))
})

describe("effect-rl train", () => {
  it.effect("trains, reports and keeps the run", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* run(...short, "--iterations", "2", "--log-path", folder)
      assert.isTrue(Exit.isSuccess(exit))
      has(out, `training 2 iterations, kept in ${folder}`)
      has(out, "iteration 1/2  reward 0.500 ± 0.000  informative 100 %  ")
      has(out, "iteration 2/2")
      has(out, "mean reward of each iteration")
      assert.includeMembers([...(yield* filesOf(folder))], [
        "checkpoints.jsonl",
        "config.json",
        "metrics.jsonl",
        "payloads.jsonl",
        "records.jsonl",
        "reward.png",
        "reward.svg",
        "run.log"
      ])
    }))

  it.effect("evaluates before and after, and shows answers to the same problems", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { out } = yield* run(...short.slice(0, -1), "1", "--iterations", "1", "--log-path", folder)
      has(out, "held_out after 0 iterations: 49.0 % of 512 correct (44.7 to 53.3 %)")
      has(out, "held_out_greedy after 1 iteration: 49.0 % of 512 correct")
      has(out, "held_out (512)             49.0 % (44.7 to 53.3 %)    49.0 % (44.7 to 53.3 %)")
      assert.strictEqual(out.filter((line) => line.startsWith("  after 0 iterations, reward ")).length, 3)
      assert.strictEqual(out.filter((line) => line.startsWith("  after 1 iteration, reward ")).length, 3)
    }))

  it.effect("resumes an existing run, and says so", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "2", "--log-path", folder)
      const plan = yield* run(...short, "--iterations", "3", "--log-path", folder, "--plan")
      has(plan.out, "it would be resumed")
      const longer = yield* run(...short, "--iterations", "3", "--log-path", folder)
      has(longer.out, `resuming the run in ${folder} after 2 of 3 iterations`)
      has(longer.out, "iteration 3/3")
      assert.isFalse(longer.out.some((line) => line.includes("iteration 2/3")))
      const again = yield* run(...short, "--iterations", "3", "--log-path", folder)
      has(again.out, `the run in ${folder} is finished: raise --iterations to train on`)
      has(again.out, "mean reward of each iteration")
    }))

  it.effect("plans the engine's memory for the requested number of threads", () =>
    Effect.gen(function*() {
      const { out } = yield* run("train", "arithmetic", "--model", "effect-rl/tiny-64", "--workers", "2", "--plan")
      const [line = ""] = out.filter((line) => line.includes("memory:"))
      assert.match(
        line,
        /^ {2}memory: effect-rl\/tiny-64 takes \d+ MiB, 2 MiB of them weights, for sequences of 1152 tokens on 2 threads$/
      )
    }))

  it.effect("takes settings from a file, which flags override", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(yield* fs.makeTempDirectoryScoped(), "settings.yaml")
      yield* fs.writeFileString(file, "iterations: 3\nmaxTokens: 30\n")
      const args = ["train", "arithmetic", "--backend", "mock", "--plan", "--config", file]
      has((yield* run(...args)).out, "3 iterations of 32 problems, 256 responses each, at most 30 tokens long")
      has((yield* run(...args, "--max-tokens", "20")).out, "at most 20 tokens long")
      yield* fs.writeFileString(file, "iteration: 3\n")
      has((yield* run(...args)).errors, "iteration is 3, expected the name of a setting: did you mean \"iterations\"")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("trains the recipe of a user's module", () =>
    Effect.gen(function*() {
      const recipe = new URL("./train/own-recipe.ts", import.meta.url).pathname
      const { exit, out } = yield* run("train", recipe, "--backend", "mock", "--log-path", yield* runFolder)
      assert.isTrue(Exit.isSuccess(exit))
      has(out, "iteration 2/2")
      const missing = yield* run("train", "./nowhere.ts")
      has(missing.errors, "./nowhere.ts is not a recipe: ")
    }))

  it.effect("says which package is missing where a user's module is", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(yield* fs.makeTempDirectoryScoped(), "late.ts")
      yield* fs.writeFileString(file, "import { Credit } from \"@effect-rl/absent\"\nexport default Credit\n")
      const { errors } = yield* run("train", file)
      has(
        errors,
        `${file} is not a recipe: it imports @effect-rl/absent, which is not installed in its folder or above`
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("takes the recipe of a user's module in play and eval, and says what it lacks", () =>
    Effect.gen(function*() {
      const recipe = new URL("./train/own-recipe.ts", import.meta.url).pathname
      const pipeline = new URL("./train/own-pipeline.ts", import.meta.url).pathname
      const played = yield* run("play", recipe, "--problem", "1000")
      has(played.errors, "capitals has ")
      has((yield* run("eval", recipe, "--backend", "mock")).errors, "\"capitals\" holds out no problems")
      has((yield* run("play", "./nowhere.ts")).errors, "./nowhere.ts is not a recipe: ")
      has((yield* run("eval", pipeline, "--backend", "mock")).errors, "is not a recipe: it is a pipeline")
    }))

  it.effect("does not resume a recipe with another value of its own identity setting", () =>
    Effect.gen(function*() {
      const recipe = new URL("./train/own-recipe.ts", import.meta.url).pathname
      const train = ["train", recipe, "--backend", "mock", "--log-path", yield* runFolder, "--iterations"]
      assert.isTrue(Exit.isSuccess((yield* run(...train, "1")).exit))
      const { errors, exit } = yield* run(...train, "2", "--longest", "20")
      assert.isTrue(Exit.isFailure(exit))
      has(errors, "was started with settings {\"longest\":40}, now it is {\"longest\":20}")
      assert.isTrue(Exit.isSuccess((yield* run(...train, "2", "--longest", "40")).exit))
    }))

  it.effect("does not resume with another configuration", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const { errors, exit, out } = yield* run(
        ...short,
        "--iterations",
        "1",
        "--log-path",
        folder,
        "--max-tokens",
        "30"
      )
      assert.isTrue(Exit.isFailure(exit))
      has(errors, "was started with max_tokens 40, now it is 30")
      assert.strictEqual(out.at(-1), "--log-path begins a run in another folder")
    }))

  it.effect("resumes with more epochs, but not with another group size", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const onePass = short.with(1, "gsm8k").with(short.indexOf("--groups-per-batch") + 1, "96")
      const samples = [...onePass, "--log-path", folder]
      yield* run(...samples, "--iterations", "1")
      const larger = samples.with(samples.indexOf("--group-size") + 1, "8")
      const { errors, exit } = yield* run(...larger, "--iterations", "1")
      assert.isTrue(Exit.isFailure(exit))
      has(errors, "was started with dataset")
      has((yield* run(...samples, "--iterations", "2")).out, "iteration 2/2")
    }))

  it.effect("advises once to allow longer responses if most are truncated", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...short, "--iterations", "2", "--max-tokens", "8", "--log-path", yield* runFolder)
      const advice = out.filter((line) => line.startsWith("advice: "))
      assert.deepStrictEqual(advice, [
        "advice: 100 % of the responses were cut at 8 tokens and rarely earn their reward: raise --max-tokens"
      ])
      has(out, "no signal, nothing trained")
    }))

  it.effect("stops at its token limit", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run(
        ...short,
        "--iterations",
        "9",
        "--max-tokens-total",
        "4000",
        "--log-path",
        yield* runFolder
      )
      assert.isTrue(Exit.isSuccess(exit))
      has(out, "continuing could exceed --max-tokens-total")
      assert.isFalse(out.some((line) => line.includes("iteration 9/9")))
    }))

  it.effect("writes only records in JSON mode", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...short, "--iterations", "1", "--json", "--log-path", yield* runFolder)
      const types = records(out).map(({ _tag, type }) => _tag ?? type)
      assert.deepStrictEqual(types, [
        "Opened",
        "Sampling",
        "GroupRolledOut",
        "GroupRolledOut",
        "Credited",
        "Updated",
        "Saved",
        "Finished",
        "report"
      ])
      const [updated] = records(out).filter(({ _tag }) => _tag === "Updated")
      assert.deepInclude(updated, { iteration: 0, reward: { mean: 0.5, standardError: 0 } })
    }))

  it.effect("writes failures as records too", () =>
    Effect.gen(function*() {
      const { out } = yield* run(...short, "--json", "--model", "effect-rl/tiny", "--log-path", yield* runFolder)
      const [record] = records(out)
      assert.strictEqual(record?.["type"], "error")
      assert.include(String(record?.["message"]), "effect-rl/tiny")
    }))

  it.effect("has a scripted answer for every recipe", () =>
    Effect.gen(function*() {
      for (const recipe of ["arithmetic", "plain-arithmetic", "gsm8k"]) {
        const args = short.with(1, recipe)
        const { out } = yield* run(...args, "--max-tokens", "80", "--iterations", "1", "--log-path", yield* runFolder)
        has(out, "iteration 1/1  reward 0.500 ± 0.000")
      }
      for (const recipe of ["guess-number", "calculator"]) {
        const { exit, out } = yield* run(...short.with(1, recipe), "--iterations", "1", "--log-path", yield* runFolder)
        assert.isTrue(Exit.isSuccess(exit))
        has(out, "iteration 1/1  reward")
      }
    }))
})
