import * as CommandName from "@effect-rl/cli/terminal/CommandName"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"

const nameWhere = (env: Record<string, string>) =>
  Effect.provideService(CommandName.commandName, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))

describe("commandName", () => {
  it.effect("is effect-rl, also in scripts of other packages", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* nameWhere({}), "effect-rl")
      assert.strictEqual(yield* nameWhere({ npm_package_name: "mine" }), "effect-rl")
    }))

  it.effect("is the npm script in a clone of this repository", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* nameWhere({ npm_package_name: "effect-rl" }), "npm run effect-rl --")
    }))
})
