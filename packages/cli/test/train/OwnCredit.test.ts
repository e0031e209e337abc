import { Credit, RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { Recipe, Recipes } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { run, runFolder, short } from "../CommandLine.ts"

const module = (name: string) => new URL(`./${name}.ts`, import.meta.url).pathname

const trainOwn = (name: string, ...flags: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const folder = yield* runFolder
    return {
      folder,
      ...(yield* run(...short.with(1, module(name)), "--iterations", "1", "--log-path", folder, ...flags))
    }
  })

const records = (folder: string) => Stream.unwrap(Effect.map(RunDirectory.open(folder), ({ read }) => read))

describe("a recipe with its own credit", () => {
  it.effect("is trained on the command line, and its run records the credit", () =>
    Effect.gen(function*() {
      const { exit, folder } = yield* trainOwn("own-credit")
      assert.isTrue(Exit.isSuccess(exit))
      const [opened] = (yield* Stream.runCollect(records(folder))).filter(RunRecord.guards.Opened)
      assert.deepStrictEqual(opened?.identity["credit"], { name: "group_relative", estimator: "fading" })
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("is trained if the training problems are not those of the plan", () =>
    Effect.gen(function*() {
      const { exit, folder } = yield* trainOwn("own-preference")
      assert.isTrue(Exit.isSuccess(exit))
      const [opened] = (yield* Stream.runCollect(records(folder))).filter(RunRecord.guards.Opened)
      assert.deepStrictEqual(opened?.identity["credit"], { name: "group_relative", estimator: "leave_one_out" })
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("is named by show and by runs", () =>
    Effect.gen(function*() {
      const { folder } = yield* trainOwn("own-credit")
      const { out } = yield* run("show", folder)
      assert.include(out, "credit      group_relative/fading")
      const listed = (yield* run("runs", folder, "--json")).out.join("\n")
      assert.include(listed, "\"credit\":\"group_relative/fading\"")
    }))

  it.effect("is named by its plan, which has a folder of its own", () =>
    Effect.gen(function*() {
      const { out } = yield* run("train", module("own-credit"), "--backend", "mock", "--plan")
      assert.include(out[0], "plan: own-credit with ")
      assert.include(out, "  credit group_relative/fading")
      assert.include(out.at(-1), "kept in runs/own-credit-mock-0")
    }))

  it.effect("is named by help, which lists no flags of the credit that it replaces", () =>
    Effect.gen(function*() {
      const help = (yield* run("train", module("own-credit"), "--help")).out.join("\n")
      assert.include(help, "Credit: group_relative/fading")
      assert.notInclude(help, "--credit")
      assert.notInclude(help, "--overlong-buffer")
    }))

  it("is named once in the description if it is changed again", () => {
    const wrapped = Recipe.withCredit(Recipes.arithmetic, Credit.adaptiveEntropy({ target: 0.2 }))
    const { description } = Recipe.withCredit(wrapped, () => Credit.everyGroup)
    assert.strictEqual(description, `${Recipes.arithmetic.description}. Credit: ${Credit.everyGroup.name}`)
  })

  const unused: ReadonlyArray<readonly [flag: string, ...value: ReadonlyArray<string>]> = [
    ["--credit", "normalized"],
    ["--length-penalty", "0.3"],
    ["--overlong-buffer", "8"],
    ["--quarantine"],
    ["--set", "credit=normalized"]
  ]

  it.effect.each(unused)("refuses %s if it replaces the chosen credit", (flags) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* trainOwn("own-credit", ...flags)
      assert.isTrue(Exit.isFailure(exit))
      const expected = "expected no value: the recipe's own credit group_relative/fading does not have this option"
      assert.include(errors.join("\n"), expected)
      assert.include(errors.join("\n"), flags[0] === "--set" ? "--credit is normalized" : `${flags[0]} is `)
    }))

  it.effect("is trained with the rule of --credit if it wraps the chosen credit", () =>
    Effect.gen(function*() {
      const { folder } = yield* trainOwn("own-wrapped", "--credit", "leave_one_out")
      const { out } = yield* run("show", folder)
      assert.match(
        out.join("\n"),
        /^credit {6}adaptive_entropy\(group_relative\/leave_one_out\), target 0\.2,?\s+step 0\.005$/m
      )
    }))

  it.effect("ends the run with a failure that names the token at which its estimator gave NaN", () =>
    Effect.gen(function*() {
      const { errors, exit, folder } = yield* trainOwn("own-nan")
      assert.isTrue(Exit.isFailure(exit))
      const message =
        /estimator "nan" gave NaN for group ".+", member 0, turn 0, position 1 of \d+, expected a finite number/
      assert.match(errors.join("\n"), message)
      assert.notInclude(errors.join("\n"), "bug")
      const last = (yield* Stream.runCollect(records(folder))).at(-1)
      assert.strictEqual(last?._tag, "Failed")
      assert.match(JSON.stringify(last), /estimator .+ gave NaN/)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("has the parameters that are settings of its recipe, which refuses the settings of other credits", () =>
    Effect.gen(function*() {
      const { folder } = yield* trainOwn("own-late", "--gamma", "0.5")
      assert.include((yield* run("show", folder)).out, "credit      group_relative/late, gamma 0.5")
      const { errors } = yield* trainOwn("own-late", "--length-penalty", "0.3")
      const expected = "expected no value: the recipe's own credit group_relative/late does not have this option"
      assert.include(errors.join("\n"), `--length-penalty is 0.3, ${expected}`)
    }))

  it.effect("is refused if the recipe has no rewards", () =>
    Effect.gen(function*() {
      const { errors } = yield* run("train", module("own-imitation"), "--backend", "mock", "--plan")
      assert.include(errors.at(-1), "recipe is supervised, expected one that has the setting credit")
    }))
})
