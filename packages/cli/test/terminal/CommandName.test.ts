import * as CommandName from "@effect-rl/cli/terminal/CommandName"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"

const nameWhere = (env: Record<string, string>) =>
  Effect.provideService(CommandName.commandName, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

describe("commandName", () => {
  it.effect("is effect-rl if npm did not start it", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* nameWhere({}), "effect-rl")
    }))

  it.effect("is npx effect-rl in a project, whose shell does not find the command", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* nameWhere({ npm_package_name: "mine" }), "npx effect-rl")
    }))

  it.effect("is the npm script in a clone of this repository", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* nameWhere({ npm_package_name: "effect-rl" }), "npm run effect-rl --")
    }))
})
