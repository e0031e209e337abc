import { defineConfig } from "vitest/config"

const conditions = ["@effect-rl/source"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts"],
    isolate: false,
    setupFiles: ["./vitest.setup.ts"],
    // Against hangs alone: no test is about how fast a machine is.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { concurrent: true }
  }
})
