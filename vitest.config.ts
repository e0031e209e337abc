import { defineConfig } from "vitest/config"

const conditions = ["@effect-rl/source"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/test/**/*.test.ts"],
    isolate: false,
    sequence: { concurrent: true }
  }
})
