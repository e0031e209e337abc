import { defineConfig } from "vitest/config"

const conditions = ["@effect-rl/source"]

/** Tests that start processes or browsers, open many sockets or train for long; a path that names one runs it. */
const slow = "**/*.slow.test.ts"
const isSlowAsked = process.env["EFFECT_RL_TESTS"] === "all" || process.env["EFFECT_RL_SOAK"] === "1" ||
  process.argv.some((argument) => argument.includes(".slow.test"))

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts"],
    exclude: ["**/node_modules/**", ...(isSlowAsked ? [] : [slow])],
    isolate: false,
    setupFiles: ["./vitest.setup.ts"],
    // Against hangs alone: no test is about how fast a machine is.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { concurrent: true }
  }
})
