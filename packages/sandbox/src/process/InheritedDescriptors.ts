/**
 * Files that this process inherited open from its parent. Node marks descriptors that it opens itself as not inheritable, but leaves some
 * inherited ones unmarked, so a sandboxed program would find them open.
 */
import * as Effect from "effect/Effect"
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs"

const closesOnExec = 0o2000000

const isInherited = (descriptor: number): boolean => {
  const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "0"
  return (Number.parseInt(flags, 8) & closesOnExec) === 0
}

const inherited = (): ReadonlyArray<number> =>
  readdirSync("/proc/self/fd").map(Number).filter((descriptor) => {
    try {
      return descriptor > 2 && isInherited(descriptor)
    } catch {
      return false
    }
  })

/** The content of each descriptor of a child: a pipe, nothing, or an open descriptor of this process. */
export type Stdio = Array<"pipe" | "ignore" | number>

/** Replaces every inherited descriptor with `/dev/null`. Does nothing if there is no `/proc` or no such descriptor. */
export type Cover = (stdio: Stdio) => Stdio

/** A cover that is valid while the scope is open. */
export const cover = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const descriptors = process.platform === "linux" ? inherited() : []
      return { descriptors, empty: descriptors.length > 0 ? openSync("/dev/null", "r") : -1 }
    }),
    ({ empty }) => Effect.sync(() => empty >= 0 ? closeSync(empty) : undefined)
  ),
  ({ descriptors, empty }): Cover => (stdio) => {
    const covered = [...stdio]
    for (const descriptor of descriptors) {
      while (covered.length <= descriptor) covered.push("ignore")
      if (descriptor >= stdio.length) covered[descriptor] = empty
    }
    return covered
  }
)
