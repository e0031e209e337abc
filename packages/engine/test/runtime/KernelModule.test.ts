import * as KernelModule from "@effect-rl/engine/runtime/KernelModule"
import { assert, it } from "@effect/vitest"

/** V8 joins vectors on x64 alone, in the versions of Node 24 to 26. */
const isPossible = process.arch === "x64" && ["13", "14"].includes(process.versions.v8.split(".")[0] ?? "")

it("kernels have wide vectors on x64 where they are wanted, and are compiled once", () => {
  const wide = KernelModule.compile(true)
  assert.strictEqual(wide.vectorBits, isPossible ? 256 : 128)
  assert.strictEqual(KernelModule.compile(true), wide)
  const narrow = KernelModule.compile(false)
  assert.strictEqual(narrow.vectorBits, 128)
  assert.strictEqual(KernelModule.compile(false), narrow)
})
